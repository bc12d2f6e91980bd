"""Real clients of the PowerDNS API, unmodified, against a real `pdns_server` and against our whole stack."""
