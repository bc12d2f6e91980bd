"""The agent on each PowerDNS server: it receives segments, writes them to LMDB, and reports PowerDNS's answers."""
