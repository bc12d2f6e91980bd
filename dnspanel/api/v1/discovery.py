"""The discovery resources: `/api`, `/api/v1`, the server list, and the one server in it (the panel)."""

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.api.v1.view import ROOT_URL, SERVER, SERVER_URL, PowerdnsView, answer

# The PowerDNS release that has this API. Clients choose features by it; it isn't the version of the nodes. 4.9.12 is
# the first release with EXTEND and PRUNE, which the panel has. 5.0 adds views and networks, which the panel lacks. The
# panel also has the changes from 4.7 to 4.9: PUT of a zone with its RRsets, and 204 for deleted metadata.
VERSION = "4.9.12"

SERVER_OBJECT: dict[str, Any] = {
    "type": "Server",
    "id": SERVER,
    "daemon_type": "authoritative",
    "version": VERSION,
    "url": SERVER_URL,
    "config_url": f"{SERVER_URL}/config{{/config_setting}}",
    "zones_url": f"{SERVER_URL}/zones{{/zone}}",
    "autoprimaries_url": f"{SERVER_URL}/autoprimaries{{/autoprimary}}",
}


class Versions(PowerdnsView):
    """The resource `/api`, which lists the API's versions."""

    def get(self, request: Request) -> HttpResponse:
        return answer([{"version": 1, "url": ROOT_URL}])


class Version1(PowerdnsView):
    """The resource `/api/v1`, which links to the list of servers."""

    def get(self, request: Request) -> HttpResponse:
        return answer([{"server_url": f"{ROOT_URL}/servers{{/server}}", "api_features": []}])


class Servers(PowerdnsView):
    """The list of servers. Its only entry is the panel with all its nodes."""

    def get(self, request: Request) -> HttpResponse:
        return answer([SERVER_OBJECT])


class Server(PowerdnsView):
    """The only server, which is the panel with all its nodes."""

    def get(self, request: Request, server_id: str) -> HttpResponse:
        return answer(SERVER_OBJECT)
