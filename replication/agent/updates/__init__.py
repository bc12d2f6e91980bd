"""The agent's handling of pushes and snapshots: write the data, purge PowerDNS's caches, verify the answers."""
