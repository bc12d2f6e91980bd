"""The body of an event, limited to data that the webhook's listener is allowed to see. The JSON form is stable.

    {"event": "publication.saved", "event_id": "evt_10f5…", "number": 12, "timestamp": "2026-11-21T12:00:00.000Z",
     "panel": "https://panel.example.net", "data": {…}}

`event_id` is the header `webhook-id`. `number` counts the events of one webhook: 1, 2, 3 and so on. URLs in `data` are
relative to `panel`, as in the API. Actors, zones and nodes have the same form as in the API.

The body is created from stored data for each attempt, without data that the listener is no longer allowed to see. Apart
from that, every attempt has the same body.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet

from dnspanel.accounts.actors.actors import Actor, Permission, Right, actor_form
from dnspanel.texts import gettext
from dnspanel.webhooks.access import NEEDED
from dnspanel.webhooks.models import Event, EventKind, Webhook
from dnspanel.zones.models import Publication, Revision, Zone
from dnspanel.zones.rights.access import has_any_tag, zones_within_reach

# A publication can change a million zones. Those beyond this limit are only counted, and the API lists them.
MOST_ZONES = 100


@dataclass(frozen=True, slots=True)
class Listener:
    """A webhook's actor, and the zones that the webhook subscribes to (all if zones, tags and teams are empty)."""

    actor: Actor
    zones: Collection[str] = ()
    tags: Collection[str] = ()
    teams: Collection[int] = ()

    @property
    def hears_of_every_zone(self) -> bool:
        """True if the listener receives the publications of all zones."""
        return not self.is_narrow and _sees_every_zone(self.actor)

    @property
    def is_narrow(self) -> bool:
        """True if the listener subscribes to only some zones."""
        return bool(self.zones or self.tags or self.teams)


def listener_of(webhook: Webhook, actor: Actor) -> Listener:
    """Return the listener for this webhook, with the rights of `actor`."""
    return Listener(actor, webhook.zones, webhook.tags, webhook.teams)


def payload(event: Event, listener: Listener, *, number: int) -> bytes | None:
    """Return the body of delivery `number` for this listener, or None if no part of the event is visible to it."""
    data = contents(event, listener)
    if data is None:
        return None
    body = {
        "event": event.kind,
        "event_id": event.message_id,
        "number": number,
        "timestamp": moment(event.at),
        "panel": settings.PANEL_URL,
        "data": data,
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def told_of(listener: Listener, events: Collection[Event]) -> list[Event]:
    """Return the events that this listener is allowed to see and that match its zones. Makes at most two queries."""
    actor = listener.actor
    allowed = [event for event in events if NEEDED[EventKind(event.kind)] in actor.permissions]
    if not listener.hears_of_every_zone:
        seen = set(
            _revisions(listener, [event.facts["sequence"] for event in allowed if "sequence" in event.facts])
            .values_list("publication", flat=True)
            .distinct()
        )
        zones = _zones_heard_of(listener, {pk for event in allowed for pk in event.facts.get("zone_ids", ())})
        allowed = [event for event in allowed if _is_seen(event, seen, zones, actor)]
    return allowed


def moment(at: datetime) -> str:
    """Format a time for payloads: UTC with milliseconds."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_seen(event: Event, publications: set[int], zones: Mapping[int, str], actor: Actor) -> bool:
    """Return True if a listener that is limited to some zones receives this event."""
    if event.kind == EventKind.IMPORT:  # the event has numbers of zones without names, so it is only for its author
        return _sees_every_zone(actor) or bool(event.facts["author_id"] == actor.user.pk)
    if "zone_ids" in event.facts:
        return not zones.keys().isdisjoint(event.facts["zone_ids"])
    return "sequence" not in event.facts or event.facts["sequence"] in publications


def contents(event: Event, listener: Listener) -> dict[str, Any] | None:
    """Return the part of the body's `data` that this listener can see, or None if it can't see any of it."""
    if event.kind == EventKind.PING:
        return {"message": gettext("Someone requested this test.")}
    if not told_of(listener, [event]):
        return None
    if event.kind in {EventKind.SAVED, EventKind.EVERYWHERE, EventKind.TAKEN_BACK}:
        return _publication(event, listener)
    if event.kind in {EventKind.OPENED, EventKind.ENDED}:
        return _request(event, listener)
    return {name: value for name, value in event.facts.items() if name != "author_id"}


def _publication(event: Event, listener: Listener) -> dict[str, Any] | None:
    sequence = event.facts["sequence"]
    publication = Publication.objects.select_related("author", "token").filter(pk=sequence).first()
    if publication is None:
        return None
    revisions = _revisions(listener, [sequence])
    data = {
        "sequence": sequence,
        "epoch": str(publication.epoch),
        "at": moment(publication.at),
        "actor": actor_form(publication.author.username if publication.author else None, publication.token),
        "channel": publication.channel,
        "reason": publication.reason,
        "url": f"/api/v2/publications/{sequence}",
        "part_of": publication.part_of,
        "zone_count": revisions.count(),
        "zones": _zones(revisions),
    }
    if event.kind == EventKind.EVERYWHERE:
        data["everywhere_at"] = event.facts["everywhere_at"]
        data["nodes"] = event.facts["nodes"] if Permission.FLEET in listener.actor.permissions else None
    if event.kind == EventKind.TAKEN_BACK:
        # The reason names an RRset, possibly of a zone that the listener is not allowed to see.
        sees_all = data["zone_count"] == Revision.objects.filter(publication=sequence).count()
        data["taken_back"] = {
            "at": moment(event.at),
            "sequence": publication.taken_back_in,
            "reason": publication.failed_reason if sees_all else "",
        }
    return data


def _request(event: Event, listener: Listener) -> dict[str, Any]:
    """Return the data with zone names instead of ids. Omit zones that aren't visible or subscribed to."""
    zone_ids = event.facts["zone_ids"]
    names = sorted(_zones_heard_of(listener, zone_ids).values())
    told = {name: value for name, value in event.facts.items() if name != "zone_ids"}
    url = f"/api/v2/requests/{told['key']}"
    return told | {"url": url, "zone_count": len(names), "zones": names[:MOST_ZONES]}


def _zones_heard_of(listener: Listener, ids: Collection[int]) -> dict[int, str]:
    """Return {zone id: name} for the zones in `ids` that the listener subscribes to and can see."""
    if not ids:
        return {}
    zones = Zone.objects.filter(pk__in=ids)
    if not _sees_every_zone(listener.actor):
        zones = zones.filter(pk__in=zones_within_reach(listener.actor, Right.READ))
    return dict(_heard_of(listener, zones).values_list("pk", "name"))


def _zones(revisions: "QuerySet[Revision]") -> list[dict[str, Any]]:
    columns = ("zone__name", "kind", "number", "serial", "added", "changed", "removed")
    return [
        {
            "zone": name,
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


def _revisions(listener: Listener, sequences: Collection[int]) -> "QuerySet[Revision]":
    """Return the revisions in these publications, for zones that the listener subscribes to and can see."""
    revisions = Revision.objects.filter(publication__in=sequences)
    if listener.is_narrow:
        revisions = revisions.filter(zone__in=_heard_of(listener, Zone.objects.all()))
    if _sees_every_zone(listener.actor):
        return revisions
    return revisions.filter(zone__in=zones_within_reach(listener.actor, Right.READ))


def _heard_of(listener: Listener, zones: "QuerySet[Zone]") -> "QuerySet[Zone]":
    """Return the given zones that the listener subscribes to."""
    if not listener.is_narrow:
        return zones
    return zones.filter(Q(name__in=listener.zones) | has_any_tag(listener.tags) | Q(team__in=listener.teams))


def _sees_every_zone(actor: Actor) -> bool:
    return all(any(Right.READ in grant.rights and grant.everywhere for grant in layer) for layer in actor.layers)
