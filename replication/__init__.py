"""The code that panel and nodes share: names, rdata, PowerDNS's row formats, segments, the LMDB store, the protocol.

This package doesn't use Django, Celery or PostgreSQL, because nodes must run without them.
"""

from replication.version import running_version

# The version of the panel and of the agent, which are released together. All code that needs it reads it here.
__version__ = running_version()
