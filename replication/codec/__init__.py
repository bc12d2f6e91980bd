"""PowerDNS's LMDB bytes, encoded and decoded. Pure."""
