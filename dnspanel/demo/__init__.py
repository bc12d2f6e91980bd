"""The demo estate: a private PostgreSQL and Redis, three nodes, sample zones and a trickle of queries."""
