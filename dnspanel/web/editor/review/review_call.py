"""Display a draft as the equivalent API v2 call. Pure."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from dnspanel.web.api_document import curl_text, python_text
from dnspanel.zones.plan.plan import ZonePlan
from replication.dns import names, rdata
from replication.dns.rrset import Change

MOST_CHANGES = 50  # an example with more changes is hard to read


@dataclass(frozen=True, slots=True)
class ApiCall:
    """The call as curl and Python code, and the number of changes that it doesn't include."""

    curl: str
    python: str
    left_out: int


def call_of(plan: ZonePlan, panel_url: str) -> ApiCall:
    """Return the API call that publishes the same changes as this zone's plan."""
    orders = [_order(plan.zone.name, change) for change in plan.changes]
    url = f"{panel_url}/api/v2/zones/{quote(plan.zone.name, safe='')}/changes"
    body = {"changes": orders[:MOST_CHANGES], "reason": ""}
    return ApiCall(curl_text("post", url, body), python_text("post", url, body), max(0, len(orders) - MOST_CHANGES))


def _order(zone: str, change: Change) -> dict[str, Any]:
    key = {"name": names.relative_text(change.name, zone), "type": rdata.type_to_text(change.type)}
    if change.after is None:
        return {"op": "delete", **key}
    order = {"op": "replace", **key, "ttl": change.after.ttl, "rdata": list(change.after.rdata)}
    if change.after.disabled:
        order["disabled"] = sorted(change.after.disabled)
    if change.after.comment:
        order["comment"] = change.after.comment
    order |= change.after.notes.without_spellings.to_json()
    return order
