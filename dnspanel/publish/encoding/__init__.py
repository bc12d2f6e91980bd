"""A range of the log becomes rows and a sealed segment."""
