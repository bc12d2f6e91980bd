"""Change the signing of zones. The package `dnssec` has the queries, and the parts that need no database."""
