"""API v1, which is compatible with a PowerDNS server's HTTP API, for clients written for PowerDNS."""
