"""Verbs that change how zones are signed. The package `dnssec` has the reads and the pure parts."""
