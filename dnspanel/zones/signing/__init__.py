"""Everything that changes how zones are signed; what is only read is in `dnssec`."""
