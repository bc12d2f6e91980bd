"""API v1: what a PowerDNS server's own HTTP API answers, for the clients that were written for it."""
