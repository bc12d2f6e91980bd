"""Manage catalogs (RFC 9432): consumer catalogs list zones of other servers, producer catalogs list the panel's."""
