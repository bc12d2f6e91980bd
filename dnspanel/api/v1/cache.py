"""`/cache/flush`: accepted for compatibility, without effect."""

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.api.v1.view import PowerdnsView, answer, canonical


class CacheFlush(PowerdnsView):
    """The flush request. For every valid domain, it returns a count of 0, because nodes never serve stale answers.

    Before a node acknowledges a publication, it drops the affected cached answers
    (`replication/agent/updates/purge.py`). Clients therefore never need to flush.
    """

    def put(self, request: Request, server_id: str) -> HttpResponse:
        canonical(request.GET.get("domain", ""))
        return answer({"count": 0, "result": "Flushed cache."})
