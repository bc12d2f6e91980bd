"""Primaries (RFC 9499): other people's name servers from which this panel transfers zones."""
