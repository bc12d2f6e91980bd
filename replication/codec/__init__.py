"""Encoding and decoding of PowerDNS's LMDB bytes. Pure."""
