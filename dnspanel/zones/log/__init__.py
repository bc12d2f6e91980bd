"""The log of publications: append publications, put publishing on hold, and read the history."""
