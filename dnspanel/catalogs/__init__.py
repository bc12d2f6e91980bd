"""Catalogs (RFC 9432): consumer catalogs list zones to transfer from other servers, and producer catalogs list ours."""
