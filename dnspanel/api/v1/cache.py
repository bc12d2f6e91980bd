"""`/cache/flush`: nothing to do, and said so."""

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.api.v1.view import PowerdnsView, answer, canonical


class CacheFlush(PowerdnsView):
    """Succeeds with a count of 0: the panel has no cache of answers, and the nodes' are never stale.

    A node forgets what a publication changes before it acknowledges it (`replication/agent/updates/purge.py`), so
    there is nothing that a client could have to flush.
    """

    def put(self, request: Request, server_id: str) -> HttpResponse:
        canonical(request.GET.get("domain", ""))
        return answer({"count": 0, "result": "Flushed cache."})
