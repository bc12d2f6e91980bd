"""Append publications to the log. Each gets the next sequence in its transaction's last step, without gaps. Verbs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring as quoted
from typing import Any
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.db.models import Q

from dnspanel import rehearsal
from dnspanel.accounts.actors.actors import SystemRight, passes_rules, token_of, user_of
from dnspanel.accounts.audit import audit
from dnspanel.database.prepared_statements import prepared_cursor
from dnspanel.database.sql import execute, fetch_one
from dnspanel.texts import in_english
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import HookUnasked, PublishingOnHold
from dnspanel.zones.governance import publish_guards, publish_hooks
from dnspanel.zones.governance.parts import Part, types_changed
from dnspanel.zones.governance.publish_guards import NO_PASSAGE, NOTHING_PASSED, Passage
from dnspanel.zones.models import Publication, RevisionKind
from dnspanel.zones.signals import published
from replication.codec.keys import relative_key
from replication.dns.rrset import Change, json_text
from replication.message_texts import parse_text

InTransaction = Callable[[], object]  # called in a publication's transaction, for the caller's own writes

# True if a rule covers one of the zones. The few rules are read before any zone.
_ABOUT = """(
    r.zone_id = ANY(%(zone_id)s::int[] || %(over)s::int[]) OR (r.zone_id IS NULL AND r.team_id IS NULL AND r.tag = '')
    OR (r.zone_id IS NULL AND EXISTS (
        SELECT FROM zones_zone z
        WHERE z.id = ANY(%(zone_id)s::int[] || %(over)s::int[]) AND (z.team_id = r.team_id OR r.tag = ANY(z.tags))
    ))
)"""
# One statement, so that the row that all publishers wait for is locked for one round trip and the commit. Without
# another query, the statement checks that no rule concerns these changes, and that only hooks that allowed exactly
# these changes cover the zones. For a zone that goes live, it only checks that no rule exists at all: if rules exist,
# finding the parent zone costs a query.
_APPENDING = """
WITH head AS (
    UPDATE zones_loghead SET sequence = sequence + 1 WHERE id = 1 AND held_reason = ''
        AND (%(is_checked)s::boolean OR NOT (
            EXISTS (
                SELECT FROM zones_approvalrule r
                WHERE (%(is_any)s::boolean OR (
                    r.min_changes <= %(most_changes)s::int AND (r.types = '{}' OR r.types && %(types)s::int[])
                )) AND {about}
            )
            OR EXISTS (
                SELECT FROM zones_freeze r
                WHERE (r.repeats <> '' OR (r.starts_at <= %(at)s AND r.ends_at > %(at)s)) AND {about}
            )
            OR (%(is_coming)s::boolean AND (
                EXISTS (SELECT FROM zones_approvalrule) OR EXISTS (SELECT FROM zones_lock)
                OR EXISTS (SELECT FROM zones_freeze WHERE repeats <> '' OR (starts_at <= %(at)s AND ends_at > %(at)s))
                OR EXISTS (SELECT FROM zones_publishhook)
            ))
        ))
        AND (%(is_free)s::boolean OR NOT EXISTS (
            SELECT FROM zones_publishhook r WHERE NOT r.id = ANY(%(hooks)s::int[]) AND {about}
        ))
    RETURNING sequence, epoch
), publication AS (
    INSERT INTO zones_publication (
        sequence, epoch, at, author_id, token_id, channel, reason, form_id, address, request_id, session)
    SELECT sequence, epoch, %(at)s, %(author)s, %(token)s, %(channel)s, %(reason)s, %(form_id)s::uuid,
        %(address)s::inet, %(request_id)s, %(session)s FROM head
    RETURNING sequence
), moved AS (
    SELECT * FROM unnest(%(zone_id)s::int[], %(kind)s::text[], %(number)s::int[], %(serial)s::bigint[],
        %(rrset_count)s::int[], %(added)s::int[], %(changed)s::int[], %(removed)s::int[])
        AS z (zone_id, kind, number, serial, rrset_count, added, changed, removed){limit}
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
""".replace("{about}", _ABOUT)
# The best join depends on the number of zones, but the plan is made without parameters. Most publications have one
# zone, so PostgreSQL plans for this LIMIT.
_APPEND_ONE = _APPENDING.replace("{limit}", " LIMIT 1")
_APPEND = _APPENDING.replace("{limit}", "")


def nothing() -> None:
    """Do nothing. The default for functions that run in a publication's transaction."""


@dataclass(frozen=True, slots=True)
class NewRevision:
    """A publication's effect on one zone, to be stored as a revision."""

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
    *, revisions: Sequence[NewRevision], acting: Acting, passage: Passage = NO_PASSAGE, under: SystemRight | None = None
) -> Publication:
    """Append a publication to the log, create each zone's new revision, and wake the workers on commit.

    All publications use this function. Therefore it enforces approval rules and freezes (with `passage`) and publish
    hooks (with the answers in `publish_hooks`). A system right in `under` can exempt the publication from these checks.
    Even the panel itself (author None) needs such a right. Raise ApprovalNeeded, Frozen, HookRefused or HookUnasked if
    a check fails, and Locked if a lock forbids a new zone.

    This call must be the last step of a transaction, because every other publisher waits until the transaction is
    committed. Raise IntegrityError if an earlier publication used `form_id`. Raise PublishingOnHold and write nothing
    while publishing is on hold.
    """
    author, now = acting.author, acting.now
    parameters = _parameters(revisions, acting)
    is_free = passes_rules(under)
    parameters |= {"is_free": is_free, "hooks": "{}", "over": "{}", **_concern([] if is_free else revisions)}
    passed = NOTHING_PASSED
    appended = _append({**parameters, "is_checked": is_free}, len(revisions))
    if appended is None and not is_free:
        parts = [Part(r.zone_id, r.kind, r.changes) for r in revisions]
        passed = publish_guards.refuse(parts, acting=acting, passage=passage)
        known = {"is_checked": True, "hooks": _array(passed.hooks), "over": _array(passed.over)}
        appended = _append({**parameters, **known}, len(revisions))
    if appended is None:
        hold = parse_text(str(fetch_one("SELECT held_reason FROM zones_loghead")[0]))
        if not hold and not is_free:  # a hook was added just now
            raise HookUnasked((), author, now)
        raise PublishingOnHold(hold)
    rehearsal.note(*revisions)
    publication = _new_publication(*appended, acting)
    if passage != NO_PASSAGE:
        publish_guards.record_passage(passage, publication, [r.zone_id for r in revisions], passed.refusals, author)
    target = f"publication {publication.sequence}"
    publish_hooks.record_answers(passed.answers, target=target, author=author, now=now)
    return publication


def _parameters(revisions: Sequence[NewRevision], acting: Acting) -> dict[str, Any]:
    """Return the parameters of the SQL statement, except those of `_concern`."""
    user, token, origin = user_of(acting.author), token_of(acting.author), audit.origin()
    return {
        "at": acting.now,
        "author": user.pk if user else None,
        "token": token.pk if token else None,
        "channel": acting.channel,
        "reason": in_english(acting.reason),
        "form_id": acting.form_id,
        "address": origin.address,
        "request_id": origin.request_id,
        "session": origin.session_of(),
        **{name: _array([getattr(r, name) for r in revisions]) for name in _COLUMNS},
        "changes": f"[{','.join([_row(r, change) for r in revisions for change in r.changes])}]",
    }


def _new_publication(sequence: int, epoch: UUID, acting: Acting) -> Publication:
    """Return the appended publication as a model instance. Wake the workers on commit."""
    transaction.on_commit(lambda: published.send(sender=Publication, sequence=sequence), robust=True)
    origin = audit.origin()
    return Publication(
        sequence=sequence,
        epoch=epoch,
        at=acting.now,
        author=user_of(acting.author),
        token=token_of(acting.author),
        channel=acting.channel,
        reason=acting.reason,
        form_id=acting.form_id,
        address=origin.address,
        request_id=origin.request_id,
        session=origin.session_of(),
    )


def _concern(revisions: Sequence[NewRevision]) -> dict[str, Any]:
    """Return the SQL parameters that decide whether rules must be checked before these revisions are published."""
    changed = [types_changed(r.changes) for r in revisions if r.kind == RevisionKind.CHANGE]
    return {
        "is_coming": any(r.kind in publish_guards.COMING for r in revisions),
        "is_any": any(r.kind == RevisionKind.DELETE for r in revisions),
        "most_changes": max((types.total() for types in changed), default=0),
        "types": _array({type for types in changed for type in types}),
    }


def _append(parameters: Mapping[str, Any], zones: int) -> tuple[int, UUID] | None:
    """Append the publication to the log in one statement. Return its sequence and epoch.

    Write nothing and return None while publishing is on hold, or if rules must be checked first.
    """
    with prepared_cursor() if zones == 1 else connection.cursor() as cursor:
        cursor.execute(_APPEND_ONE if zones == 1 else _APPEND, parameters)
        appended: tuple[int, UUID] | None = cursor.fetchone()
        return appended


def join_parts(publications: Sequence[Publication]) -> None:
    """Mark these publications (oldest first), and all parts already joined with them, as parts of one write.

    Must be called in the newest publication's transaction. If a write will have several parts, also call this function
    with only the first publication.
    """
    first = publications[0].part_of or publications[0].sequence
    joined = {publication.part_of for publication in publications} - {None, first}
    parts = Publication.objects.filter(Q(pk__in=[each.sequence for each in publications]) | Q(part_of__in=joined))
    parts.update(part_of=first)
    for publication in publications:
        publication.part_of = first


def publication_of_form(form_id: UUID | None, *, otherwise: Exception) -> Publication:
    """Return the publication of the form's first submission. Raise `otherwise` if there was none.

    Call this function after any failure. A second submission always fails, but not always with the same error.
    """
    first = Publication.objects.filter(form_id=form_id).first() if form_id else None
    if first is None:
        raise otherwise
    return first


def open_log(**signal: Any) -> None:
    """Create the log's head, unless it exists. Runs after every `migrate`."""
    execute(
        "INSERT INTO zones_loghead (id, cluster, epoch, sequence) VALUES (1, %s, %s, 0) ON CONFLICT DO NOTHING",
        [uuid4(), uuid4()],
    )


def _array(values: Iterable[int | str]) -> str:
    """Format numbers, or words that need no quotes, as a PostgreSQL array. This is faster than psycopg."""
    return "{" + ",".join(map(str, values)) + "}"


def _row(revision: NewRevision, change: Change) -> str:
    key = relative_key(change.name, revision.zone_name).hex()
    return (
        f'{{"zone_id": {revision.zone_id}, "name": {quoted(change.name)}, "key": "{key}", "type": {change.type}, '
        f'"before": {json_text(change.before)}, "after": {json_text(change.after)}}}'
    )
