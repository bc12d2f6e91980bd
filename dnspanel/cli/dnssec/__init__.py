"""Commands for DNSSEC."""
