"""List a zone's problems with the changes that fix them, and put a fix into a person's draft. Verbs."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from dnspanel.accounts.models import User
from dnspanel.texts import ngettext
from dnspanel.zones.builders.builder_pieces import below
from dnspanel.zones.builders.zone_repairs import Repair, missing_records, repair_of, shared_network
from dnspanel.zones.complaints.warned import MOST_CHECKED, complaints
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists.rrset_pages import rrset_page, rrset_rows
from dnspanel.zones.models import Complaint, Zone
from dnspanel.zones.publishing import pointers
from dnspanel.zones.publishing.pointers import ADDRESS_TYPES, Pair
from dnspanel.zones.rights import access
from dnspanel.zones.rules.neighbourhood import targets_of
from dnspanel.zones.rules.violations import SEVERITY_ORDER, Severity, Violation
from replication.codec.keys import name_from_relative_key
from replication.dns import names, rdtypes
from replication.dns.rrset import Change, Key, RRset

_LONGEST_NAME = 240  # of a zone in which `_dmarc` fits


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem in a zone. `changes`, or PTRs for `pairs`, fix the problem. Without both, a person must decide."""

    violation: Violation
    changes: tuple[Change, ...] = ()
    pairs: tuple[Pair, ...] = ()

    @property
    def key(self) -> str:
        """The text that identifies the problem in forms."""
        each = self.violation
        return f"{each.code} {each.name} {each.type} {each.target}".strip()

    @property
    def is_fixable(self) -> bool:
        return bool(self.changes or self.pairs)


@dataclass(frozen=True, slots=True)
class Health:
    """The problems in a zone as its author's draft leaves it, worst first, and the number of checked RRsets."""

    findings: tuple[Finding, ...]
    checked: int
    is_complete: bool  # False if the zone has more RRsets


def health_of(*, zone: Zone, author: User, ttl: int, now: datetime) -> Health:
    """Check a zone with the review's checks, and for records that it lacks. New RRsets in fixes get the TTL `ttl`.

    In a large zone, check the first MOST_CHECKED RRsets and as many RRsets that already have complaints. The number of
    queries doesn't depend on the zone. A note about a wildcard, which only explains a record, is no problem.
    """
    page = rrset_page(zone=zone, author=author, limit=MOST_CHECKED)
    rows = list(page.rows)
    if page.next_after:
        stored = Complaint.objects.filter(zone=zone).values_list("owner_key", "type")[:MOST_CHECKED]
        keys = {(name_from_relative_key(bytes(owner_key), zone.name), type) for owner_key, type in stored}
        rows += rrset_rows(zone=zone, author=author, keys=keys)
    present = {row.change.key: row.change.after for row in rows if row.change.after is not None}
    found = [
        _finding(violation, repair_of(violation, rrset, zone.name, ttl), present)
        for violation in complaints(zone=zone, rrsets=list(present.values()), author=author, now=now)
        if violation.code != "wildcard" and (rrset := present.get((violation.name, violation.type)))
    ]
    found += [*_lacking(zone, author, ttl), *_pointers(zone, author, present)]
    found.sort(key=lambda finding: (SEVERITY_ORDER[finding.violation.severity], finding.key))
    return Health(tuple(found), len(present), not page.next_after)


def draft_fix(*, zone: Zone, author: User, finding: Finding, now: datetime) -> int:
    """Put the fix of a problem into the author's draft. Return the number of changed RRsets.

    Raise the errors of `draft.replace_rrset`.
    """
    if finding.pairs:
        return pointers.bring_in_step(author=author, pairs=finding.pairs, now=now).count
    afters = {change.key: change.after for change in finding.changes}
    return len(draft.change_rrsets(author=author, zone=zone, afters=afters, now=now))


def _finding(violation: Violation, repair: Repair, present: dict[Key, RRset]) -> Finding:
    return Finding(violation, tuple(Change(*key, present.get(key), after) for key, after in repair.items()))


def _lacking(zone: Zone, author: User, ttl: int) -> Iterator[Finding]:
    """Yield the records that the zone lacks, and a warning about name servers in one network. Skip reverse zones."""
    if names.is_within(zone.name, "arpa.") or len(zone.name) > _LONGEST_NAME:
        return
    present = pointers.seen_at(author, {zone.pk: (zone.name, {zone.name, below("_dmarc", zone.name)})})[zone.pk]
    is_top = not access.closest_zones_visible_to(author, [names.parent(zone.name) or names.ROOT])
    for violation, repair in missing_records(zone.name, present, ttl, is_top=is_top):
        yield _finding(violation, repair, present)
    if (servers := present.get((zone.name, rdtypes.NS))) is not None:
        addresses: dict[str, list[str]] = {host: [] for host in targets_of(servers)}
        closest = access.closest_zones_visible_to(author, addresses)
        owners = {each.pk: (each.name, addresses) for each in closest.values()}
        for (name, type), rrset in (
            each for seen in pointers.seen_at(author, owners).values() for each in seen.items()
        ):
            if type in ADDRESS_TYPES and name in addresses:
                addresses[name] += rrset.served
        yield from map(Finding, shared_network(zone.name, addresses))


def _pointers(zone: Zone, author: User, present: dict[Key, RRset]) -> Iterator[Finding]:
    """Yield one problem for all addresses whose PTR is missing or wrong and can be changed by the author."""
    steps = pointers.steps_of(author=author, pairs=pointers.pairs_of(*present.values()))
    if open_pairs := tuple(step.pair for step in steps if step.is_open):
        count = len(open_pairs)
        text = ngettext("{count} address lacks a matching PTR", "{count} addresses lack a matching PTR", count)
        first = open_pairs[0].name
        violation = Violation(Severity.WARNING, "ptr-missing", first, rdtypes.PTR, text.format(count=count))
        yield Finding(violation, pairs=open_pairs)
