"""DNSSEC of zones: keys, how a zone is signed, and how one state follows another."""
