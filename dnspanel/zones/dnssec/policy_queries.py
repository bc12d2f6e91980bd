"""Queries about DNSSEC policies: all policies, the policy that applies to a zone, and the zones of a policy."""

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from dnspanel.accounts.actors.actors import Person, Right, actor_of
from dnspanel.database.field_copies import copy_fields
from dnspanel.database.first_rows import first_or
from dnspanel.zones.dnssec.policy import Attachment, Terms, choose
from dnspanel.zones.errors import PolicyUnknown
from dnspanel.zones.models import DnssecPolicy, PolicyAttachment, Signing, Zone, ZoneKey
from dnspanel.zones.rights.access import has_any_tag, zones_visible_to
from replication.codec.dnssec import Nsec3


@dataclass(frozen=True, slots=True)
class Applied:
    """A zone's policy, and a description of the policy's origin, such as "from the team Web"."""

    policy: DnssecPolicy
    terms: Terms
    source: str


def may_change_policies(person: Person) -> bool:
    """Return True if this user is allowed to change policies. This requires the right to sign every zone."""
    actor = actor_of(person)
    return actor is not None and actor.may_everywhere(Right.DNSSEC)


def policies() -> "QuerySet[DnssecPolicy]":
    """Select all policies, sorted by name."""
    return DnssecPolicy.objects.order_by("name", "pk")


def policies_visible_to(person: Person) -> "QuerySet[DnssecPolicy]":
    """Return the policies of visible zones and of the user's teams, sorted by name.

    Users who can see every zone see all policies.
    """
    actor = actor_of(person)
    if actor is None:
        return policies().none()
    if actor.may_everywhere(Right.READ):
        return policies()
    own = PolicyAttachment.objects.exclude(zone=None)
    visible = zones_visible_to(actor)
    found = set(own.filter(zone__in=visible).values_list("policy_id", flat=True))
    shared = [_attachment(row) for row in PolicyAttachment.objects.filter(zone=None).select_related("team")]
    default = DnssecPolicy.objects.filter(is_default=True).values_list("pk", flat=True).first()
    others = visible.exclude(pk__in=own.values("zone_id")).order_by().values_list("tags", "team_id").distinct()
    own_teams: list[tuple[list[str], int | None]] = [([], team.pk) for team in actor.teams if actor.token is None]
    for tags, team_id in [*others, *own_teams]:
        chosen = choose(zone_id=0, tags=tags, team_id=team_id, attachments=shared, default=default)
        found |= {chosen[0]} if chosen is not None else set()
    return policies().filter(pk__in=found)


def policy_for(person: Person, pk: int) -> DnssecPolicy:
    """Return the policy with this id. Raise PolicyUnknown if the user can't see it."""
    return first_or(policies_visible_to(person).filter(pk=pk), PolicyUnknown)


def policy_by_id(pk: int) -> DnssecPolicy:
    """Return the policy with this id, without checking rights. Raise PolicyUnknown if it doesn't exist."""
    return first_or(DnssecPolicy.objects.filter(pk=pk), PolicyUnknown)


def terms_of(policy: DnssecPolicy) -> Terms:
    """Return the policy's settings."""
    return copy_fields(Terms, policy, nsec3=nsec3_of(policy.nsec3))


def nsec3_of(stored: "list[object] | None") -> Nsec3 | None:
    """Parse the NSEC3 parameters in a policy's row. None means NSEC."""
    if stored is None:
        return None
    iterations, salt, opt_out, narrow = stored
    return Nsec3(int(str(iterations)), bytes.fromhex(str(salt)), bool(opt_out), bool(narrow))


def applied_to(zone: Zone) -> Applied | None:
    """Return the policy that applies to a zone, or None if no policy applies."""
    return applied_to_zones([zone]).get(zone.pk)


def applied_to_zones(zones: Sequence[Zone]) -> dict[int, Applied]:
    """Return the policies that apply to zones, keyed by zone id, in two queries. Zones without a policy are omitted."""
    known = {policy.pk: (policy, terms_of(policy)) for policy in DnssecPolicy.objects.all()}
    if not known:
        return {}
    default = next((policy.pk for policy, _ in known.values() if policy.is_default), None)
    attachments = _attachments_of(zones)
    own = {each.zone_id: [each] for each in attachments if each.zone_id is not None}
    shared = [each for each in attachments if each.zone_id is None]
    found = {}
    for zone in zones:
        chosen = choose(
            zone_id=zone.pk, tags=zone.tags, team_id=zone.team_id, attachments=own.get(zone.pk, shared), default=default
        )
        if chosen is not None:
            found[zone.pk] = Applied(*known[chosen[0]], chosen[1])
    return found


def zones_of(policy: DnssecPolicy) -> Q:
    """Return the condition for the zones that the policy applies to."""
    attached = PolicyAttachment.objects.values_list("policy_id", "tag", "team_id").filter(zone=None)
    tags = {tag: policy_id for policy_id, tag, _ in attached if tag is not None}
    teams = {team_id: policy_id for policy_id, _, team_id in attached if team_id is not None}
    own = PolicyAttachment.objects.exclude(zone=None)
    others = ~Q(pk__in=own.values("zone_id"))
    found = Q(pk__in=own.filter(policy=policy).values("zone_id"))
    for tag, policy_id in tags.items():
        if policy_id == policy.pk:
            found |= others & has_any_tag([tag]) & _not_tagged(earlier for earlier in tags if earlier < tag)
    untagged = others & _not_tagged(tags)
    found |= untagged & Q(team__in=[team for team, policy_id in teams.items() if policy_id == policy.pk])
    if policy.is_default:
        found |= untagged & (Q(team=None) | ~Q(team__in=list(teams)))
    return found


def attached_to(policy: DnssecPolicy) -> list[PolicyAttachment]:
    """Return the tags and teams that the policy is attached to, tags first."""
    rows = PolicyAttachment.objects.select_related("team").filter(policy=policy, zone=None)
    return sorted(rows, key=lambda row: (row.tag is None, row.tag or (row.team.name if row.team else "")))


def zones_attached_to(policy: DnssecPolicy) -> "QuerySet[Zone]":
    """Select the zones that the policy is directly attached to."""
    return Zone.objects.filter(deleted_at=None, pk__in=_zone_ids(policy)).order_by("name")


def own_policy_of(zone: Zone) -> DnssecPolicy | None:
    """Return the zone's own policy, or None if no policy is attached directly to the zone."""
    row = PolicyAttachment.objects.select_related("policy").filter(zone=zone).first()
    return row.policy if row else None


def keys_made_at(zone_ids: Collection[int]) -> dict[int, dict[int, datetime]]:
    """Return the creation times of the zones' current keys as {zone id: {key id: time}}, in one query."""
    found: dict[int, dict[int, datetime]] = {}
    rows = ZoneKey.objects.filter(zone__in=zone_ids, deleted_at=None)
    for zone_id, key_id, made in rows.values_list("zone_id", "pk", "created_at"):
        found.setdefault(zone_id, {})[key_id] = made
    return found


def keys_ending(person: Person, begin: datetime, end: datetime, *, most: int) -> list[tuple[datetime, ZoneKey]]:
    """Return at most `most` keys of visible signed zones whose policy's lifetime ends in the period, with the end.

    Keys that the parent's DS names have the flag SEP. Needs at most two queries for each policy with a lifetime.
    """
    found: list[tuple[datetime, ZoneKey]] = []
    zones = zones_visible_to(person).order_by().filter(signing__is_signed=True)
    for policy in DnssecPolicy.objects.exclude(zsk_days=None, ksk_days=None):
        of_policy = zones.filter(zones_of(policy)).values("pk")
        for flags, days in ((256, policy.zsk_days), (257, policy.ksk_days)):
            if days is not None:
                age = timedelta(days=days)
                keys = ZoneKey.objects.filter(deleted_at=None, flags=flags, zone__in=of_policy)
                keys = keys.filter(created_at__gte=begin - age, created_at__lt=end - age).select_related("zone")
                found += [(key.created_at + age, key) for key in keys.order_by("created_at")[:most]]
    return sorted(found, key=lambda each: (each[0], each[1].pk))[:most]


def fingerprint() -> str:
    """Return a hash of all policies and their tags and teams. It changes with any of them."""
    stored = [
        list(DnssecPolicy.objects.order_by("pk").values_list()),
        list(PolicyAttachment.objects.filter(zone=None).order_by("pk").values_list("policy_id", "tag", "team_id")),
    ]
    return hashlib.sha256(json.dumps(stored, default=str).encode()).hexdigest()


def _zone_ids(policy: DnssecPolicy) -> "QuerySet[PolicyAttachment, int]":
    return PolicyAttachment.objects.filter(policy=policy).exclude(zone=None).values("zone_id")  # type: ignore[return-value]


def _not_tagged(tags: Iterable[str]) -> Q:
    listed = list(tags)
    return ~Q(tags__overlap=sorted(listed)) if listed else Q()


def _attachments_of(zones: Sequence[Zone]) -> list[Attachment]:
    """Return the policies attached to these zones, to their tags, or to their teams."""
    tags = {tag for zone in zones for tag in zone.tags}
    teams = {zone.team_id for zone in zones if zone.team_id is not None}
    about = Q(zone__in=[zone.pk for zone in zones]) | Q(tag__in=tags) | Q(team__in=teams)
    return [_attachment(row) for row in PolicyAttachment.objects.filter(about).select_related("team")]


def _attachment(row: PolicyAttachment) -> Attachment:
    return Attachment(row.policy_id, row.zone_id, row.tag, row.team_id, row.team.name if row.team else "")


def due_refusal_of(zone: Zone) -> str:
    """Return why a due rollover couldn't start automatically, or "" if none was refused."""
    return Signing.objects.filter(pk=zone.pk).values_list("due_refusal", flat=True).first() or ""
