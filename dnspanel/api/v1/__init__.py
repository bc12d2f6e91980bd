"""API v1, which is compatible with the HTTP API of a PowerDNS server, for clients written for PowerDNS."""
