"""Verify that the audit log matches its chain: no action was changed, removed or inserted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Exists, OuterRef

from dnspanel.accounts.models import AuditEntry
from dnspanel.texts import gettext
from dnspanel.zones.audit.audit_chain import ENTRY, PRUNED, PUBLICATION, first_hash, next_hash
from dnspanel.zones.audit.audit_contents import ActContent, entry_contents, publication_contents
from dnspanel.zones.audit.prune_links import FOLDED
from dnspanel.zones.models import AuditChain, AuditLink, LogHead, Publication

BATCH = 1_000
MOST_FAULTS = 20


class Anchor(NamedTuple):
    """An action's number and hash, stored outside the panel."""

    number: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check: number and hash of the last action checked, waiting actions, up to MOST_FAULTS faults."""

    linked: int
    hash: str
    waiting: int
    faults: tuple[str, ...]


def verify_chain(anchors: Sequence[Anchor] = ()) -> Verdict:
    """Check the whole chain, every action in it, and that no action was inserted. Stop after MOST_FAULTS faults.

    It is also a fault if the chain has another hash than an anchor at that number, or doesn't reach that number. The
    chain was then replaced or cut after the anchor was stored. An anchor of a removed action says nothing.
    """
    kept = {anchor.number: anchor.hash for anchor in anchors}
    faults: list[str] = []
    number, chain = 0, first_hash(LogHead.objects.get().cluster)
    for batch in _batches():
        contents = _contents_of(batch)
        for link in batch:
            faults += _faults_of(link, number, chain, contents.get((link.kind, link.ref)))
            number, chain = link.number, bytes(link.chain)
            if link.kind == PRUNED:
                kept = {at: saved for at, saved in kept.items() if not link.ref <= at < number}
            if number in kept and kept.pop(number) != chain:
                message = gettext("the chain was rewritten: the saved hash for number {number} is different")
                faults.append(message.format(number=number))
        if len(faults) > MOST_FAULTS:
            break
    else:
        message = gettext("the chain ends at {number}, but there is a saved hash for number {lost}")
        faults += [message.format(number=number, lost=lost) for lost in sorted(kept)]
        faults += _left_out()
    return Verdict(number, chain.hex(), _waiting(), tuple(faults[:MOST_FAULTS]))


def _batches() -> Iterator[list[AuditLink]]:
    after = 0
    while batch := list(AuditLink.objects.filter(number__gt=after).order_by("number")[:BATCH]):
        yield batch
        after = batch[-1].number


def _contents_of(batch: Sequence[AuditLink]) -> dict[tuple[str, int], ActContent]:
    entries = entry_contents([link.ref for link in batch if link.kind == ENTRY])
    noted = {link.ref: link.parts for link in batch if link.kind == PUBLICATION}
    found = {(ENTRY, ref): content for ref, content in entries.items()}
    records = AuditEntry.objects.filter(pk__in=[link.parts.get("entry") for link in batch if link.kind == PRUNED])
    ranges = {tuple(each) for entry in records.filter(action=FOLDED) for each in entry.details["ranges"]}
    found |= {
        (PRUNED, link.ref): ActContent(bytes(link.content), {})
        for link in batch
        if link.kind == PRUNED and (link.ref, link.number, link.hash) in ranges
    }
    return found | {(PUBLICATION, ref): content for ref, content in publication_contents(list(noted), noted).items()}


def _faults_of(link: AuditLink, number: int, chain: bytes, found: ActContent | None) -> Iterator[str]:
    what = gettext("{kind} {ref} (number {number})").format(kind=link.kind, ref=link.ref, number=link.number)
    first = link.ref if link.kind == PRUNED else link.number
    if first != number + 1:
        missing = gettext("numbers {first} to {last} are missing from the chain")
        yield missing.format(first=number + 1, last=first - 1)
    if link.kind == PRUNED:
        if found is None or found.digest != chain:
            unrecorded = gettext("numbers {first} to {last} were removed, but no audit entry records this")
            yield unrecorded.format(first=first, last=link.number)
        return
    if found is None:
        yield gettext("{what} is missing").format(what=what)
    elif found.digest != bytes(link.content):
        changed = sorted(zone for zone in {*found.parts, *link.parts} if found.parts.get(zone) != link.parts.get(zone))
        if changed:
            yield gettext("{what} was changed in these zones: {zones}").format(what=what, zones=", ".join(changed[:3]))
        else:
            yield gettext("{what} was changed").format(what=what)
    content = bytes(link.content)
    if next_hash(chain, number=link.number, kind=link.kind, ref=link.ref, content=content) != bytes(link.chain):
        yield gettext("the hash for number {number} doesn’t match the previous number in the chain").format(
            number=link.number
        )


def _left_out() -> Iterator[str]:
    """Yield a fault for each action that was inserted later: it has no link, but the chain is already past its id.

    At most MOST_FAULTS are yielded for each kind of action.
    """
    chain = AuditChain.objects.filter(pk=1).first()
    if chain is None:
        return
    link = AuditLink.objects.filter(ref=OuterRef("pk"))
    entries = AuditEntry.objects.filter(~Exists(link.filter(kind=ENTRY)), pk__lte=chain.floor)
    publications = Publication.objects.filter(~Exists(link.filter(kind=PUBLICATION)), pk__lte=chain.sequence)
    for kind, found in ((ENTRY, entries), (PUBLICATION, publications)):
        message = gettext("{kind} {ref} was added outside the chain")
        yield from (message.format(kind=kind, ref=pk) for pk in found.values_list("pk", flat=True)[:MOST_FAULTS])


def _waiting() -> int:
    """Count the actions that the worker hasn't linked yet."""
    chain = AuditChain.objects.filter(pk=1).first()
    floor, sequence = (chain.floor, chain.sequence) if chain else (0, 0)
    link = AuditLink.objects.filter(kind=ENTRY, ref=OuterRef("pk"))
    entries = AuditEntry.objects.filter(~Exists(link), pk__gt=floor).count()
    return entries + Publication.objects.filter(sequence__gt=sequence).count()
