"""Changes that are published at once, past any draft: both APIs, dynamic updates, scripts.

A wish says what is to become of some RRsets of a zone *as a function of what
they are*, because that is only certain once the zone is locked: "add this
record" must not lose one that another writer added a moment before.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction

from dnspanel.accounts.actors import Author
from dnspanel.zones import revision, store_rrsets
from dnspanel.zones.errors import NothingToPublish, RevisionMoved, Unknown, ZoneError
from dnspanel.zones.merge import Edit, Key
from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.plan import Seen, ZonePlan, plan_zones
from dnspanel.zones.revision import Accepted
from dnspanel.zones.sequence_log import publication_of_form
from replication.dns.rrset import RRset, make

There = Mapping[Key, RRset]  # every RRset at the names that a wish asked for
Wanted = Mapping[Key, RRset | None]  # None: gone
Decide = Callable[[There], Wanted]
Step = Callable[[RRset | None], RRset | None]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to become of a zone.

    `decide` gets every RRset at `names` (None: of the whole zone), as the
    locked zone holds them, and returns those that change. It is pure, and
    may raise any ZoneError or ReplicationError to refuse the publication.
    `at_revision`: the zone must be there still.
    """

    zone: Zone
    decide: Decide
    names: Collection[str] | None
    at_revision: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What publishing wishes did: None when everything was so already. `plans` in the order of the wishes."""

    publication: Publication | None
    plans: tuple[ZonePlan, ...]


def wish_of_steps(zone: Zone, steps: Sequence[tuple[Key, Step]], *, at_revision: int | None = None) -> Wish:
    """A wish that takes these steps in their order; several for one RRset build on each other."""

    def decide(there: There) -> Wanted:
        wanted: dict[Key, RRset | None] = {}
        for key, step in steps:
            wanted[key] = step(wanted[key] if key in wanted else there.get(key))
        return wanted

    return Wish(zone, decide, {name for (name, _), _ in steps}, at_revision)


def replaced(rrset: RRset) -> Step:
    """The RRset becomes this one."""
    return lambda now: rrset


def removed(now: RRset | None) -> RRset | None:
    """The RRset is gone."""
    return None


def extended(rrset: RRset) -> Step:
    """The RRset has these records besides; the TTL and comment that it has stay."""

    def step(now: RRset | None) -> RRset | None:
        if now is None:
            return rrset
        disabled = (*now.disabled, *(text for text in rrset.disabled if text not in now.rdata))
        return make(now.name, now.type, now.ttl, (*now.rdata, *rrset.rdata), disabled, now.comment)

    return step


def without(rdata_texts: Collection[str]) -> Step:
    """The RRset lacks these canonical rdata; it is gone when none is left."""

    def step(now: RRset | None) -> RRset | None:
        if now is None:
            return None
        left = tuple(text for text in now.rdata if text not in rdata_texts)
        disabled = tuple(text for text in now.disabled if text in left)
        return replace(now, rdata=left, disabled=disabled) if left else None

    return step


def publish_wishes(
    *,
    wishes: Sequence[Wish],
    author: Author,
    channel: str,
    now: datetime,
    reason: str = "",
    form_id: UUID | None = None,
    accept_warnings: Accepted = True,
    confirmed: bool = True,
) -> Outcome:
    """All these wishes are published, one revision per zone, in one publication; or none is.

    At most one wish per zone. Raises Unknown for a zone that is gone,
    RevisionMoved for one that is not at its revision, RightMissing for an
    RRset that the author may not change, RuleViolations, GuardHolds unless
    `confirmed`, and whatever a wish's `decide` raises. The same form sent
    twice returns the first publication, without plans.
    """
    if len({wish.zone.pk for wish in wishes}) != len(wishes):
        raise ValueError("two wishes for one zone")
    try:
        with transaction.atomic(durable=True):
            plans = plan_wishes(wishes)
            revision.refuse(plans, author, accept_warnings, confirmed)
            publication = revision.carry_out(plans, author, channel, now, reason, form_id)
        return Outcome(publication, plans)
    except (ZoneError, IntegrityError) as refusal:
        return Outcome(publication_of_form(form_id, otherwise=refusal), ())


def change_rrsets(
    *,
    zone: Zone,
    changes: Wanted,
    author: Author,
    channel: str,
    now: datetime,
    reason: str = "",
    form_id: UUID | None = None,
    accept_warnings: Accepted = True,
    confirmed: bool = False,
) -> Publication:
    """These RRsets of the zone are published as given (None: gone). Raises NothingToPublish besides."""
    wish = Wish(zone, lambda there: changes, {name for name, _ in changes})
    outcome = publish_wishes(
        wishes=[wish], author=author, channel=channel, now=now, reason=reason, form_id=form_id,
        accept_warnings=accept_warnings, confirmed=confirmed,
    )  # fmt: skip
    if outcome.publication is None:
        raise NothingToPublish
    return outcome.publication


def preview_wishes(*, wishes: Sequence[Wish]) -> tuple[ZonePlan, ...]:
    """What `publish_wishes` would do now: the same plans, nothing written."""
    with transaction.atomic():
        return plan_wishes(wishes)


def plan_wishes(wishes: Sequence[Wish]) -> tuple[ZonePlan, ...]:
    """The plan of each wish, with the zones locked until the transaction ends; raises as `publish_wishes` does."""
    locked = {zone.pk: zone for zone in revision.locked([wish.zone.pk for wish in wishes])}
    for wish in wishes:
        zone = locked.get(wish.zone.pk)
        if zone is None:
            raise Unknown(wish.zone.name)
        if wish.at_revision is not None and zone.revision != wish.at_revision:
            raise RevisionMoved(zone.name, expected=wish.at_revision, found=zone.revision)
    seen = _seen(wishes, locked)
    edits = {}
    for wish in wishes:
        here = seen[wish.zone.pk].rrsets
        wanted = wish.decide(here)
        changes = [Edit(None, *key, base=here.get(key), wanted=rrset) for key, rrset in wanted.items()]
        edits[wish.zone.pk] = (locked[wish.zone.pk], changes)
    return plan_zones(edits, seen)


def _seen(wishes: Sequence[Wish], zones: Mapping[int, Zone]) -> dict[int, Seen]:
    """What each wish wants to see: by one query for names, and one for whole zones."""
    some = {wish.zone.pk: (zones[wish.zone.pk].name, wish.names) for wish in wishes if wish.names is not None}
    whole = [wish.zone.pk for wish in wishes if wish.names is None]
    found: dict[int, There] = {}
    if some:
        found.update(store_rrsets.rrsets_at_names(some))
    if whole:
        found.update(store_rrsets.rrsets_of_zones(whole))
    return {wish.zone.pk: Seen(wish.names, found[wish.zone.pk]) for wish in wishes}
