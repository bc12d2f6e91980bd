"""Zones transferred from primaries (RFC 9499) outside this panel."""
