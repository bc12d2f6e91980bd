"""What a webhook is sent about an event, as far as its listener may see it: a stable form of JSON.

    {"type": "publication.saved", "number": 12, "timestamp": "2026-11-21T12:00:00.000Z", "data": {…}}

It is made anew for each attempt from what is durable, so that a right taken
away since is not told of any more; otherwise every attempt says the same.
"""

import json
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from dnspanel.accounts.actors import Actor
from dnspanel.accounts.grants import Right
from dnspanel.accounts.roles import Permission
from dnspanel.webhooks.access import NEEDED
from dnspanel.webhooks.models import Event, EventKind
from dnspanel.zones.access import zones_within_reach
from dnspanel.zones.models import Publication, Revision

# A publication may change a million zones; those that are not listed are counted, and read by the API.
MOST_ZONES = 100


def payload(event: Event, actor: Actor) -> bytes | None:
    """The body for this listener; None when it may see nothing of the event."""
    data = _data(event, actor)
    if data is None:
        return None
    body = {"type": event.kind, "number": event.pk, "timestamp": moment(event.at), "data": data}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def told_of(actor: Actor, events: Collection[Event]) -> list[Event]:
    """Those of the events of which this listener may see something, by one query at most."""
    allowed = [event for event in events if NEEDED[EventKind(event.kind)] in actor.permissions]
    if not _sees_every_zone(actor):
        seen = set(
            _revisions(actor, [event.facts["sequence"] for event in allowed if "sequence" in event.facts])
            .values_list("publication", flat=True)
            .distinct()
        )
        allowed = [event for event in allowed if _is_seen(event, seen, actor)]
    return allowed


def moment(at: datetime) -> str:
    """A time as payloads write it: UTC, in milliseconds."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_seen(event: Event, publications: set[int], actor: Actor) -> bool:
    """For a listener who does not see all zones."""
    if event.kind == EventKind.IMPORT:  # tells of zones without naming them, so only to who ran it
        return bool(event.facts["author_id"] == actor.user.pk)
    return "sequence" not in event.facts or event.facts["sequence"] in publications


def _data(event: Event, actor: Actor) -> dict[str, Any] | None:
    if event.kind == EventKind.PING:
        return {"message": "Somebody asked for this test."}
    if not told_of(actor, [event]):
        return None
    if event.kind in {EventKind.SAVED, EventKind.EVERYWHERE}:
        return _publication(event, actor)
    return {name: value for name, value in event.facts.items() if name != "author_id"}


def _publication(event: Event, actor: Actor) -> dict[str, Any] | None:
    sequence = event.facts["sequence"]
    publication = Publication.objects.select_related("author", "token").filter(pk=sequence).first()
    if publication is None:
        return None
    revisions = _revisions(actor, [sequence])
    data = {
        "sequence": sequence,
        "at": moment(publication.at),
        "author": publication.author.username if publication.author else None,
        "token": publication.token.purpose if publication.token else None,
        "channel": publication.channel,
        "reason": publication.reason,
        "url": f"{settings.PANEL_URL}/api/v2/publications/{sequence}",
        "zone_count": revisions.count(),
        "zones": _zones(revisions),
    }
    if event.kind == EventKind.EVERYWHERE:
        data["everywhere_at"] = event.facts["everywhere_at"]
        data["nodes"] = event.facts["nodes"] if Permission.FLEET in actor.permissions else None
    return data


def _zones(revisions: "QuerySet[Revision]") -> list[dict[str, Any]]:
    columns = ("zone__name", "kind", "number", "serial", "added", "changed", "removed")
    return [
        {
            "name": name,
            "kind": kind,
            "revision": number,
            "serial": serial,
            "added": added,
            "changed": changed,
            "removed": removed,
        }
        for name, kind, number, serial, added, changed, removed in revisions.order_by("zone__name").values_list(
            *columns
        )[:MOST_ZONES]
    ]


def _revisions(actor: Actor, sequences: Collection[int]) -> "QuerySet[Revision]":
    """What these publications did to zones that the listener may know about."""
    revisions = Revision.objects.filter(publication__in=sequences)
    if _sees_every_zone(actor):
        return revisions
    return revisions.filter(zone__in=zones_within_reach(actor, Right.READ))


def _sees_every_zone(actor: Actor) -> bool:
    return all(any(Right.READ in grant.rights and grant.everywhere for grant in layer) for layer in actor.layers)
