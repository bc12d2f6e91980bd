"""The log as the publisher reads it, and the rows that a range of it writes to the files."""
