"""What an import would do to a zone that exists: the RRsets that change. Pure."""

from collections.abc import Iterable, Mapping

from dnspanel.transfer.documents import ParsedZone, ReadyRRset
from dnspanel.transfer.models import Action
from dnspanel.zones import soa
from replication.dns import rdtypes
from replication.dns.rrset import RRset

Key = tuple[str, int]
Changes = dict[Key, RRset | None]


def changes_of(*, action: str, parsed: ParsedZone, current: Mapping[Key, RRset]) -> Changes:
    """{(name, type): the RRset afterwards, None for gone}; empty if the import changes nothing.

    A merge keeps what the source does not have, and the zone's SOA. A replace
    makes the zone what the source says; of the SOA the serial does not count,
    it only ever moves on. Apex records that were made for want of any in the
    source never replace the zone's own.
    """
    expected = {(ready.name, ready.type): rrset_of(ready) for ready in _relevant_rrsets(parsed, action)}
    changes: Changes = {key: rrset for key, rrset in expected.items() if not _same(current.get(key), rrset)}
    if action == Action.REPLACE:
        kept = {(parsed.name, type) for type in parsed.made}
        changes.update({key: None for key in current if key not in expected and key not in kept})
    return changes


def tally(changes: Mapping[Key, RRset | None], current: Mapping[Key, RRset]) -> tuple[int, int, int]:
    """How many RRsets are (added, changed, removed)."""
    removed = sum(after is None for after in changes.values())
    changed = sum(after is not None and key in current for key, after in changes.items())
    return len(changes) - removed - changed, changed, removed


def rrset_of(ready: ReadyRRset) -> RRset:
    return RRset(ready.name, ready.type, ready.ttl, ready.texts, ready.disabled, ready.comment)


def _relevant_rrsets(parsed: ParsedZone, action: str) -> Iterable[ReadyRRset]:
    """The RRsets of the source itself, without those that the action leaves alone."""
    for ready in parsed.rrsets:
        at_apex = ready.name == parsed.name
        if at_apex and ready.type in parsed.made:
            continue
        if at_apex and ready.type == rdtypes.SOA and action == Action.MERGE:
            continue
        yield ready


def _same(current: RRset | None, expected: RRset) -> bool:
    if current is None:
        return False
    if expected.type == rdtypes.SOA:
        return soa.same(current, expected)
    return current == expected
