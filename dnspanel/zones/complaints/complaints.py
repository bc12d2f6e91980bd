"""Check published RRsets in many zones at once, regardless of the rights of users.

Each RRset is checked as if it had just been added to its zone. If a complaint is about a name in another zone, the
result includes that zone's id. The complaint is then shown only to users who are allowed to see that zone.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dnspanel.accounts.actors.actors import Author
from dnspanel.zones.models import Zone
from dnspanel.zones.plan import across_zones
from dnspanel.zones.plan.merge import Edit
from dnspanel.zones.plan.plan import Seen, names_near, plan_zones
from dnspanel.zones.rules.violations import Severity, Violation
from dnspanel.zones.store import store_rrsets
from replication.dns.rrset import Change, Key, RRset

# Violations about the right to add a record, not about the record's content.
_OF_ADDING = frozenset(("key-of-panel", "key-of-other"))
OWN = 0  # in place of another zone's id: the complaint is about the RRset's own zone


@dataclass(frozen=True, slots=True)
class Piece:
    """Some or all of a zone's names, with all RRsets at each of them."""

    zone: Zone
    rrsets: Sequence[RRset]

    @property
    def is_full_zone(self) -> bool:
        return len(self.rrsets) == self.zone.rrset_count


def against(pieces: Collection[Piece], now: datetime) -> dict[int, dict[tuple[Key, int], str]]:
    """Return the worst complaints about RRsets as {zone id: {(RRset's key, other zone's id): message}}.

    The other zone contains the name that the complaint is about. Its id is OWN if no other zone is involved. `pieces`
    has one piece per zone. The number of queries doesn't depend on the number of zones.
    """
    found: dict[int, dict[tuple[Key, int], str]] = {piece.zone.pk: {} for piece in pieces}
    edits = {piece.zone.pk: edits_adding(piece.rrsets) for piece in pieces}
    near = {
        piece.zone.pk: (piece.zone.name, names_near(piece.zone, edits[piece.zone.pk]))
        for piece in pieces
        if not piece.is_full_zone
    }
    around = store_rrsets.rrsets_at_names(near) if near else {}
    by_zone = {piece.zone.pk: (piece.zone, edits[piece.zone.pk]) for piece in pieces}
    for zone_id, violations in violations_of(by_zone, around, now=now, author=None).items():
        found[zone_id] |= {(key, OWN): message for key, message in worst_messages(violations).items()}
    owned = {piece.zone.pk: (piece.zone, piece.rrsets) for piece in pieces}
    for zone_id, violation, into in across_zones.leading_nowhere(owned):
        found[zone_id].setdefault(((violation.name, violation.type), into), violation.message)
    return found


def edits_adding(rrsets: Sequence[RRset]) -> list[Edit]:
    """Return edits that add these RRsets to empty names."""
    return [Edit(Change(rrset.name, rrset.type, None, rrset)) for rrset in rrsets]


def violations_of(
    edits: Mapping[int, tuple[Zone, Sequence[Edit]]],
    around: Mapping[int, Mapping[Key, RRset]],
    *,
    now: datetime,
    author: Author,
) -> dict[int, list[Violation]]:
    """Return the violations in each zone's added RRsets, keyed by zone id, worst first.

    Violations about the right to add a record are ignored. Names that aren't in `around` count as empty. Signatures
    imported with a zone don't cause violations.
    """
    seen = {}
    for zone_id, (_, of_zone) in edits.items():
        added = {edit.change.key for edit in of_zone}
        others = {key: rrset for key, rrset in around.get(zone_id, {}).items() if key not in added}
        seen[zone_id] = Seen(None, others)
    found: dict[int, list[Violation]] = {zone_id: [] for zone_id in edits}
    for plan in plan_zones(edits, now, seen, dropping=list(edits), author=author):
        added = {edit.change.key for edit in edits[plan.zone.pk][1]}
        found[plan.zone.pk] += [v for v in plan.violations if v.code not in _OF_ADDING and (v.name, v.type) in added]
    return found


def worst_messages(violations: Iterable[Violation]) -> dict[Key, str]:
    """Return the first message about each RRset, without notes. `violations` are in order, worst first."""
    found: dict[Key, str] = {}
    for violation in violations:
        if violation.severity != Severity.NOTE:
            found.setdefault((violation.name, violation.type), violation.message)
    return found
