"""Changes of how zones are signed. The package `dnssec` has the reads, and the parts without a database."""
