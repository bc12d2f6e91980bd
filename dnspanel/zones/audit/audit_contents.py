"""Read the current content of actions for the chain: audit entries, and publications with each zone's changes.

The `parts` of a publication map each zone id to the digest of the zone's revision. The key `created` has the number of
created zones. When a zone is deleted permanently, its revisions are deleted too. The chain then uses the digest that
was stored earlier. The same applies to publications whose revisions were removed or merged because of their age, up to
the sequence in an audit entry about this (`prune_history`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import BigIntegerField, Count, Max, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from dnspanel.accounts.models import AuditEntry
from dnspanel.zones.audit.audit_chain import RunningDigest, content_of
from dnspanel.zones.log.prune_history import HISTORY_PRUNED
from dnspanel.zones.models import Change, Publication, Revision, RevisionKind, Zone

Parts = dict[str, str | int]

CREATED = "created"
_ENTRY = ("id", "at", "user_id", "token_id", "address", "action", "target", "details", "request_id", "session")
_PUBLICATION = (
    "sequence",
    "epoch",
    "at",
    "author_id",
    "token_id",
    "channel",
    "reason",
    "form_id",
    "address",
    "request_id",
    "session",
)
_REVISION = ("zone_id", "number", "kind", "serial", "added", "changed", "removed")


@dataclass(frozen=True, slots=True)
class ActContent:
    """The digest of an action's whole content and, for a publication, the digests of its parts."""

    digest: bytes
    parts: Parts


def entry_contents(ids: Collection[int]) -> dict[int, ActContent]:
    """Return the digests of these audit entries, keyed by id. Deleted entries are omitted."""
    rows = AuditEntry.objects.filter(pk__in=ids).values(*_ENTRY)
    return {row["id"]: ActContent(content_of(_act_of(row)), {}) for row in rows}


def publication_contents(sequences: Collection[int], noted: Mapping[int, Parts] | None = None) -> dict[int, ActContent]:
    """Return the digests of these publications and their parts, keyed by sequence. Deleted publications are omitted.

    `noted` maps sequences to earlier parts, which are used for permanently deleted zones.
    """
    parts = _parts_of(sequences)
    if noted:
        _restore_parts_of_gone_zones(parts, noted)
    found = {}
    pruned = _pruned_up_to() if noted else {}
    for row in Publication.objects.filter(pk__in=sequences).values(*_PUBLICATION):
        of_this = parts.get(row["sequence"], {})
        if noted and row["sequence"] <= max(pruned.get("", 0), pruned.get(row["channel"], 0)):
            of_this = noted[row["sequence"]]
        found[row["sequence"]] = ActContent(content_of({**_act_of(row), "parts": of_this}), of_this)
    return found


def _act_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row without an empty session. The hashes of acts from before sessions were recorded stay the same."""
    return {name: value for name, value in row.items() if name != "session" or value}


def _pruned_up_to() -> dict[str, int]:
    """Return the newest sequence whose revisions were removed, by channel ("": all channels)."""
    entries = AuditEntry.objects.filter(action=HISTORY_PRUNED).annotate(
        channel=KeyTextTransform("channel", "details"),
        up_to=Cast(KeyTextTransform("up_to", "details"), BigIntegerField()),
    )
    return dict(entries.values_list("channel").annotate(Max("up_to")))


def _parts_of(sequences: Collection[int]) -> dict[int, Parts]:
    found: dict[int, Parts] = {}
    revisions = Revision.objects.filter(publication__in=sequences)
    created = revisions.filter(kind=RevisionKind.CREATE).values("publication_id").annotate(count=Count("pk"))
    for sequence, count in created.values_list("publication_id", "count"):
        found[sequence] = {CREATED: count}
    others = {
        row["id"]: (row["publication_id"], row["zone_id"], RunningDigest({name: row[name] for name in _REVISION}))
        for row in revisions.exclude(kind=RevisionKind.CREATE).values("id", "publication_id", *_REVISION)
    }
    for change in _changes_of(others.keys()).iterator():
        revision_id, *of_change = change
        others[revision_id][2].add(of_change)
    for sequence, zone_id, digest in others.values():
        found.setdefault(sequence, {})[str(zone_id)] = digest.text
    return found


def _changes_of(revision_ids: Collection[int]) -> "QuerySet[Change, tuple[int, str, int, object, object]]":
    changes = Change.objects.filter(revision__in=list(revision_ids)).order_by("revision", "owner_key", "type")
    return changes.values_list("revision_id", "name", "type", "before", "after")


def _restore_parts_of_gone_zones(parts: dict[int, Parts], noted: Mapping[int, Parts]) -> None:
    lacking = {
        (sequence, zone) for sequence, before in noted.items() for zone in before if zone not in parts.get(sequence, {})
    }
    ids = [int(zone) for _, zone in lacking if zone != CREATED]
    live = set(map(str, Zone.objects.filter(pk__in=ids).values_list("pk", flat=True)))
    for sequence, zone in lacking:
        if zone != CREATED and zone not in live:
            parts.setdefault(sequence, {})[zone] = noted[sequence][zone]
    for sequence, before in noted.items():
        # Created zones that were deleted permanently. There cannot be more now than were noted.
        if int(before.get(CREATED, 0)) > int(parts.get(sequence, {}).get(CREATED, 0)):
            parts.setdefault(sequence, {})[CREATED] = before[CREATED]
