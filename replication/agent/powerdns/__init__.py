"""PowerDNS beside the agent: its configuration, its API, its counters and its list of zones."""
