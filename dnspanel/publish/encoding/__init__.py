"""The encoding of a range of the log into rows and a sealed segment."""
