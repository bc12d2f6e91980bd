"""The log of publications: append to it, hold it, read what happened."""
