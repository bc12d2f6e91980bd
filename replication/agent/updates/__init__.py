"""Handle pushes and snapshots in the agent: write the data, purge PowerDNS's caches, verify the answers."""
