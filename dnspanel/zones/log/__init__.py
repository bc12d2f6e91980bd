"""The log of publications: adding publications, stopping all publishing, and reading the history."""
