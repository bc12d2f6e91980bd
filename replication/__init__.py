"""What panel and nodes share: names, rdata, PowerDNS's bytes, segments, the store, the protocol.

No Django, Celery or PostgreSQL: a node must not need them.
"""

from replication.version import running_version

# The version of the panel and of the agent, which are released together. Everything that names it reads it here.
__version__ = running_version()
