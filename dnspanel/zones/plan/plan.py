"""Plan a publication: its changes, its violations, and the deletions that a person must confirm.

A review shows the plan. Publishing carries out the same plan under a lock.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from dnspanel.accounts.actors.actors import Author
from dnspanel.texts import gettext
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.other_keys import OF_KEYS, in_one_piece, keys_in, refusal_of
from dnspanel.zones.dnssec.trust import newly_broken
from dnspanel.zones.dnssec.wildcard_cuts import is_wildcard_cut, violation_of
from dnspanel.zones.models import Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.plan import across_zones
from dnspanel.zones.plan.across_zones import Move
from dnspanel.zones.plan.merge import Conflict, Edit, Merged, merge
from dnspanel.zones.rights import access
from dnspanel.zones.rules.computed_types import reasons_against
from dnspanel.zones.rules.neighbourhood import alias_target, name_below, names_to_know, targets_of, with_ancestors
from dnspanel.zones.rules.rules import BREAKING_DS, check_zone, needs_alias
from dnspanel.zones.rules.violations import Severity, Violation, in_order
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.values import soa
from replication.codec.keys import relative_key
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import Change, Key, RRset

# The guard's limits, as in octoDNS, for zones that aren't tiny.
GUARD_PERCENT = 30
GUARD_MIN_RRSETS = 10
GUARD_DELETIONS = 100
_DELEGATING = frozenset((rdtypes.NS, rdtypes.DS))
_ALIASES = frozenset((rdtypes.CNAME, rdtypes.DNAME))

_POINTERS_SEEN = 20  # of the records that point at a name without addresses after the change
_BELOW_SEEN = 3
_CHAIN_STEPS = 8


@dataclass(frozen=True, slots=True)
class ZonePlan:
    """The planned effect of a publication on one zone."""

    zone: Zone
    soa_before: RRset | None
    soa_after: RRset | None  # with the new serial
    changes: tuple[Change, ...]  # in canonical order; includes the SOA only if more than its serial changes
    already_so: tuple[Change, ...]  # changes that others have already published
    conflicts: tuple[Conflict, ...]
    violations: tuple[Violation, ...]
    guard: tuple[str, ...]  # the reasons why a person must confirm the plan; usually empty

    @property
    def serial(self) -> int:
        """The zone's serial after the publication."""
        return soa.serial_of(self.soa_after).value if self.soa_after else self.zone.serial

    @property
    def errors(self) -> tuple[Violation, ...]:
        return tuple(v for v in self.violations if v.severity == Severity.ERROR)

    @property
    def warnings(self) -> tuple[Violation, ...]:
        return tuple(v for v in self.violations if v.severity == Severity.WARNING)

    @property
    def added(self) -> int:
        return sum([change.before is None for change in self.changes])

    @property
    def removed(self) -> int:
        return sum([change.after is None for change in self.changes])

    @property
    def changed(self) -> int:
        return len(self.changes) - self.added - self.removed


@dataclass(frozen=True, slots=True)
class Seen:
    """The loaded RRsets of a locked zone: all RRsets at `names`, or in the whole zone if `names` is None."""

    names: Collection[str] | None
    rrsets: Mapping[Key, RRset]


def plan_zones(
    edits: Mapping[int, tuple[Zone, Sequence[Edit]]],
    now: datetime,
    seen: Mapping[int, Seen] | None = None,
    *,
    with_rules: bool = True,
    dropping: Collection[int] = (),
    author: Author = None,
) -> tuple[ZonePlan, ...]:
    """Return a plan for each zone's changes, in the given order. Read RRsets that are not in `seen`. Write nothing.

    `edits` is {zone id: (zone, edits)}. If `with_rules` is False, plans have no violations and no guard messages: use
    this for parts of a change that was checked as a whole. Changes to a presigned zone are errors, unless its id is in
    `dropping` because its imported signatures are removed. Messages mention other zones only if the author can see
    them.
    """
    known = seen or {}
    unseen = {}
    for zone_id, (zone, of_zone) in edits.items():
        read = known.get(zone_id, _NOTHING)
        if read.names is not None:
            unseen[zone_id] = (zone.name, names_near(zone, of_zone).difference(read.names))
    near = store_rrsets.rrsets_at_names(unseen)
    for zone_id, read in known.items():
        near.setdefault(zone_id, {}).update(read.rrsets)
    answered = _answered_by_others(edits) if with_rules else None
    # Only presigned zones have an RRSIG at the apex, and few of them change, so usually nothing is read.
    candidates = [zone_id for zone_id, (zone, _) in edits.items() if (zone.name, rdtypes.RRSIG) in near[zone_id]]
    presigned = queries.presigned_zones(candidates) if candidates else set()
    merged = {zone_id: merge(zone.name, of_zone, near[zone_id]) for zone_id, (zone, of_zone) in edits.items()}
    around = {} if answered is None else _around({id: zone for id, (zone, _) in edits.items()}, merged, near)
    plans = [
        _plan_zone(
            zone,
            merged[zone_id],
            near[zone_id],
            now,
            None if answered is None else answered.get(zone.name, {}),
            around.get(zone_id),
            author,
            is_presigned=zone_id in presigned,
        )
        for zone_id, (zone, _) in edits.items()
    ]
    if answered is not None:
        moves = [Move(plan.zone, plan.changes, near[plan.zone.pk], answered.get(plan.zone.name, {})) for plan in plans]
        across = across_zones.faults(moves, author)
        plans = [_with_violations(plan, across.get(plan.zone.pk, ())) for plan in plans]
    closed = presigned.difference(dropping) if with_rules else set()
    return tuple(_with_refusals(plan) if plan.zone.pk in closed else plan for plan in plans)


_NOTHING = Seen((), {})


def _with_violations(plan: ZonePlan, more: Iterable[Violation]) -> ZonePlan:
    """Add violations to the plan, errors first. Skip violations that the plan already has."""
    known = {(each.code, each.name, each.type) for each in plan.violations}
    new = [each for each in more if (each.code, each.name, each.type) not in known]
    return replace(plan, violations=in_order([*plan.violations, *new])) if new else plan


def names_near(zone: Zone, edits: Iterable[Edit]) -> set[str]:
    """Return the owner names in the zone whose RRsets are needed to plan the edits."""
    inside = [edit.change for edit in edits if names.is_within(edit.change.name, zone.name)]
    shapes = [change.after or change.before for change in inside]
    near = names_to_know(zone.name, [shape for shape in shapes if shape is not None])
    return near.union(change.name for change in inside)


def _answered_by_others(edits: Mapping[int, tuple[Zone, Sequence[Edit]]]) -> dict[str, dict[str, str]]:
    """Return {zone: {name: answering zone}} for the edits' names and targets in child zones, with one query."""
    owners: dict[str, set[str]] = {}
    for zone, of_zone in edits.values():
        after = [edit.change.after for edit in of_zone if edit.change.after is not None]
        around = {rrset.name for rrset in after}.union(*map(targets_of, after))
        if inside := {name for name in around if name != zone.name and names.is_within(name, zone.name)}:
            owners[zone.name] = inside
    return nesting.answering_zones(owners)


@dataclass(slots=True)
class _Around:
    """RRsets related to a zone's changes, before and after, and the first names below new delegations and DNAMEs."""

    before: dict[Key, RRset]
    after: dict[Key, RRset]
    below: dict[str, tuple[str, ...]]


def _around(
    zones: Mapping[int, Zone], merged: Mapping[int, Merged], near: Mapping[int, dict[Key, RRset]]
) -> dict[int, _Around]:
    """Return the RRsets that the rules need, keyed by the id of each changed zone. The number of queries is bounded."""
    changing = {zone_id: of_zone for zone_id, of_zone in merged.items() if of_zone.apply}
    at_risk = {zone_id: _names_at_risk(zones[zone_id], of_zone) for zone_id, of_zone in changing.items()}
    pointers = store_rrsets.rrsets_with_rdata(at_risk, _POINTERS_SEEN)
    aliases = _aliases_of_owners(zones, changing)
    below = _names_below(zones, changing)
    found = {}
    for zone_id, of_zone in changing.items():
        pointing = [*pointers.get(zone_id, ()), *aliases.get(zone_id, ())]
        before = near[zone_id] | {(rrset.name, rrset.type): rrset for rrset in pointing}
        changed = {change.key for change in of_zone.apply}
        after = {key: rrset for key, rrset in before.items() if key not in changed}
        after |= {change.key: change.after for change in of_zone.apply if change.after is not None}
        found[zone_id] = _Around(before, after, below.get(zone_id, {}))
    _follow_chains(zones, changing, found)
    return found


def _plan_zone(  # noqa: PLR0913  # a zone, and what is known around it
    zone: Zone,
    merged: Merged,
    near: dict[Key, RRset],
    now: datetime,
    answered: Mapping[str, str] | None,
    around: _Around | None,
    author: Author,
    *,
    is_presigned: bool,
) -> ZonePlan:
    """Return the plan for one zone. If `answered` is None, skip the rules. `around` is None if nothing changes."""
    violations = () if answered is None or around is None else _violations(zone, merged, around, answered, author)
    changes = sorted(merged.apply, key=lambda change: _canonical(change, zone.name))
    soa_before = near.get((zone.name, rdtypes.SOA))
    edited_soa = next((c.after for c in changes if c.key == (zone.name, rdtypes.SOA)), soa_before)
    # In a presigned zone, the signature of the SOA covers its serial too.
    is_fixed = is_presigned and not any(c.key == (zone.name, rdtypes.RRSIG) and c.after is None for c in changes)
    return ZonePlan(
        zone=zone,
        soa_before=soa_before,
        soa_after=soa_before if is_fixed else soa.next_soa(soa_before, edited_soa, zone.soa_edits, now),
        changes=tuple(changes),
        already_so=merged.already_so,
        conflicts=merged.conflicts,
        violations=tuple(violations),
        guard=tuple(_guard(zone, changes)) if answered is not None else (),
    )


def _with_refusals(plan: ZonePlan) -> ZonePlan:
    """Add an error for each changed RRset to a presigned zone's plan, because the panel can't sign the RRset."""
    errors = (
        Violation(
            Severity.ERROR,
            "presigned",
            change.name,
            change.type,
            gettext(
                "{name} is served with imported signatures, so the panel can’t sign the {type_to_text} record. "
                "Import the zone again, or delete the imported signatures first"
            ).format(name=plan.zone.name, type_to_text=rdata.type_to_text(change.type)),
        )
        for change in plan.changes
    )
    return replace(plan, violations=(*errors, *plan.violations))


def _canonical(change: Change, zone: str) -> tuple[bytes, int]:
    inside = names.is_within(change.name, zone)
    return (relative_key(change.name, zone) if inside else b"\xff", change.type)


def _violations(
    zone: Zone, merged: Merged, around: _Around, answered: Mapping[str, str], author: Author
) -> Iterator[Violation]:
    """Yield the violations in changed RRsets, and new violations in RRsets related to them."""
    changed = {change.key for change in merged.apply}
    before, after, below = around.before, around.after, around.below
    allow_lua, unanswered = access.may_publish_lua(author), reasons_against(_types_for(zone.name, merged.apply))
    found = check_zone(
        zone.name, after, changed, below=below, answered_by=answered, allow_lua=allow_lua, unanswered=unanswered
    )
    found += [*_breaking_ds(merged), *_keys_by_hand(zone, merged)]
    cuts = [c.name for c in merged.apply if is_wildcard_cut(*c.key) and c.after is not None and c.after.served]
    if cuts and queries.signing_of(zone).is_signed:
        found = [each for each in found if each.code != "wildcard-ns"] + [violation_of(name) for name in cuts]
    old: set[tuple[str, str, int]] = set()
    if any((v.name, v.type) not in changed for v in found):  # rare, and takes as long as the first check
        was = check_zone(zone.name, before, changed, answered_by=answered, allow_lua=allow_lua)
        old = {(v.code, v.name, v.type) for v in was}
    for violation in found:
        about_change = (violation.name, violation.type) in changed
        if about_change or (violation.code, violation.name, violation.type) not in old:
            yield violation


def _breaking_ds(merged: Merged) -> list[Violation]:
    """Return a warning (BREAKING_DS) for each changed DS RRset that makes a zone of this panel bogus."""
    served = {c.name: c for c in merged.apply if c.type == rdtypes.DS and c.after is not None and c.after.served}
    if not served:
        return []
    after = {name: change.after.served for name, change in served.items() if change.after}
    before = {name: change.before.served for name, change in served.items() if change.before}
    return [
        Violation(
            Severity.WARNING,
            "ds-breaks-zone",  # BREAKING_DS
            name,
            rdtypes.DS,
            gettext(
                "with this DS, validating resolvers would reject all answers for {name}, {reason}. Publish the DS "
                "from a draft, accept {breaking_ds} there and enter a reason"
            ).format(name=name, reason=reason, breaking_ds=BREAKING_DS),
        )
        for name, reason in newly_broken(before, after).items()
    ]


def _keys_by_hand(zone: Zone, merged: Merged) -> Iterator[Violation]:
    """Yield errors for apex records that repeat the panel's own keys, and for unsuitable DNSKEYs of other signers."""
    touched = [c for c in merged.apply if c.name == zone.name and c.type in OF_KEYS and c.after is not None]
    if not touched:
        return
    own = queries.keys_of(zone)
    for key in own:
        made = {key.dnskey, *map(key.ds_of, key_material.EVERY_DIGEST)}
        for change in touched:
            if change.after and made.intersection(map(in_one_piece, change.after.rdata)):
                word = rdata.type_to_text(change.type)
                message = gettext(
                    "the panel generates the {word} record for its own key {tag}. Only add other signers’ records here"
                ).format(word=word, tag=key.tag)
                yield Violation(Severity.ERROR, "key-of-panel", zone.name, change.type, message)
    for change in touched:
        if change.type == rdtypes.DNSKEY:
            others = keys_in(change.before)
            for other in (each for each in keys_in(change.after) if each not in others):
                if refusal := refusal_of(zone.name, other, others, own):
                    yield Violation(Severity.ERROR, "key-of-other", zone.name, change.type, refusal)
                others.append(other)


def _types_for(zone: str, changes: Iterable[Change]) -> set[int]:
    """Return the types of added or changed RRsets.

    For a CNAME at the apex, also return ALIAS, because the error message recommends ALIAS if nodes can answer it.
    """
    found = {change.key for change in changes if change.after is not None}
    types = {type_ for _, type_ in found}
    return types | {rdtypes.ALIAS} if (zone, rdtypes.CNAME) in found else types


def _names_at_risk(zone: Zone, merged: Merged) -> set[str]:
    """Return names that lose an RRset or get a CNAME. Records whose whole rdata is such a name must be checked."""
    return {
        change.name
        for change in merged.apply
        if (change.after is None and change.name != zone.name)
        or (change.type == rdtypes.CNAME and change.before is None)
    }


def _aliases_of_owners(zones: Mapping[int, Zone], merged: Mapping[int, Merged]) -> dict[int, list[RRset]]:
    """Return the aliases of changed RRsets that clients can only reach through an alias, keyed by zone id.

    Few publications have such RRsets (`needs_alias`). Loading takes one query for each step of the alias chain.
    """
    ends = {}
    for zone_id, of_zone in merged.items():
        after = (change.after for change in of_zone.apply if change.after is not None)
        if owners := {rrset.name for rrset in after if needs_alias(zones[zone_id].name, rrset)}:
            ends[zone_id] = with_ancestors(owners, zones[zone_id].name) - {zones[zone_id].name}
    found: dict[int, list[RRset]] = {}
    for _ in range(_CHAIN_STEPS):
        loaded = store_rrsets.rrsets_with_rdata(ends, _POINTERS_SEEN)
        ends = {}
        for zone_id, rrsets in loaded.items():
            aliases = [rrset for rrset in rrsets if rrset.type in _ALIASES and rrset not in found.get(zone_id, ())]
            found.setdefault(zone_id, []).extend(aliases)
            if owners := {rrset.name for rrset in aliases}:
                ends[zone_id] = owners
        if not ends:
            break
    return found


def _follow_chains(zones: Mapping[int, Zone], merged: Mapping[int, Merged], around: Mapping[int, _Around]) -> None:
    """Load the targets of changed CNAMEs and DNAMEs, step by step, while the target is another alias in the zone.

    Each step is one query. The targets of the first step are already loaded.
    """
    ends: dict[int, set[str]] = {}
    for zone_id, of_zone in merged.items():
        aliases = [c.after for c in of_zone.apply if c.after is not None and c.type in _ALIASES]
        targets = {(alias.type, target) for alias in aliases for target in targets_of(alias)}
        if targets:
            ends[zone_id] = {name_below(target) if type == rdtypes.DNAME else target for type, target in targets}
    known = {
        zone_id: {name for name, _ in around[zone_id].before} | {change.name for change in merged[zone_id].apply}
        for zone_id in ends
    }
    for _ in range(_CHAIN_STEPS):
        unknown = {}
        for zone_id, aliased in ends.items():
            zone = zones[zone_id].name
            after = around[zone_id].after
            following = {target for name in aliased if (target := alias_target(zone, after, name)) is not None}
            ends[zone_id] = following
            inside = {name for name in following if names.is_within(name, zone)}
            if more := with_ancestors(inside, zone) - known[zone_id]:
                unknown[zone_id] = (zone, more)
        if not unknown:
            return
        for zone_id, loaded in store_rrsets.rrsets_at_names(unknown).items():
            around[zone_id].before.update(loaded)
            around[zone_id].after.update(loaded)
        for zone_id, (_, more) in unknown.items():
            known[zone_id] |= more
        ends = {zone_id: ends[zone_id] for zone_id in unknown}


def _names_below(zones: Mapping[int, Zone], merged: Mapping[int, Merged]) -> dict[int, dict[str, tuple[str, ...]]]:
    """Return the first names that remain below each new delegation or DNAME, keyed by zone id. Needs one query."""
    tops = []
    deleted = {}
    for zone_id, of_zone in merged.items():
        gone = deleted[zone_id] = {change.key for change in of_zone.apply if change.after is None}
        for change in of_zone.apply:
            is_new = change.before is None and change.after is not None
            is_cut = change.type == rdtypes.NS and change.name != zones[zone_id].name
            if is_new and (is_cut or change.type == rdtypes.DNAME):
                tops.append((zone_id, zones[zone_id].name, change.name, _BELOW_SEEN + len(gone)))
    found: dict[int, dict[str, tuple[str, ...]]] = {}
    for (zone_id, _, name, _), stored in zip(tops, store_rrsets.rrsets_below(tops), strict=True):
        stay = [rrset.name for rrset in stored if (rrset.name, rrset.type) not in deleted[zone_id]]
        found.setdefault(zone_id, {})[name] = tuple(dict.fromkeys(stay))[:_BELOW_SEEN]
    return found


def _guard(zone: Zone, changes: Sequence[Change]) -> Iterator[str]:
    removed = sum(change.after is None for change in changes)
    if removed > GUARD_DELETIONS:
        yield gettext("This will delete {removed} RRsets.").format(removed=removed)
    elif zone.rrset_count >= GUARD_MIN_RRSETS and removed * 100 > GUARD_PERCENT * zone.rrset_count:
        yield gettext("This will delete {removed} of {rrset_count} RRsets.").format(
            removed=removed, rrset_count=zone.rrset_count
        )
    for change in changes:
        if change.before is None or change.type not in _DELEGATING:
            continue
        lost = rdata.not_among(change.type, change.before.served, change.after.served if change.after else ())
        if lost and change.type == rdtypes.NS and change.name == zone.name:
            yield gettext("This will remove name servers from the zone: {list}.").format(list=", ".join(lost))
        elif change.type == rdtypes.DS and change.after is None:
            yield gettext(
                "This will delete the DS for {name}, so resolvers will no longer validate the child zone."
            ).format(name=change.name)
