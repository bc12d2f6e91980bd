"""Face 3: DNS itself. UPDATE (RFC 2136) and AXFR with TSIG, translations of the same verbs and access checks."""
