"""The agent beside each PowerDNS: it receives segments, writes them to LMDB, and reports what PowerDNS answers."""
