"""The agent beside each PowerDNS: receives segments, writes them, and says what PowerDNS answers."""
