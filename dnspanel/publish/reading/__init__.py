"""Read the log for the publisher, and compute the rows that a range of the log changes in the files."""
