"""Compute the RRsets that an import changes in an existing zone. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from dnspanel.texts import gettext
from dnspanel.transfer.documents import ParsedZone, ReadyRRset
from dnspanel.transfer.models import Action
from dnspanel.zones.values import soa
from replication.dns import rdata, rdtypes
from replication.dns.rrset import RRset, make, parse_notes, with_spellings_of
from replication.errors import BadRRset

Key = tuple[str, int]
Changes = dict[Key, RRset | None]


def changes_of(*, action: str, parsed: ParsedZone, current: Mapping[Key, RRset]) -> Changes:
    """Return the changed RRsets, keyed by (name, type), with None for a removed RRset. Without changes, return {}.

    The action UNION adds the source's values to the zone's. An RRset that exists on both sides keeps the zone's TTL,
    and the zone's comment unless it is empty. RRSETS takes each RRset of the source unchanged, and keeps the zone's
    other RRsets. Both actions keep the SOA.

    REPLACE makes the zone equal to the source. If only the SOA serial differs, nothing changes, unless the source has
    signatures, because these cover the serial. Apex records that the import created, because the source has none, never
    replace existing ones.

    RRsets that cannot be united (`clashes_of`) stay unchanged.
    """
    expected: dict[Key, RRset] = {}
    for ready in _relevant_rrsets(parsed, action):
        rrset, key = rrset_of(ready), (ready.name, ready.type)
        expected[key] = _merge_values(current[key], rrset) or current[key] if _unites(action, key, current) else rrset
    changes: Changes = {key: rrset for key, rrset in expected.items() if not _same(current.get(key), rrset, parsed)}
    if action == Action.REPLACE:
        kept = {(parsed.name, type) for type in parsed.made}
        changes.update({key: None for key in current if key not in expected and key not in kept})
    return changes


def clashes_of(*, action: str, parsed: ParsedZone, current: Mapping[Key, RRset]) -> Iterator[str]:
    """Yield a message for each source RRset, such as a second CNAME, that UNION can't unite with the zone's RRset."""
    for ready in _relevant_rrsets(parsed, action):
        key = ready.name, ready.type
        if _unites(action, key, current) and _merge_values(current[key], rrset_of(ready)) is None:
            what = f"{rdata.type_to_text(ready.type)} {ready.name}"
            ours, theirs = (", ".join(texts[:3]) for texts in (current[key].rdata, ready.texts))
            yield gettext("{what} can only have one value, but the zone has {ours} and the source has {theirs}").format(
                what=what, ours=ours, theirs=theirs
            )


def tally(changes: Mapping[Key, RRset | None], current: Mapping[Key, RRset]) -> tuple[int, int, int]:
    """Return the numbers of added, changed and removed RRsets."""
    removed = sum(after is None for after in changes.values())
    changed = sum(after is not None and key in current for key, after in changes.items())
    return len(changes) - removed - changed, changed, removed


def values_removed(changes: Mapping[Key, RRset | None], current: Mapping[Key, RRset]) -> int:
    """Count the zone's values that the changes remove, except the SOA's."""
    lost = 0
    for key, after in changes.items():
        if key in current and key[1] != rdtypes.SOA:
            lost += len(rdata.not_among(key[1], current[key].rdata, after.rdata if after else ()))
    return lost


def rrset_of(ready: ReadyRRset) -> RRset:
    notes = parse_notes(ready.notes)
    return RRset(ready.name, ready.type, ready.ttl, ready.texts, ready.disabled, ready.comment, notes)


def _unites(action: str, key: Key, current: Mapping[Key, RRset]) -> bool:
    return action == Action.UNION and key in current


def _merge_values(ours: RRset, theirs: RRset) -> RRset | None:
    """Return `ours` with the values of `theirs` added, or None if the result isn't a valid RRset."""
    new = rdata.not_among(ours.type, theirs.rdata, ours.rdata)
    if not new:
        return ours
    disabled = (*ours.disabled, *(text for text in theirs.disabled if text in new))
    try:
        texts, comment, notes = (*ours.rdata, *new), ours.comment or theirs.comment, ours.notes.merge_with(theirs.notes)
        return make(ours.name, ours.type, ours.ttl, texts, disabled, comment, notes=notes)
    except BadRRset:
        return None


def _relevant_rrsets(parsed: ParsedZone, action: str) -> Iterable[ReadyRRset]:
    """Yield the source's own RRsets, except an SOA that the action leaves unchanged."""
    for ready in parsed.rrsets:
        at_apex = ready.name == parsed.name
        if at_apex and ready.type in parsed.made:
            continue
        if at_apex and ready.type == rdtypes.SOA and action != Action.REPLACE:
            continue
        yield ready


def _same(current: RRset | None, expected: RRset, parsed: ParsedZone) -> bool:
    if current is None:
        return False
    if expected.type == rdtypes.SOA and parsed.signatures is None:
        return soa.same(current, expected)
    return current == with_spellings_of(expected, current)
