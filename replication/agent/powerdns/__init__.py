"""The agent's view of PowerDNS: its configuration, API, counters and list of zones."""
