"""The demo: a private PostgreSQL and Redis, three nodes and a front, sample zones and a trickle of queries."""
