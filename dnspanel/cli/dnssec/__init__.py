"""Commands about DNSSEC."""
