"""A connection test: connects to a stack's PostgreSQL and Redis, and exits with status 7."""

import os
import sys

import psycopg
import redis

psycopg.connect(os.environ["PANEL_DATABASE"]).close()
redis.Redis.from_url(os.environ["PANEL_REDIS_URL"]).close()
assert not [name for name in os.environ if name.startswith("PANEL_") and name.endswith("_FILE")]
sys.exit(7)
