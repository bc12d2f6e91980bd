"""Zones read from a name server: AXFR and IXFR, over TLS, signed by TSIG."""
