"""The demo: a private PostgreSQL and Redis, three nodes, a front, sample zones and a small stream of queries."""
