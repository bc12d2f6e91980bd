"""Primaries (RFC 9499): name servers outside this panel, and the zones transferred from them."""
