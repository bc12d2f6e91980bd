"""Report imported zones whose publication was reverted because name servers couldn't load it. Verbs."""

from collections.abc import Collection
from typing import Any

from django.db.models import F, Q

from dnspanel.texts import gettext
from dnspanel.transfer.documents import SourceFault
from dnspanel.transfer.imports.scan import count_pieces, keep_faults
from dnspanel.transfer.models import CHANGING_ACTIONS, Action, ImportPiece, ImportZone
from dnspanel.zones.models import Revision

# The fault code.
TAKEN_BACK = "taken-back"


def note_taken_back(*, sequence: int, reason: str, **_: Any) -> None:
    """Mark an import's zones in this publication as failed, each with an error in the report.

    Runs in the transaction that reverts the publication, so that a report never shows such zones as published.
    """
    for piece in ImportPiece.objects.filter(Q(created_in=sequence) | Q(changed_in=sequence)):
        _fail(piece, (Action.CREATE,) if piece.created_in == sequence else CHANGING_ACTIONS, sequence, reason)


def _fail(piece: ImportPiece, actions: Collection[str], sequence: int, reason: str) -> None:
    published = Revision.objects.filter(publication=sequence).values("zone_id")
    zones = ImportZone.objects.filter(
        job=piece.job_id, piece=piece.number, action__in=actions, zone_id__in=published
    ).order_by("pk")
    text = gettext("Published, then reverted because the name servers couldn’t answer queries for the zone. {reason}")
    faults = [
        SourceFault(path, 0, 0, "", text.format(reason=reason), TAKEN_BACK, zone=name)
        for name, path in zones.values_list("name", "path")
    ]
    keep_faults(piece.job_id, piece.number, faults)
    zones.update(action=Action.FAILED, errors=F("errors") + 1)
    count_pieces(piece.job_id, [piece.number])
