"""Secondaries (RFC 9499): other operators' name servers that transfer zones from this panel."""
