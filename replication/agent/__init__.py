"""The agent beside each PowerDNS: receives segments, writes them, and says what PowerDNS answers."""

VERSION = "0.1.0"
