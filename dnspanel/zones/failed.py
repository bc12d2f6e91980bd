"""A publication that no name server could load: taken back, marked, and given back to its author as a draft. Verbs."""

from datetime import datetime

from dnspanel.accounts.actors import Author
from dnspanel.zones import bulk, draft
from dnspanel.zones.bulk import Beside
from dnspanel.zones.draft import Drafter
from dnspanel.zones.errors import CannotUndo
from dnspanel.zones.history import rrset_after
from dnspanel.zones.merge import Edit
from dnspanel.zones.models import Channel, Draft, Publication, Revision, RevisionKind
from dnspanel.zones.store_rrsets import rrsets_at_names
from replication.dns import rdtypes

_BROUGHT = (RevisionKind.CREATE, RevisionKind.RESTORE)


def take_back(*, sequence: int, reason: str, now: datetime, beside: Beside) -> Publication | None:
    """What this publication changed is as it was, and it is marked with why; return the publication that did it.

    Zones that it brought are in the trash. What others changed since stays.
    None, and no mark, where nothing of it is left to take back. `beside` runs
    in the transaction of each publication that takes back. By the panel itself.
    """

    def mark(inverse: Publication) -> None:
        Publication.objects.filter(pk=sequence).update(failed_reason=reason)
        beside(inverse)

    why = f"Publication {sequence} is taken back: {reason}"
    brought = Revision.objects.filter(publication=sequence, kind__in=_BROUGHT).values_list("zone_id", "zone__revision")
    deleted = None
    if zones := list(brought):
        deleted, _ = bulk.delete_zones(
            zones=zones, author=None, channel=Channel.SYSTEM, now=now, reason=why, confirmed=True, beside=mark
        )
    undone, _ = bulk.undo_zone_changes(
        sequence=sequence, author=None, channel=Channel.SYSTEM, now=now, reason=why, beside=mark
    )
    return undone or deleted


def draft_again(*, publication: Publication, author: Drafter, now: datetime) -> Draft:
    """The author's draft holds once more what this publication changed, as far as the author may change it.

    Raises CannotUndo where there is nothing to hold: it brought zones, which
    are in the trash, or the draft has operations on the same RRsets.
    """
    held: Draft | None = None
    for each in _changed(publication, author):
        edits = _edits(each)
        if edits:
            zone = each.zone
            held = draft.hold_edits(author=author, zone=zone, edits=edits, base_revision=zone.revision, now=now)
    if held is None:
        raise CannotUndo("It changed nothing that a draft could hold; zones that it brought are in the trash.")
    return held


def _changed(publication: Publication, author: Author) -> list[Revision]:
    changes = publication.revisions.filter(kind=RevisionKind.CHANGE, zone__deleted_at=None)
    return list(changes.select_related("zone").order_by("zone__name"))


def _edits(revision: Revision) -> list[Edit]:
    zone = revision.zone
    changes = [c for c in revision.changes.order_by("owner_key", "type") if c.type != rdtypes.SOA]
    there = rrsets_at_names({zone.pk: (zone.name, {change.name for change in changes})})[zone.pk]
    edits = []
    for change in changes:
        now_there, wanted = there.get((change.name, change.type)), rrset_after(change)
        if now_there != wanted:
            edits.append(Edit(None, change.name, change.type, base=now_there, wanted=wanted))
    return edits
