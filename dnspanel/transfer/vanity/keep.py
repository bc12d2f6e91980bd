"""Keep the addresses of vanity names (name servers in the panel's zones) equal to their nodes' addresses. Verbs.

    set (its newest version) ─► names in the zone, each with nodes ─► addresses of these nodes ─► A and AAAA in the zone

The addresses are published under the name of the person or token that enabled the updates, within that author's current
rights.
"""

import ipaddress
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from dnspanel.accounts.actors.actors import Actor, Author, Person, actor_of, actor_of_token, token_of, user_of
from dnspanel.accounts.audit import audit
from dnspanel.fleet.reads.queries import public_addresses
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import PublishingOnHold, TemplateRefused, ZoneError
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import Channel, KeptAddresses, Zone, ZoneTemplate
from dnspanel.zones.publishing.zone_patches import Patch, publish_patches
from dnspanel.zones.rights import access
from dnspanel.zones.settings.server_sets import Host, Servers, newest_set, newest_sets
from dnspanel.zones.store.store_rrsets import rrsets_at_names
from replication.dns import names, rdtypes
from replication.dns.rrset import Change, Key, RRset, make

TTL = 3600  # for names that have no addresses yet
MOST_KEPT = 500  # zones of all sets; every update checks each of them
# A refused zone is tried again, because rules and rights can change.
TRIED_AGAIN_AFTER = timedelta(hours=1)
_ANY = ("192.0.2.1",)  # a placeholder address for checking rights
_TYPES = {4: rdtypes.A, 6: rdtypes.AAAA}

logger = logging.getLogger(__name__)

RRsets = Mapping[Key, RRset]


class _StoppedMeanwhile(Exception):
    """Raised if a person stops or changes the updates after the addresses were read."""


@dataclass(frozen=True, slots=True)
class Place:
    """A zone that contains names of a set, with their expected addresses. `kept` is None without automatic updates."""

    zone: Zone
    addresses: Mapping[str, tuple[str, ...]]  # by name
    kept: KeptAddresses | None = None


def places_of(template: ZoneTemplate, person: Person) -> list[Place]:
    """Return a place for each visible zone that contains names with nodes from the set, sorted by zone name."""
    found = newest_set(template)
    hosts = [] if found is None else [host for host in found.servers.hosts if host.nodes]
    closest = access.closest_zones_visible_to(person, [host.name for host in hosts]) if hosts else {}
    zones = {zone.pk: zone for zone in closest.values()}
    kept = {each.zone_id: each for each in _select_kept().filter(template=template, zone__in=list(zones))}
    known = public_addresses({node for host in hosts for node in host.nodes})
    return [
        Place(
            zone, {host.name: _addresses(host, known) for host in hosts if closest.get(host.name) == zone}, kept.get(pk)
        )
        for pk, zone in sorted(zones.items(), key=lambda each: each[1].name)
    ]


def keep_addresses(*, template: ZoneTemplate, zone: Zone, by: Author, now: datetime) -> KeptAddresses:
    """Publish the nodes' addresses for the set's names in the zone, and keep the addresses up to date.

    Updates use the author's rights, and a later call replaces the author. The audit log records the change. Raise
    TemplateRefused if the set has no name with nodes in the zone, or if too many zones have kept addresses. Raise the
    errors of `access.refuse_changes` if the author is not allowed to write these addresses. If publishing is refused,
    the reason is stored in the returned row.
    """
    found = newest_set(template)
    expected = {} if found is None else _expected_addresses(found.servers, zone)
    if not expected:
        raise TemplateRefused(
            {
                "zone": [
                    gettext("This set doesn’t have any name servers inside {name} that are assigned to nodes.").format(
                        name=zone.name
                    )
                ]
            }
        )
    with transaction.atomic():
        if KeptAddresses.objects.exclude(template=template, zone=zone).count() >= MOST_KEPT:
            raise TemplateRefused(
                {
                    "zone": [
                        gettext(
                            "The panel already updates the addresses in {most_kept} zones, which is the limit."
                        ).format(most_kept=MOST_KEPT)
                    ]
                }
            )
        current = _present({zone: expected})[zone.pk]
        access.refuse_changes(by, zone, _changes(expected, current))
        token = token_of(by)
        kept, _ = KeptAddresses.objects.update_or_create(
            template=template,
            zone=zone,
            defaults={
                "set_at": now, "set_by": user_of(by), "token": token, "by_token": token is not None, "refusal": "",
                "tried_at": None,
            },
        )  # fmt: skip
        audit.record(action="template.keep", by=by, now=now, target=template.name, zone=zone.name, names=list(expected))
    bring_into_step(now=now, only=kept)
    kept.refresh_from_db()
    return kept


def stop_keeping(*, template: ZoneTemplate, zone: Zone, by: Author, now: datetime) -> None:
    """Stop updating the addresses of the set's vanity names in the zone. Published addresses stay.

    A second call changes nothing. Raise Forbidden if the author isn't allowed to edit the zone. Raise the errors of
    `access.refuse_changes` if the author isn't allowed to write addresses in the zone.
    """
    access.require_editor(by, zone)
    found = newest_set(template)
    inside = {} if found is None else _within(found.servers, zone, {})  # only the names are needed
    access.refuse_changes(
        by, zone, [Change(name, rdtypes.A, None, make(name, rdtypes.A, TTL, _ANY)) for name in inside]
    )
    with transaction.atomic():
        if KeptAddresses.objects.filter(template=template, zone=zone).delete()[0]:
            audit.record(action="template.keep_end", by=by, now=now, target=template.name, zone=zone.name)


def bring_into_step(*, now: datetime, only: KeptAddresses | None = None) -> int:
    """Update the zones whose kept addresses differ from the nodes' addresses. Return the number of changed zones.

    `only` limits the update to its zone. Each zone is published separately. If a zone fails, the reason is stored, and
    the zone is tried again after TRIED_AGAIN_AFTER. A name without node addresses keeps its addresses. If several sets
    have a name, only the first set updates it. While publishing is on hold, no zone is updated.
    """
    due = (
        _select_kept().filter(zone__deleted_at=None).filter(Q(tried_at=None) | Q(tried_at__lte=now - TRIED_AGAIN_AFTER))
    )
    due = due if only is None else due.filter(zone=only.zone_id)
    kept = list(due.order_by("pk")[:MOST_KEPT])
    says = {template.pk: servers for template, servers in newest_sets({each.template for each in kept})}
    known = public_addresses({node for each in says.values() for host in each.hosts for node in host.nodes})
    expected = {each: _within(says[each.template_id], each.zone, known) for each in kept if each.template_id in says}
    by_zone: dict[Zone, dict[str, tuple[str, ...]]] = {}
    for each, of_zone in expected.items():
        by_zone.setdefault(each.zone, {}).update(of_zone)
    present = _present(by_zone)
    count, taken = 0, set[tuple[int, str]]()
    for each, of_zone in expected.items():
        # If several sets have a name, only the first set keeps it. Otherwise they would overwrite each other forever.
        own = {name: found for name, found in of_zone.items() if (each.zone_id, name) not in taken}
        taken.update((each.zone_id, name) for name in own)
        if any(_changes(own, present[each.zone_id])):
            try:
                count += _publish(each, own, now)
            except PublishingOnHold as hold:
                logger.warning("addresses of name servers wait: %s", hold)
                return count
        elif each.refusal:  # a person has set the addresses by hand
            KeptAddresses.objects.filter(pk=each.pk).update(refusal="", tried_at=None)
    return count


def _select_kept() -> "QuerySet[KeptAddresses]":
    return KeptAddresses.objects.select_related("template", "zone__team", "set_by", "token__owner")


def _publish(kept: KeptAddresses, expected: Mapping[str, tuple[str, ...]], now: datetime) -> bool:
    """Publish the expected addresses in the zone, or store why they were refused. Return True if anything changed.

    Change nothing if a person has stopped or changed the updates. Raise PublishingOnHold while publishing is on hold.
    """

    def refuse_stopped() -> None:
        if not KeptAddresses.objects.filter(pk=kept.pk, set_at=kept.set_at).exists():
            raise _StoppedMeanwhile

    def decide(current: RRsets) -> dict[Key, RRset | None]:
        return {change.key: change.after for change in _changes(expected, current)}

    try:
        outcome = publish_patches(
            patches=[Patch(kept.zone, decide, set(expected))],
            acting=Acting(
                _author_of(kept), Channel.SYSTEM, now, panel_reasons.ADDRESSES.format(name=kept.template.name)
            ),
            confirmed=False,
            in_transaction=refuse_stopped,
        )
    except PublishingOnHold:
        raise
    except _StoppedMeanwhile:
        return False
    except ZoneError as refusal:
        logger.warning("addresses of %s in %s stay: %s", kept.template.name, kept.zone.name, refusal)
        KeptAddresses.objects.filter(pk=kept.pk).update(refusal=str(refusal), tried_at=now)
        return False
    KeptAddresses.objects.filter(pk=kept.pk).update(refusal="", tried_at=None)
    return outcome.publication is not None


def _author_of(kept: KeptAddresses) -> Actor:
    """Return the updates' author with current rights. Raise TemplateRefused if the account or token isn't valid."""
    actor = None
    if kept.token is not None and kept.token.revoked_at is None:
        actor = actor_of_token(kept.token)
    elif not kept.by_token and kept.set_by is not None:
        actor = actor_of(kept.set_by)
    if actor is None:
        raise TemplateRefused(
            {
                "zone": [
                    gettext(
                        "The person who enabled automatic updates no longer has the required rights. Enable automatic "
                        "updates again."
                    )
                ]
            }
        )
    return actor


def _expected_addresses(servers: Servers, zone: Zone) -> dict[str, tuple[str, ...]]:
    known = public_addresses({node for host in servers.hosts for node in host.nodes})
    return _within(servers, zone, known)


def _within(servers: Servers, zone: Zone, known: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    hosts = (host for host in servers.hosts if host.nodes and names.is_within(host.name, zone.name))
    return {host.name: _addresses(host, known) for host in hosts}


def _addresses(host: Host, known: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(address for node in host.nodes for address in known.get(node, ())))


def _present(expected: Mapping[Zone, Mapping[str, object]]) -> dict[int, RRsets]:
    """Return the current RRsets at the expected names, by zone id. This takes one query, or none without zones."""
    if not expected:
        return {}
    found = rrsets_at_names({zone.pk: (zone.name, set(of_zone)) for zone, of_zone in expected.items()})
    return {zone.pk: found[zone.pk] for zone in expected}


def _changes(expected: Mapping[str, Sequence[str]], current: RRsets) -> list[Change]:
    """Return the changes that give the names their expected addresses. A name without any keeps its addresses."""
    changes = []
    for name, addresses in expected.items():
        for version, type_ in _TYPES.items():
            before = current.get((name, type_))
            texts = [text for text in addresses if ipaddress.ip_address(text).version == version]
            after = None if not texts else make(name, type_, before.ttl if before else TTL, texts)
            if before is not None and after is not None:
                after = replace(after, comment=before.comment, notes=before.notes.of_values(after.rdata))
            if addresses and before != after:
                changes.append(Change(name, type_, before, after))
    return changes
