"""Check signed zones' parents once a day: claim due checks, query the parents and store the results. Verbs.

A worker claims a check by advancing `due_at`. The network part runs outside of any transaction. The result is stored
only if no other worker has claimed the check since then. If a worker dies, its check is due again minutes later.
"""

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from dnspanel.accounts.actors.actors import Author, Right
from dnspanel.accounts.audit import audit
from dnspanel.database.field_copies import copy_fields
from dnspanel.database.sql import execute
from dnspanel.fleet.dnssec.compare_ds import Finding, SignedBy, SigningKey, compare
from dnspanel.fleet.dnssec.parent_dns import ParentLook, look_at_parent
from dnspanel.fleet.dnssec.resolver import Resolver, resolver_of_settings
from dnspanel.fleet.dnssec.trust_chain import Verdict, follow_chain
from dnspanel.fleet.models import ParentCheck, ParentState
from dnspanel.texts import gettext
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.ds_seen import note_ds
from dnspanel.zones.dnssec.other_keys import OtherKey
from dnspanel.zones.dnssec.signing_state import KeyRole, SigningState
from dnspanel.zones.errors import NotSigned
from dnspanel.zones.models import Zone, ZoneKey
from dnspanel.zones.rights import access
from dnspanel.zones.signing.safety import ParentHere, parent_here

EVERY = timedelta(days=1)
# A fault or a failed check is checked again after this time.
AGAIN = timedelta(hours=1)
LEASE = timedelta(minutes=5)
# One run of beat claims this many, so that a day is enough for 100,000 zones, and checks some of them in parallel.
AT_ONCE, ZONES_IN_PARALLEL = 12, 4
_MOST_ADMITTED = 1000
OURS = "this panel"

# Signed zones that have no check yet, by id. Each is checked soon.
_ADMIT = """
INSERT INTO fleet_parentcheck (zone_id, due_at, state, message, parent, found, silent)
SELECT s.zone_id, %(now)s, 'unknown', '', '', '{}', '' FROM zones_signing s JOIN zones_zone z ON z.id = s.zone_id
WHERE s.is_signed AND z.deleted_at IS NULL
    AND NOT EXISTS (SELECT FROM fleet_parentcheck c WHERE c.zone_id = s.zone_id)
ORDER BY s.zone_id LIMIT %(most)s
ON CONFLICT (zone_id) DO NOTHING"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A check that this worker claimed: the zone's keys, last result, and parent zone if it is on this panel."""

    zone_id: int
    due_at: datetime  # while the row has this value, the claim is ours
    signed: SignedBy
    here: ParentHere | None
    state: str
    since: datetime | None
    silent_since: datetime | None


@dataclass(frozen=True, slots=True)
class Look:
    """The result of a check of a zone's parent."""

    parent: ParentLook
    finding: Finding


def ask_now(*, zone: Zone, now: datetime, by: Author) -> None:
    """Make the parent check due now. Raise RightMissing, or NotSigned if the zone has no check and isn't signed."""
    access.require_right(by, zone, Right.DNSSEC)
    if queries.signing_of(zone).is_signed:
        ParentCheck.objects.get_or_create(zone=zone, defaults={"due_at": now})
    if not ParentCheck.objects.filter(zone=zone).update(due_at=now, requested_at=now):
        raise NotSigned(zone.name)
    audit.record(action="dnssec.ask_parent", by=by, now=now, target=zone.name)


def admit(*, now: datetime) -> int:
    """Create due checks for signed zones that have no check yet, at most _MOST_ADMITTED. Return their number."""
    return execute(_ADMIT, {"now": now, "most": _MOST_ADMITTED})


def take_on(*, now: datetime, zone_ids: Collection[int] | None = None) -> list[Claim]:
    """Claim up to AT_ONCE due checks, starting with those that have waited longest. `zone_ids` limits the zones.

    Other workers can't claim these checks until LEASE has passed. If several workers compete for a check, the first one
    that updates its row gets it.
    """
    due = ParentCheck.objects.filter(due_at__lte=now, zone__deleted_at=None)
    if zone_ids is not None:
        due = due.filter(zone_id__in=zone_ids)
    lease = now + LEASE
    mine = [
        check
        for check in due.order_by("due_at", "zone_id").select_related("zone")[:AT_ONCE]
        if ParentCheck.objects.filter(pk=check.pk, due_at=check.due_at).update(due_at=lease)
    ]
    states = queries.signing_of_zones([check.zone_id for check in mine])
    public = _public_keys(states.values())
    others = queries.other_keys_of_zones([check.zone for check in mine])
    return [
        copy_fields(
            Claim,
            check,
            due_at=lease,
            signed=_signed_by(
                check.zone.name, states.get(check.zone_id, SigningState()), public, others.get(check.zone_id, ())
            ),
            here=parent_here(check.zone.name),
        )
        for check in mine
    ]


def check_all(claims: Sequence[Claim], *, now: datetime, resolver: Resolver | None = None, port: int = 53) -> int:
    """Check the parents of the claimed zones in parallel. Return the number of results that were stored."""
    if not claims:
        return 0
    resolvers = resolver or resolver_of_settings()
    with ThreadPoolExecutor(ZONES_IN_PARALLEL, thread_name_prefix="parents") as pool:
        looks = pool.map(lambda claim: look(claim, resolver=resolvers, now=now, port=port), claims)
        return sum(keep(claim=claim, look=found, now=now) for claim, found in zip(claims, looks, strict=True))


def look(claim: Claim, *, resolver: Resolver, now: datetime, port: int = 53) -> Look:
    """Query the parent. If trust anchors are set, also validate the zone from the root.

    The validation is skipped if no server has a DS, or if the DS is wrong or unknown on any server. Network errors are
    never raised. Nothing is written. The DS records of a parent zone on this panel come from PostgreSQL.
    """
    name = claim.signed.zone_name
    if claim.here is not None:
        parent = ParentLook(claim.here.name, {OURS: claim.here.ds}, None)
    else:
        parent = look_at_parent(name, resolver=resolver, networks=settings.SOURCE_NETWORKS, port=port)
    finding = compare(claim.signed, parent.parent, parent.servers) if parent.servers else Finding(None)
    if finding.state is ParentState.DIFFERS:
        return Look(parent, finding)
    if parent.silent or finding.state is None:
        return Look(
            parent, Finding(None, silent=parent.silent or gettext("The parent doesn’t have a reachable name server."))
        )
    if finding.state is ParentState.NO_DS or not settings.TRUST_ANCHORS:
        return Look(parent, finding)
    return Look(parent, _validate_from_root(finding, name, resolver, now))


def _validate_from_root(finding: Finding, zone_name: str, resolver: Resolver, now: datetime) -> Finding:
    chain = follow_chain(zone_name, resolver=resolver, anchors=settings.TRUST_ANCHORS, now=now)
    if chain.verdict is Verdict.BOGUS:
        return Finding(
            ParentState.BOGUS,
            gettext("{zone_name} doesn’t validate from the root: {reason}.").format(
                zone_name=zone_name, reason=chain.reason
            ),
            root=chain.verdict,
        )
    if chain.verdict is Verdict.UNKNOWN:
        return Finding(
            None,
            silent=gettext("Validation of {zone_name} couldn’t be checked: {reason}.").format(
                zone_name=zone_name, reason=chain.reason
            ),
        )
    if chain.verdict is Verdict.INSECURE:
        message = gettext("{message} Resolvers still don’t validate the zone: {reason}.").format(
            message=finding.message, reason=chain.reason
        )
        return Finding(finding.state, message, root=chain.verdict)
    if finding.state is not ParentState.MATCHES:
        return replace(finding, root=chain.verdict)
    message = gettext("{message} The zone validates from the root.").format(message=finding.message)
    return Finding(finding.state, message, root=chain.verdict)


def keep(*, claim: Claim, look: Look, now: datetime) -> bool:
    """Store the result and the next due time of a check. Return False if another worker has claimed it.

    If the result is unknown, the last known state is kept. The check is deleted if the zone isn't signed and its parent
    has no DS. If every server of the parent answered, call `note_ds`.
    """
    mine = ParentCheck.objects.filter(pk=claim.zone_id, due_at=claim.due_at)
    finding = look.finding
    if not look.parent.silent and mine.exists():
        note_ds(found={claim.zone_id: list(look.parent.servers.values())}, now=now)
    if finding.state is ParentState.NO_DS and not claim.signed.algorithms:
        return bool(mine.delete()[0])
    values: dict[str, Any] = {"checked_at": now}
    if finding.state is None:
        values |= {"silent": finding.silent, "silent_since": claim.silent_since or now, "due_at": now + AGAIN}
    else:
        is_well = finding.state in {ParentState.MATCHES, ParentState.NO_DS}
        values |= {
            "state": finding.state,
            "message": finding.message,
            "since": claim.since if claim.state == finding.state else now,
            "known_at": now,
            "parent": look.parent.parent,
            "found": {
                "servers": {server: list(ds) for server, ds in look.parent.servers.items()},
                "ttl": look.parent.ttl,
                "root": finding.root,
            },
            "silent": "",
            "silent_since": None,
            "due_at": now + (EVERY if is_well else AGAIN),
        }
    return bool(mine.update(**values))


def _public_keys(states: Iterable[SigningState]) -> dict[int, bytes]:
    ids = [key.id for state in states for key in state.keys]
    return {pk: bytes(public) for pk, public in ZoneKey.objects.filter(pk__in=ids).values_list("pk", "public")}


def _signed_by(zone_name: str, state: SigningState, public: dict[int, bytes], others: Collection[OtherKey]) -> SignedBy:
    """Return the keys that a zone's DS records must match, including other signers' keys, and all signing algorithms.

    For a presigned zone, these are the keys with the SEP flag in its DNSKEY records, or all keys if none has the flag.
    """
    if state.presigned:
        entries = [key for key in others if key.is_sep] or list(others)
        keys = (SigningKey(key.flags, key.algorithm, key.public) for key in entries)
        return SignedBy(zone_name, tuple(keys), frozenset(key.algorithm for key in others))
    active = [key for key in state.keys if key.active and key.published and key.id in public]
    signing = [key for key in active if state.role(key) is not KeyRole.ZSK]
    return SignedBy(
        zone_name,
        (
            *(SigningKey(key.flags, key.algorithm, public[key.id]) for key in signing),
            *(SigningKey(key.flags, key.algorithm, key.public) for key in others if key.is_sep and active),
        ),
        frozenset(key.algorithm for key in active),
    )
