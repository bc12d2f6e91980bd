"""`/config`: the PowerDNS settings that apply to the panel, with their effective values."""

from collections.abc import Collection

from django.conf import settings
from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.api.v1.view import PowerdnsView, answer
from dnspanel.zones.rules.computed_types import SET_UP, reasons_against
from dnspanel.zones.values import soa
from replication.dns import rdtypes

_MEGABYTE = 1 << 20


class Config(PowerdnsView):
    """All settings by name, read-only."""

    def get(self, request: Request, server_id: str) -> HttpResponse:
        found = config(unanswered=reasons_against(SET_UP))
        return answer([{"name": n, "type": "ConfigSetting", "value": v} for n, v in sorted(found.items())])


def config(*, unanswered: Collection[int]) -> dict[str, str]:
    """Return settings and values in PowerDNS's spelling. Omit settings that concern only one node's machine.

    `unanswered` are computed record types that at least one node can't serve.
    """
    servers = settings.DEFAULT_NAMESERVERS
    return {
        "8bit-dns": "yes",
        "api": "yes",
        "api-key": "***",
        "autosecondary": "no",
        # A supervisor runs the servers on the nodes.
        "daemon": "no",
        # Nodes are always rectified.
        "default-api-rectify": "yes",
        # The SOA of a zone that is created without one. `@` is the zone.
        "default-soa-content": f"{servers[0] if servers else '@'} {settings.DEFAULT_HOSTMASTER} 0 {soa.DEFAULT_TIMERS}",
        # The serial increases with every publication, regardless of the zone's settings.
        "default-soa-edit": "",
        "default-soa-edit-signed": "",
        "default-ttl": str(soa.DEFAULT_TTL),
        "direct-dnskey": "no" if rdtypes.DNSKEY in unanswered else "yes",
        "enable-lua-records": "yes" if settings.ALLOW_LUA_RECORDS and rdtypes.LUA not in unanswered else "no",
        "expand-alias": "no" if rdtypes.ALIAS in unanswered else "yes",
        "launch": "lmdb",
        # Nodes get their zones from the panel without zone transfers.
        "master": "no",
        "primary": "no",
        "secondary": "no",
        "slave": "no",
        "webserver-max-bodysize": str(settings.DATA_UPLOAD_MAX_MEMORY_SIZE // _MEGABYTE),
    }
