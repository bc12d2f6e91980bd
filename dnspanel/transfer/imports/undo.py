"""Undo an import: revert its publications, except data that has changed since then. Verbs."""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction

from dnspanel.transfer import job_rights
from dnspanel.transfer.imports.apply_piece import last_sequence
from dnspanel.transfer.models import CHANGING_ACTIONS, Action, ImportJob, ImportPiece, ImportZone, PieceState, State
from dnspanel.zones.acting import Acting
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import Channel, Publication, Revision
from dnspanel.zones.publishing.bulk import delete_zones, undo_zone_changes

UNDONE = "undone"
KEPT = "kept"
_CREATED = (Action.CREATE,)
_CHANGED = CHANGING_ACTIONS


def undo_piece(*, job: ImportJob, piece: ImportPiece, now: datetime) -> None:
    """Revert everything that the piece published. A second call does nothing.

    A zone that the piece created is moved to the trash, unless it has changed since then. In a changed zone, each
    RRset's previous state is restored, unless the RRset has changed since then. The result is recorded for each zone.
    """
    clashes: Collection[str] = ()
    if piece.created_in is not None and piece.created_undone_in is None:
        _delete_created(job, piece, now)
    if piece.changed_in is not None and piece.changed_undone_in is None:
        clashes = _restore_changed(job, piece, now)
    with transaction.atomic(durable=True):
        piece.refresh_from_db(fields=["created_undone_in", "changed_undone_in"])
        _mark(job, piece, _CREATED, undone_in=piece.created_undone_in, clashes=())
        _mark(job, piece, _CHANGED, undone_in=piece.changed_undone_in, clashes=clashes)
        ImportPiece.objects.filter(pk=piece.pk).update(state=PieceState.UNDONE)


def finish_undo(*, job: ImportJob, now: datetime) -> None:
    """Mark the import as undone after all pieces were reverted."""
    ImportJob.objects.filter(pk=job.pk, state=State.UNDOING).update(
        state=State.UNDONE, failure="", ended_at=now, last_sequence=last_sequence(job.pk)
    )


def _delete_created(job: ImportJob, piece: ImportPiece, now: datetime) -> None:
    def note(publication: Publication) -> None:
        ImportPiece.objects.filter(pk=piece.pk).update(created_undone_in=publication.sequence)

    zones = Revision.objects.filter(publication=piece.created_in).values_list("zone_id", "number")
    delete_zones(
        zones=list(zones),
        acting=Acting(job_rights.actor_of_job(job), Channel.IMPORT, now, _reason(job)),
        in_transaction=note,
        confirmed=True,  # a person confirmed the whole undo when it began
    )


def _restore_changed(job: ImportJob, piece: ImportPiece, now: datetime) -> set[str]:
    """Restore the changed zones. Return the names of zones with RRsets that couldn't be restored."""

    def note(publication: Publication) -> None:
        ImportPiece.objects.filter(pk=piece.pk).update(changed_undone_in=publication.sequence)

    assert piece.changed_in is not None
    _, clashes = undo_zone_changes(
        sequence=piece.changed_in,
        acting=Acting(job_rights.actor_of_job(job), Channel.IMPORT, now, _reason(job)),
        in_transaction=note,
    )
    return {zone_name for zone_name, _, _ in clashes}


def _mark(
    job: ImportJob, piece: ImportPiece, actions: Collection[str], *, undone_in: int | None, clashes: Collection[str]
) -> None:
    """Mark each published zone of the piece as undone, or as kept if it wasn't fully reverted."""
    zones = ImportZone.objects.filter(job=job, piece=piece.number, action__in=actions)
    zones.update(undone=KEPT)
    if undone_in is not None:
        taken_back = Revision.objects.filter(publication=undone_in).values("zone_id")
        zones.filter(zone_id__in=taken_back).exclude(name__in=clashes).update(undone=UNDONE)


def _reason(job: ImportJob) -> str:
    return panel_reasons.UNDO_OF_IMPORT.format(number=job.pk, title=job.title)
