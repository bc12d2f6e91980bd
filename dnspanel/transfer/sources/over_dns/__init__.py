"""Transfer zones from a name server with AXFR and IXFR, over TCP or TLS, optionally with TSIG."""
