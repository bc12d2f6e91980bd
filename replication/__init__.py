"""What panel and nodes share: names, rdata, PowerDNS's bytes, segments, the store, the protocol.

No Django, Celery or PostgreSQL: a node must not need them.
"""
