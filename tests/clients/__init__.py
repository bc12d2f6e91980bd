"""Unmodified clients of the PowerDNS API, run with a real `pdns_server` and with a complete stack of the panel."""
