"""Read the events of a period that a person is allowed to see. A feed sees the events of its owner."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from cryptography.x509 import load_pem_x509_certificates
from django.conf import settings
from django.db.models import QuerySet, TextChoices
from django.urls import reverse

from dnspanel.accounts.actors.actors import Actor, Permission, can
from dnspanel.accounts.models import Token, TokenKind
from dnspanel.accounts.tokens.tokens import tokens_visible_to
from dnspanel.fleet.models import Authority, Node
from dnspanel.fleet.nodes.authority import authority_expires_at, client_expires_at
from dnspanel.primaries.models import TransferredZone
from dnspanel.secondaries.access import secondaries_visible_to
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.rows import path_at
from dnspanel.zones.dnssec.policy_queries import keys_ending
from dnspanel.zones.governance.freeze_times import periods
from dnspanel.zones.governance.publish_rules import freezes_known_to
from dnspanel.zones.models import Rollover, Signing
from dnspanel.zones.models.zone import TRASH_DAYS
from dnspanel.zones.publishing.expiry import expiring
from dnspanel.zones.requests.request_lists import scheduled_between
from dnspanel.zones.rights import access
from replication.dns import rdata

_MOST_PEM = 500  # secondaries whose certificates are read


class Kind(TextChoices):
    """A kind of event. The value is its name in URLs and feeds."""

    PUBLICATION = "publication", gettext_lazy("Publications")
    FREEZE = "freeze", gettext_lazy("Freezes")
    DNSSEC = "dnssec", "DNSSEC"
    RECORD = "record", gettext_lazy("Records")
    ZONE = "zone", gettext_lazy("Zones")
    KEY = "key", gettext_lazy("Keys and tokens")
    CERTIFICATE = "certificate", gettext_lazy("Certificates")


@dataclass(frozen=True, slots=True)
class Window:
    """A period of the calendar, and the greatest number of events of each kind."""

    begin: datetime
    end: datetime
    most: int

    def due(self, rows: "QuerySet[Any]", column: str, later: timedelta = timedelta()) -> Iterator[tuple[datetime, Any]]:
        """Yield at most `most` + 1 rows with the time of their event, which is `later` than the column's time."""
        between = {f"{column}__gte": self.begin - later, f"{column}__lt": self.end - later}
        for row in rows.filter(**between).order_by(column)[: self.most + 1]:
            yield getattr(row, column) + later, row


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """An event with its text, and the path of the page about it. `key` is the same each time the event is read."""

    at: datetime
    key: str
    kind: Kind
    text: str
    path: str
    until: datetime | None = None


def events_of(person: Actor, window: Window, chosen: Kind | None = None) -> tuple[list[Event], list[Kind]]:
    """Return the events, earliest first, and the kinds that have more than `most` events. `chosen` is one kind or all.

    The number of queries doesn't depend on the number of events.
    """
    readers = [(kind, read) for kind, read in zip(Kind, _READERS, strict=True) if chosen in (None, kind)]
    by_kind = {kind: sorted(read(person, window)) for kind, read in readers}
    found = [event for events in by_kind.values() for event in events[: window.most]]
    return sorted(found), [kind for kind, events in by_kind.items() if len(events) > window.most]


def _publications(person: Actor, window: Window) -> Iterator[Event]:
    for each in scheduled_between(person, window.begin, window.end)[: window.most + 1]:
        if each.publish_at is not None:
            text, path = gettext("Publish “{name}”"), reverse("draft-request", args=[each.key])
            yield Event(each.publish_at, f"request-{each.pk}", Kind.PUBLICATION, text.format(name=each.name), path)


def _freezes(person: Actor, window: Window) -> Iterator[Event]:
    path = reverse("settings-freezes" if can(person, Permission.NODES) else "zone-list")
    for freeze in freezes_known_to(person):
        for begin, end in islice(periods(freeze, window.begin), window.most + 1):
            if begin < window.end:
                yield Event(begin, f"freeze-{freeze.pk}-{begin:%Y%m%d}", Kind.FREEZE, str(freeze), path, end)


def _steps_of_keys(person: Actor, window: Window) -> Iterator[Event]:
    visible = access.zones_visible_to(person).order_by().values("pk")
    rolling = Rollover.objects.filter(ended_at=None, zone__in=visible).select_related("zone")
    for at, row in window.due(rolling, "earliest"):
        text, path = gettext("{zone}: next step of the key rollover"), reverse("zone-dnssec", args=[row.zone.name])
        yield Event(at, f"rollover-{row.pk}", Kind.DNSSEC, text.format(zone=row.zone.name), path)
    for at, key in keys_ending(person, window.begin, window.end, most=window.most + 1):
        text, path = gettext("{zone}: key {tag} reaches its maximum age"), reverse("zone-dnssec", args=[key.zone.name])
        yield Event(at, f"zone-key-{key.pk}", Kind.DNSSEC, text.format(zone=key.zone.name, tag=key.tag), path)
    for at, row in window.due(Signing.objects.filter(zone__in=visible).select_related("zone"), "signatures_end"):
        text, path = gettext("{zone}: imported signatures expire"), reverse("zone-dnssec", args=[row.zone.name])
        yield Event(at, f"signatures-{row.pk}", Kind.DNSSEC, text.format(zone=row.zone.name), path)


def _removals(person: Actor, window: Window) -> Iterator[Event]:
    for each in expiring(person, until=window.end, limit=window.most + 1, after=(window.begin, 0)):
        text = gettext("{name}: {type} is removed").format(type=rdata.type_to_text(each.type), name=each.name)
        yield Event(each.remove_at, f"expiry-{each.pk}", Kind.RECORD, text, path_at(each.zone.name, each.name))


def _ends_of_zones(person: Actor, window: Window) -> Iterator[Event]:
    for at, zone in window.due(access.trash_visible_to(person), "deleted_at", timedelta(days=TRASH_DAYS)):
        text, path = gettext("{zone} is permanently deleted"), reverse("zone-trashed", args=[zone.pk])
        yield Event(at, f"trash-{zone.pk}", Kind.ZONE, text.format(zone=zone.name), path)
    # Zones whose primaries answer expire, too, but each answer moves this time. Only a failing zone has `alert_at`.
    visible = access.zones_visible_to(person).order_by().values("pk")
    failing = TransferredZone.objects.filter(alert_at__isnull=False, zone__in=visible).select_related("zone")
    for at, row in window.due(failing, "expires_at"):
        text, path = gettext("{zone} expires if no primary answers"), reverse("zone-detail", args=[row.zone.name])
        yield Event(at, f"transferred-{row.pk}", Kind.ZONE, text.format(zone=row.zone.name), path)


def _ends_of_keys(person: Actor, window: Window) -> Iterator[Event]:
    # A narrow token doesn't see its owner's other tokens. A feed shows only their purpose and their end.
    is_feed = person.token is not None and person.token.kind == TokenKind.FEED
    tokens = Token.objects.filter(owner=person.user) if is_feed else tokens_visible_to(person)
    for at, token in window.due(tokens.filter(revoked_at=None), "expires_at"):
        text, path = gettext("{kind} “{purpose}” expires"), reverse("token-detail", args=[token.pk])
        text = text.format(kind=token.get_kind_display(), purpose=token.purpose)
        yield Event(at, f"token-{token.pk}", Kind.KEY, text, path)
    if can(person, Permission.FLEET):
        for at, each in window.due(secondaries_visible_to(person), "old_secret_until"):
            text, path = gettext("The old TSIG key of {name} ends"), reverse("secondary-detail", args=[each.pk])
            yield Event(at, f"secondary-key-{each.pk}", Kind.KEY, text.format(name=each.name), path)


def _certificates(person: Actor, window: Window) -> Iterator[Event]:
    if not can(person, Permission.FLEET):
        return
    found: list[tuple[datetime, str, str]] = [
        (at, node.name, reverse("node-detail", args=[node.name]))
        for at, node in window.due(Node.objects.all(), "certificate_expires_at")
    ]
    if authority := Authority.objects.first():
        found.append((client_expires_at(authority), gettext("Panel"), reverse("node-list")))
        found.append((authority_expires_at(authority), gettext("Authority for nodes"), reverse("node-delivery")))
    for each in secondaries_visible_to(person).exclude(certificate="").order_by("pk")[:_MOST_PEM]:
        at = max(pem.not_valid_after_utc for pem in load_pem_x509_certificates(each.certificate.encode()))
        found.append((at, each.name, reverse("secondary-detail", args=[each.pk])))
    if settings.UPDATE_TLS_PORT and os.access(settings.UPDATE_TLS_CERTIFICATE, os.R_OK):
        own = load_pem_x509_certificates(Path(settings.UPDATE_TLS_CERTIFICATE).read_bytes())[0]
        found.append((own.not_valid_after_utc, gettext("Gateway"), reverse("secondary-list")))
    for at, owner, path in found:
        if window.begin <= at < window.end:
            text = gettext("{owner}: certificate expires").format(owner=owner)
            yield Event(at, f"certificate{path}", Kind.CERTIFICATE, text, path)


# In the order of `Kind`.
_READERS = (_publications, _freezes, _steps_of_keys, _removals, _ends_of_zones, _ends_of_keys, _certificates)
