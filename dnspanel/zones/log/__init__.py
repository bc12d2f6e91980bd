"""The log of publications: appending to it, holding it, and reading its history."""
