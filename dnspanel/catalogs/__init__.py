"""Manage catalogs (RFC 9432): consumer catalogs list zones of other servers, and producer catalogs list ours."""
