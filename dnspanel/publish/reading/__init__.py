"""The log as the publisher reads it, and what a range of it puts into the files."""
