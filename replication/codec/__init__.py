"""Encode and decode the bytes in PowerDNS's LMDB files. Pure."""
