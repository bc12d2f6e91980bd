"""The log: every publication gets the next sequence, without gaps, as the last step of its transaction. Verbs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from json.encoder import encode_basestring as quoted
from typing import Any
from uuid import UUID, uuid4

from django.db import connection, transaction

from dnspanel.accounts import audit
from dnspanel.accounts.actors import Author, token_of, user_of
from dnspanel.prepared_statements import prepared_cursor
from dnspanel.zones.errors import PublishingOnHold
from dnspanel.zones.models import Publication
from dnspanel.zones.signals import published
from replication.codec.keys import relative_key
from replication.dns.rrset import Change, RRset

Alongside = Callable[[], object]  # what a caller writes in the transaction of a publication

# One statement, so that the one row that all publishers queue for is locked for one round trip and the commit.
_APPEND = """
WITH head AS (
    UPDATE zones_loghead SET sequence = sequence + 1 WHERE id = 1 AND held_reason = '' RETURNING sequence, epoch
), publication AS (
    INSERT INTO zones_publication (
        sequence, epoch, at, author_id, token_id, channel, reason, form_id, address, request_id)
    SELECT sequence, epoch, %(at)s, %(author)s, %(token)s, %(channel)s, %(reason)s, %(form_id)s::uuid,
        %(address)s::inet, %(request_id)s FROM head
    RETURNING sequence
), moved AS (
    SELECT * FROM unnest(%(zone_id)s::int[], %(kind)s::text[], %(number)s::int[], %(serial)s::bigint[],
        %(rrset_count)s::int[], %(added)s::int[], %(changed)s::int[], %(removed)s::int[])
        AS z (zone_id, kind, number, serial, rrset_count, added, changed, removed)
), zone AS (
    UPDATE zones_zone z SET
        serial = moved.serial, revision = moved.number, rrset_count = moved.rrset_count,
        changed_at = %(at)s, changed_by_id = %(author)s, sequence = publication.sequence
    FROM moved, publication WHERE z.id = moved.zone_id
), revision AS (
    INSERT INTO zones_revision (zone_id, number, publication_id, kind, serial, added, changed, removed)
    SELECT zone_id, number, sequence, kind, serial, added, changed, removed FROM moved, publication
    RETURNING id, zone_id
), change AS (
    INSERT INTO zones_change (revision_id, name, owner_key, type, before, after)
    SELECT revision.id, name, decode(key, 'hex'), type, before, after
    FROM jsonb_to_recordset(%(changes)s::jsonb) AS c (
        zone_id int, name text, key text, type int, before jsonb, after jsonb)
    JOIN revision USING (zone_id)
)
SELECT sequence, epoch FROM head
"""


def nothing() -> None:
    """What is written alongside a publication unless the caller has something."""


@dataclass(frozen=True, slots=True)
class NewRevision:
    """What a publication does to one zone, as its revision records it."""

    zone_id: int
    zone_name: str
    kind: str
    number: int
    serial: int
    rrset_count: int
    added: int = 0
    changed: int = 0
    removed: int = 0
    changes: Sequence[Change] = ()


_COLUMNS = ("zone_id", "kind", "number", "serial", "rrset_count", "added", "changed", "removed")


def append_publication(
    *,
    revisions: Sequence[NewRevision],
    author: Author,
    channel: str,
    now: datetime,
    reason: str,
    form_id: UUID | None,
) -> Publication:
    """The log is one sequence longer, each zone has its new revision, and workers are woken on commit.

    Must be the last step of a transaction: from here to the commit every
    other publisher waits. Raises IntegrityError when `form_id` has published before, and
    PublishingOnHold while publishing is on hold: the same statement sees it, and then writes nothing.
    """
    user, token, origin = user_of(author), token_of(author), audit.origin()
    parameters = {
        "at": now,
        "author": user.pk if user else None,
        "token": token.pk if token else None,
        "channel": channel,
        "reason": reason,
        "form_id": form_id,
        "address": origin.address,
        "request_id": origin.request_id,
        **{name: _array([getattr(r, name) for r in revisions]) for name in _COLUMNS},
        "changes": f"[{','.join([_row(r, change) for r in revisions for change in r.changes])}]",
    }
    # How many zones best are joined depends on their number; of one it does not, and most publications have one.
    with prepared_cursor() if len(revisions) == 1 else connection.cursor() as cursor:
        cursor.execute(_APPEND, parameters)
        appended = cursor.fetchone()
    if appended is None:
        raise PublishingOnHold(_hold_reason())
    sequence, epoch = appended
    transaction.on_commit(lambda: _wake_workers(sequence), robust=True)
    return Publication(
        sequence=sequence,
        epoch=epoch,
        at=now,
        author=user,
        token=token,
        channel=channel,
        reason=reason,
        form_id=form_id,
        address=origin.address,
        request_id=origin.request_id,
    )


def publication_of_form(form_id: UUID | None, *, otherwise: Exception) -> Publication:
    """What this form published when it was sent first; raises `otherwise` if it did not.

    Looked up only when something fails, since a form's second sending always
    fails: whatever stands in its way, the answer is the first one's.
    """
    first = Publication.objects.filter(form_id=form_id).first() if form_id else None
    if first is None:
        raise otherwise
    return first


def open_log(**signal: Any) -> None:
    """The log has its head; one that exists stays as it is. Runs after every `migrate`."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO zones_loghead (id, cluster, epoch, sequence) VALUES (1, %s, %s, 0) ON CONFLICT DO NOTHING",
            [uuid4(), uuid4()],
        )


def _hold_reason() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT held_reason FROM zones_loghead")
        return str(cursor.fetchone()[0])


def _wake_workers(sequence: int) -> None:
    published.send(sender=Publication, sequence=sequence)


def _array(values: Iterable[int | str]) -> str:
    """Numbers or plain words as PostgreSQL reads an array: psycopg would look at each of them for what to quote."""
    return "{" + ",".join(map(str, values)) + "}"


def _row(revision: NewRevision, change: Change) -> str:
    key = relative_key(change.name, revision.zone_name).hex()
    return (
        f'{{"zone_id": {revision.zone_id}, "name": {quoted(change.name)}, "key": "{key}", "type": {change.type}, '
        f'"before": {_content(change.before)}, "after": {_content(change.after)}}}'
    )


def _content(rrset: RRset | None) -> str:
    return "null" if rrset is None else f"{{{rrset.json_members}}}"
