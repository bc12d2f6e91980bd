"""Revert publications that no name server could load, and draft the reverted changes again. Verbs."""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from dnspanel.accounts.actors.actors import SystemRight
from dnspanel.texts import gettext, in_english
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.drafts import draft
from dnspanel.zones.drafts.draft import Drafter
from dnspanel.zones.errors import CannotUndo, RightMissing, TakenBack, Unknown
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.log.signing_log import Decide, sign_within
from dnspanel.zones.models import (
    Channel,
    Publication,
    Revision,
    RevisionKind,
    Rollover,
    SigningChange,
    Zone,
    ZoneKey,
)
from dnspanel.zones.publishing import bulk
from dnspanel.zones.publishing.ready_zones import InTransaction
from dnspanel.zones.publishing.transferred import stop_serving
from dnspanel.zones.rights import access
from dnspanel.zones.signals import publication_taken_back
from dnspanel.zones.store.store_rrsets import rrsets_at_names
from dnspanel.zones.store.stored_changes import rrset_after
from replication.dns import rdtypes
from replication.dns.rrset import Change

_BROUGHT = (RevisionKind.CREATE, RevisionKind.RESTORE)


def take_back(*, sequence: int, reason: str, now: datetime, in_transaction: InTransaction) -> Publication | None:
    """Revert a publication and mark it as failed. Return the last reverting publication.

    Zones that the failed publication created or restored are moved to the trash. If their primary is elsewhere, nodes
    only stop serving them. Later changes stay. Return None and mark nothing if nothing is left to revert.
    `in_transaction` runs in the transaction of each reverting publication. The panel itself is the author.
    """

    def mark(inverse: Publication) -> None:
        _mark(sequence, inverse, reason, now)
        in_transaction(inverse)

    explanation = panel_reasons.TAKEN_BACK.format(sequence=sequence, reason=in_english(reason))
    brought = Revision.objects.filter(publication=sequence, kind__in=_BROUGHT)
    elsewhere = brought.exclude(zone__transferred_from="").values_list("zone_id", flat=True)
    deleted = stop_serving(
        zone_ids=list(elsewhere), channel=Channel.SYSTEM, now=now, reason=explanation, in_transaction=mark
    )
    if zones := list(brought.filter(zone__transferred_from="").values_list("zone_id", "zone__revision")):
        deleted, _ = bulk.delete_zones(
            zones=zones,
            acting=Acting(None, Channel.SYSTEM, now, explanation),
            confirmed=True,
            in_transaction=mark,
            under=SystemRight.REPAIR,
        )
    undone, _ = bulk.undo_zone_changes(
        sequence=sequence,
        acting=Acting(None, Channel.SYSTEM, now, explanation),
        in_transaction=mark,
        under=SystemRight.REPAIR,
    )
    return undone or deleted


def take_back_signing(
    *,
    zone: Zone,
    after: int,
    up_to: int,
    reason: str,
    now: datetime,
    in_transaction: Callable[[Publication, int], object],
) -> Publication | None:
    """Restore the signing that the zone had at the sequence `after`. Return the reverting publication.

    The first publication up to `up_to` that changed the signing is marked as failed with the reason. `in_transaction`
    runs in the same transaction, with the reverting publication and the sequence of the marked publication. The zone's
    key rollovers are cancelled. The panel itself is the author. Return None and mark nothing if no publication changed
    the signing, or if the private part of an old key no longer exists. A change from one NSEC3 chain to another passes
    through NSEC: its second half is a separate publication that isn't returned.
    """
    with transaction.atomic(durable=True):
        changes = SigningChange.objects.filter(zone=zone)
        between = Revision.objects.filter(zone=zone, publication__gt=after, publication__lte=up_to)
        first = between.filter(number__in=changes.values("revision_number")).order_by("number").first()
        if first is None:
            return None
        before = SigningState.from_json(changes.get(revision_number=first.number).before)
        keys, known = {key.id for key in before.keys}, ZoneKey.objects.filter(zone=zone)
        if known.filter(pk__in=keys).exclude(private_encrypted=None).count() < len(keys):
            return None
        known.filter(pk__in=keys).update(deleted_at=None)
        known.filter(deleted_at=None).exclude(pk__in=keys).update(deleted_at=now)
        rollovers = Rollover.objects.filter(zone=zone, ended_at=None)
        rollovers.update(
            ended_at=now,
            is_cancelled=True,
            waits_for=gettext("The rollover’s last step was reverted: {reason}").format(reason=reason),
        )
        of_first = panel_reasons.TAKEN_BACK.format(sequence=first.publication_id, reason=in_english(reason))
        acting = Acting(None, Channel.SYSTEM, now, of_first)

        def take_back(decide: Decide) -> Publication | None:
            return sign_within(zone=zone, decide=decide, acting=acting, action="dnssec.take_back")

        inverse = take_back(lambda _, state: _as(before, state))
        if inverse is not None:
            _mark(first.publication_id, inverse, reason, now)
            in_transaction(inverse, first.publication_id)
        left = queries.signing_of(zone)
    if left != _as(before, left):
        with transaction.atomic(durable=True):
            # If a person has changed the signing since then, keep that change.
            take_back(lambda _, state: _as(before, state) if state == left else state)
    return inverse


def raise_if_taken_back(publication: Publication) -> None:
    """Reload the publication, and raise TakenBack if it, or an earlier part of the same write, was reverted."""
    publication.refresh_from_db(fields=["failed_reason", "failed_at", "taken_back_in"])
    failed = publication if publication.failed_reason else failed_pieces([publication.sequence]).first()
    if failed is not None:
        raise TakenBack(failed.sequence, failed.failed_reason)


def failed_pieces(sequences: Collection[int]) -> "QuerySet[Publication]":
    """Return the reverted publications among `sequences` and the earlier parts of the same writes, in log order."""
    later = Publication.objects.filter(pk__in=sequences, pk__gt=OuterRef("pk"), part_of=OuterRef("part_of"))
    failed = Publication.objects.filter(failed_at__isnull=False)
    return failed.filter(Q(pk__in=sequences) | Exists(later)).order_by("pk")


def _mark(sequence: int, inverse: Publication, reason: str, now: datetime) -> None:
    """Mark a publication as failed, with the reason and the reverting one. Send `publication_taken_back` once."""
    failed = Publication.objects.filter(pk=sequence)
    is_news = failed.filter(failed_reason="").exists()
    failed.update(failed_reason=reason, failed_at=now, taken_back_in=inverse.sequence)
    if is_news:
        publication_taken_back.send(sender=Publication, sequence=sequence, reason=reason)


def _as(wanted: SigningState, state: SigningState) -> SigningState:
    """Return the wanted signing with the current metadata row ids. Omit a due NSEC3 chain, because it may be faulty."""
    return replace(wanted, row_ids={**wanted.row_ids, **state.row_ids}, due_nsec3=None)


def draft_again(*, publication: Publication, author: Drafter, now: datetime) -> bool:
    """Draft the changes of a reverted publication again, in all its zones or in none.

    Leave out changes that the author is not allowed to see or make. Return True if no change was left out. Raise
    CannotUndo if nothing is left, for example because the publication created the zones. Also raise it if the draft
    already changes one of the RRsets.
    """
    zones, is_complete = [], True
    for each in _changes_of(publication):
        changes = _changes_again(each)
        allowed = _allowed_changes(author, each.zone, changes)
        is_complete = is_complete and len(allowed) == len(changes)
        if allowed:
            zones.append(draft.ZoneChanges(each.zone, allowed, each.zone.revision))
    if not zones and not is_complete:
        raise CannotUndo(gettext("You aren’t allowed to make the changes of this publication."))
    if not zones:
        raise CannotUndo(
            gettext(
                "The publication doesn’t have changes that fit into a draft. Zones that it created are in the trash."
            )
        )
    draft.draft_changes(author=author, zones=zones, now=now)
    return is_complete


def _allowed_changes(author: Drafter, zone: Zone, changes: list[Change]) -> list[Change]:
    """Return the changes that the author is allowed to see and make."""
    try:
        access.refuse_unseen(author, zone, changes)
        access.refuse_changes(author, zone, changes)
    except (Unknown, RightMissing):
        return [] if len(changes) == 1 else [one for each in changes for one in _allowed_changes(author, zone, [each])]
    return changes


def _changes_of(publication: Publication) -> list[Revision]:
    changes = publication.revisions.filter(kind=RevisionKind.CHANGE, zone__deleted_at=None)
    return list(changes.select_related("zone").order_by("zone__name"))


def _changes_again(revision: Revision) -> list[Change]:
    """Return changes that restore the RRsets as published by the revision, except the SOA."""
    zone = revision.zone
    rows = [row for row in revision.changes.order_by("owner_key", "type") if row.type != rdtypes.SOA]
    current = rrsets_at_names({zone.pk: (zone.name, {row.name for row in rows})})[zone.pk]
    changes = (Change(row.name, row.type, current.get((row.name, row.type)), rrset_after(row)) for row in rows)
    return [change for change in changes if change.before != change.after]
