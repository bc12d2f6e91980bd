"""Catalogs of others (RFC 9432): zones that say which zones there are, and the zones that are here by them."""
