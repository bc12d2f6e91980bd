"""PowerDNS LMDB bytes as pure functions: no I/O."""
