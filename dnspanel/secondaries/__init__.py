"""Secondaries (RFC 9499): name servers of other operators that transfer zones from this panel."""
