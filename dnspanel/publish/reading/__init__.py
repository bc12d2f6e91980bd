"""The log as the publisher reads it, and the rows of the files that a range of the log changes."""
