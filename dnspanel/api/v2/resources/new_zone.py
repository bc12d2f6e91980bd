"""Read the parts of a create-zone request that aren't settings: records, name servers, and the SOA mailbox."""

from collections.abc import Mapping
from typing import Any

from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor
from dnspanel.api.v2.http.problems import bad_value, faults_at
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.fields import read
from dnspanel.api.v2.schema.parsing import Faults, read_rrset
from dnspanel.api.v2.schema.zone_serializers import NewZoneSerializer
from dnspanel.field_faults import NOT_FOUND
from dnspanel.transfer.zone_templates.access import templates_visible_to
from dnspanel.zones.rules.name_rules import mailbox_text
from dnspanel.zones.settings.server_sets import ServerSet, newest_set
from replication.dns import names
from replication.dns.rrset import RRset
from replication.errors import BadName


def new_rrsets(request: Request) -> tuple[list[RRset] | None, dict[str, Any]]:
    """Return a new zone's RRsets (None if not given) and the rest of the body. Raise Problem for an invalid body."""
    given = request.data.get("rrsets") if isinstance(request.data, dict) else None
    body = read(NewZoneSerializer, request.data if given is None else {**request.data, "rrsets": []})
    with faults_at("/name", "bad-name", BadName):
        zone_name = names.parse(body["name"])
    if given is None:
        return None, body
    faults = Faults()
    if not isinstance(given, list):
        raise bad_value("/rrsets", "`rrsets` must be a list of RRsets.")
    rrsets = [read_rrset(each, zone_name, f"/rrsets/{index}", faults) for index, each in enumerate(given)]
    faults.refuse()
    return [rrset for rrset in rrsets if rrset is not None], body


def hosts(body: dict[str, Any], name: str) -> list[str] | None:
    if name not in body:
        return None
    return [str(host_of(text, f"/{name}/{index}")) for index, text in enumerate(body[name])]


def chosen_server_set(actor: Actor, body: dict[str, Any]) -> ServerSet | None:
    """Return the body's name server set, or None. Raise Problem if it is unknown, or if `nameservers` is also given."""
    if "name_server_set" not in body:
        return None
    if "nameservers" in body:
        raise bad_value("/name_server_set", "Send `nameservers` or `name_server_set`, not both.", NOT_TOGETHER)
    found = templates_visible_to(actor).filter(pk=body["name_server_set"]).first()
    server_set = None if found is None else newest_set(found)
    if server_set is None:
        detail = f"There is no set of name servers {body['name_server_set']}. `GET /name-server-sets` lists them."
        raise bad_value("/name_server_set", detail, NOT_FOUND)
    return server_set


def mailbox_in(body: Mapping[str, Any]) -> str | None:
    """Return the body's SOA mailbox (a domain name or an email address) as a domain name, or None if it is missing."""
    return mailbox_text(body["hostmaster"]) if "hostmaster" in body else None


def host_of(text: str | None, pointer: str) -> str | None:
    """Return the canonical host name, or None if `text` is None. Raise Problem, with this pointer, if it is invalid."""
    with faults_at(pointer, "bad-name", BadName):
        return None if text is None else names.parse(text)
