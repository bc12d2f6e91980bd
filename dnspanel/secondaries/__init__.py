"""Secondaries (RFC 9499): other people's name servers that transfer zones from this panel."""
