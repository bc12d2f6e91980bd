"""Code shared by the panel and nodes: names, rdata, PowerDNS's row formats, segments, LMDB store, protocol.

This package doesn't use Django, Celery or PostgreSQL, because nodes must run without them.
"""

from replication.version import running_version

# The version of the panel and of the agent, which are released together. All code that needs it reads it here.
__version__ = running_version()
