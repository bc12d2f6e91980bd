"""Publish changes immediately, without a draft. Both APIs, dynamic updates and scripts use these patches.

A patch is a *function of the zone's current RRsets*, because they are only certain once the zone is locked. "Add this
record" must not lose a record that another writer added a moment before.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from dnspanel.accounts.actors.actors import Author, SystemRight
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import Conflicts, PublishedInPart, RevisionMoved, Unknown
from dnspanel.zones.governance.publish_hooks import after_hooks
from dnspanel.zones.log.sequence_log import InTransaction, nothing, publication_of_form
from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.plan.merge import Changes, Edit
from dnspanel.zones.plan.plan import Seen, ZonePlan, plan_zones
from dnspanel.zones.publishing import pieces, revision
from dnspanel.zones.rules.neighbourhood import with_ancestors
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.store.find_zones import lock_zones
from replication.dns import rdata
from replication.dns.rrset import Change, Key, RRset, make

# How often a large change is planned again if others change the same RRsets between its pieces.
_ATTEMPTS = 3

CurrentRRsets = Mapping[Key, RRset]  # every RRset at the names that a patch reads
Decide = Callable[[CurrentRRsets], Changes]
Step = Callable[[RRset | None], RRset | None]


@dataclass(frozen=True, slots=True)
class Patch:
    """A change to a zone, as a function of the zone's current RRsets.

    `decide` is called with all RRsets at `names` (None: of the whole zone) of the locked zone, and returns the changed
    ones. It is pure, and can raise any error to reject the publication. `at_revision` is the revision that the zone
    must still have. With `drops_signatures`, the patch removes the signatures of a presigned zone.
    """

    zone: Zone
    decide: Decide
    names: Collection[str] | None
    at_revision: int | None = None
    drops_signatures: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The last publication (None: no change), and the patches' plans in the same order (none for a repeated form)."""

    publication: Publication | None
    plans: tuple[ZonePlan, ...]


def patch_of_steps(zone: Zone, steps: Sequence[tuple[Key, Step]], *, at_revision: int | None = None) -> Patch:
    """Return a patch that carries out the steps in order. Several steps for one RRset build on each other."""

    def decide(current: CurrentRRsets) -> Changes:
        changes: dict[Key, RRset | None] = {}
        for key, step in steps:
            changes[key] = step(changes[key] if key in changes else current.get(key))
        return changes

    return Patch(zone, decide, {name for (name, _), _ in steps}, at_revision)


def replace_with(rrset: RRset) -> Step:
    """Return a step that replaces the current RRset with `rrset`."""
    return lambda current: rrset


def remove_rrset(current: RRset | None) -> RRset | None:
    """Return None, which removes the whole RRset. This function is used as a step."""
    return None


def add_records(rrset: RRset) -> Step:
    """Return a step that adds the records of `rrset`. If the RRset already exists, keep its TTL and comment."""

    def step(current: RRset | None) -> RRset | None:
        if current is None:
            return rrset
        disabled = (*current.disabled, *rdata.not_among(current.type, rrset.disabled, current.rdata))
        texts, notes = (*current.rdata, *rrset.rdata), current.notes.merge_with(rrset.notes)
        return make(current.name, current.type, current.ttl, texts, disabled, current.comment, notes=notes)

    return step


def without(rdata_texts: Collection[str]) -> Step:
    """Return a step that removes records by their canonical rdata, and the RRset if no record is left."""

    def step(current: RRset | None) -> RRset | None:
        return None if current is None else current.without(rdata_texts)

    return step


def publish_patches(  # noqa: PLR0913  # what is published, and what a person confirmed
    *,
    patches: Sequence[Patch],
    acting: Acting,
    accept_warnings: revision.Accepted = True,
    confirmed: bool = True,
    in_transaction: InTransaction = nothing,
    in_pieces: bool = True,
    under: SystemRight | None = None,
) -> Outcome:
    """Publish all patches in one publication, with one revision per zone, or publish none of them.

    Changes to more RRsets than `pieces.PIECE_RRSETS` are published in several publications, after a check of the whole
    change. In between, other people's edits are published, and readers see only some of the changes. Without
    `in_pieces`, there is only one publication. It can be undone as a whole, but other people may have to wait.

    A zone can have only one patch. Raise Unknown for a deleted zone, RevisionMoved for a zone that is not at its
    expected revision, or RightMissing for an RRset that the author is not allowed to change. Raise RuleViolations,
    QuotaExceeded, GuardHolds unless `confirmed`, PublishedInPart if only some publications succeeded, or the errors of
    a patch's `decide`. `in_transaction` runs in the same transaction (the last one), even if nothing changes: its
    writes are committed only if the patches are published. A form sent twice returns the first publication, without
    plans.
    """
    if len({patch.zone.pk for patch in patches}) != len(patches):
        raise ValueError("two patches for one zone")
    try:
        return _publish(
            patches,
            acting=acting,
            accept_warnings=accept_warnings,
            confirmed=confirmed,
            in_transaction=in_transaction,
            in_pieces=in_pieces,
            under=under,
            attempts=1 if any(patch.at_revision is not None for patch in patches) else _ATTEMPTS,
        )
    except Exception as refusal:  # including errors of `decide`, which often refuses a form's second submission
        return Outcome(publication_of_form(acting.form_id, otherwise=refusal), ())


@after_hooks
def _publish(  # noqa: PLR0913  # what is published, and what a person confirmed
    patches: Sequence[Patch],
    *,
    acting: Acting,
    accept_warnings: revision.Accepted,
    confirmed: bool,
    in_transaction: InTransaction,
    in_pieces: bool,
    under: SystemRight | None,
    attempts: int,
) -> Outcome:
    """Implement `publish_patches`. If other people change the zones between pieces, try at most `attempts` times."""
    while True:
        attempts -= 1
        with transaction.atomic(durable=True):
            plans = plan_patches(patches, acting.now, acting.author)
            revision.refuse(plans, acting.author, accept_warnings, under, confirmed=confirmed)
            if not (in_pieces and pieces.is_large(plans)):
                in_transaction()  # before the log, because all publishers wait for its head
                return Outcome(revision.carry_out(plans, acting, under=under), plans)
        try:
            published = pieces.publish_in_pieces(
                plans=plans,
                acting=acting,
                in_transaction=in_transaction,
                expected={patch.zone.pk: patch.at_revision for patch in patches if patch.at_revision is not None},
                under=under,
            )
            return Outcome(published.publication, published.plans)
        except (Conflicts, PublishedInPart) as refusal:
            if not attempts or not isinstance(refusal.__cause__ or refusal, Conflicts):
                raise


def preview_patches(*, patches: Sequence[Patch], author: Author) -> tuple[ZonePlan, ...]:
    """Return the plans that `publish_patches` would carry out now. Write nothing."""
    with transaction.atomic():
        return plan_patches(patches, timezone.now(), author)


def plan_patches(patches: Sequence[Patch], now: datetime, author: Author) -> tuple[ZonePlan, ...]:
    """Lock the zones and return a plan for each patch. Raise Unknown, RevisionMoved, or any error of `decide`."""
    alive = {zone.pk: zone for zone in lock_zones([patch.zone.pk for patch in patches])}
    for patch in patches:
        zone = alive.get(patch.zone.pk)
        if zone is None:
            raise Unknown(patch.zone.name)
        if patch.at_revision is not None and zone.revision != patch.at_revision:
            raise RevisionMoved(zone.name, expected=patch.at_revision, found=zone.revision)
    seen = _read_rrsets(patches, alive)
    edits = {}
    for patch in patches:
        current = _at(patch.names, seen[patch.zone.pk].rrsets)
        result = patch.decide(current)
        changes = (Change(*key, current.get(key), rrset) for key, rrset in result.items())
        edits[patch.zone.pk] = (alive[patch.zone.pk], list(map(Edit, changes)))
    dropping = [patch.zone.pk for patch in patches if patch.drops_signatures]
    return plan_zones(edits, now, seen, dropping=dropping, author=author)


def _read_rrsets(patches: Sequence[Patch], zones: Mapping[int, Zone]) -> dict[int, Seen]:
    """Return the RRsets that each patch reads, and the RRsets at the names above, which the rules need.

    Needs one query for patches with names, and one for patches of whole zones.
    """
    some = {
        patch.zone.pk: (zones[patch.zone.pk].name, with_ancestors(patch.names, zones[patch.zone.pk].name))
        for patch in patches
        if patch.names is not None
    }
    full = [patch.zone.pk for patch in patches if patch.names is None]
    found: dict[int, CurrentRRsets] = {}
    if some:
        found.update(store_rrsets.rrsets_at_names(some))
    if full:
        found.update(store_rrsets.rrsets_of_zones(full))
    return {zone_id: Seen(some[zone_id][1] if zone_id in some else None, rrsets) for zone_id, rrsets in found.items()}


def _at(owner_names: Collection[str] | None, rrsets: CurrentRRsets) -> CurrentRRsets:
    """Return the RRsets at the given names, or all RRsets if `owner_names` is None."""
    if owner_names is None:
        return rrsets
    wanted = set(owner_names)
    return {key: rrset for key, rrset in rrsets.items() if key[0] in wanted}
