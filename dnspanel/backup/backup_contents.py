"""Read the manifest's data from a database, and check a restored database, in plain SQL over one connection.

The connection isn't Django's. It either reads the snapshot that is being dumped, or is connected to a restored scratch
database.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

Connection = psycopg.Connection[tuple[Any, ...]]

# Tables that are left empty in archives and restored panels. No one should be able to sign in, use an invitation or
# enroll a node with an archive. Rate limits, answers for retries and handled messages are useless later, and questions
# are what people asked for.
LEFT_OUT = (
    "django_session",
    "accounts_session",
    "accounts_invitation",
    "accounts_limits",
    "fleet_enrolmentcode",
    "api_rememberedanswer",
    "gateway_takenmessage",
    "zones_queriedrrset",
    "zones_countingnode",
)

_COUNTED = {
    "zones": "SELECT count(*) FROM zones_zone WHERE deleted_at IS NULL",
    "zones in the trash": "SELECT count(*) FROM zones_zone WHERE deleted_at IS NOT NULL",
    "RRsets": "SELECT count(*) FROM zones_rrset",
    "revisions": "SELECT count(*) FROM zones_revision",
    "changes": "SELECT count(*) FROM zones_change",
    "publications": "SELECT count(*) FROM zones_publication",
    "draft operations": "SELECT count(*) FROM zones_operation",
    "people": "SELECT count(*) FROM accounts_user",
    "tokens": "SELECT count(*) FROM accounts_token",
    "nodes": "SELECT count(*) FROM fleet_node",
    "audit entries": "SELECT count(*) FROM accounts_auditentry",
}

# Old history and publications can be removed up to a sequence that an audit entry has.
_PRUNED = """(SELECT coalesce(max((details->>'up_to')::bigint), 0) FROM accounts_auditentry
    WHERE action IN ('history.prune', 'audit.prune'))"""

# A gap is allowed only at the start of an epoch, which is above all sequences that a node could have seen.
_GAPS = f"""
    SELECT sequence FROM (
        SELECT sequence, lag(sequence, 1, 0::bigint) OVER (ORDER BY sequence) AS before FROM zones_publication
    ) AS log
    WHERE sequence <> before + 1 AND sequence > {_PRUNED} + 1
    AND NOT EXISTS (SELECT FROM zones_epoch e WHERE e.began_after > 0 AND e.began_after = sequence - 1)"""

_HEAD_BEYOND = """
    SELECT h.sequence FROM zones_loghead h
    WHERE h.sequence <> greatest(
        (SELECT coalesce(max(sequence), 0) FROM zones_publication),
        (SELECT coalesce(max(began_after), 0) FROM zones_epoch)
    )"""

_REVISIONS = """
    SELECT z.name FROM zones_zone z LEFT JOIN (
        SELECT DISTINCT ON (zone_id) zone_id, number, serial FROM zones_revision ORDER BY zone_id, number DESC
    ) AS v ON v.zone_id = z.id
    WHERE v.number IS DISTINCT FROM z.revision OR v.serial IS DISTINCT FROM z.serial LIMIT 5"""

_RRSET_COUNTS = """
    SELECT z.name FROM zones_zone z LEFT JOIN (
        SELECT zone_id, count(*) AS rrsets FROM zones_rrset GROUP BY zone_id
    ) AS r ON r.zone_id = z.id
    WHERE coalesce(r.rrsets, 0) <> z.rrset_count LIMIT 5"""

_NUMBERS = f"""
    SELECT zone_id FROM zones_revision WHERE publication_id > {_PRUNED} GROUP BY zone_id
    HAVING max(number) - min(number) + 1 <> count(*) OR (min(number) <> 1 AND {_PRUNED} = 0) LIMIT 5"""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `found` is empty if there is no problem."""

    what: str
    found: str

    @property
    def is_well(self) -> bool:
        return not self.found


def forget_left_out() -> str:
    """Return SQL that empties the tables in LEFT_OUT, if they exist. Archives of old releases contain their rows."""
    tables = ", ".join(f"'{table}'" for table in LEFT_OUT)
    return (
        f"DO $$ DECLARE name text; BEGIN FOREACH name IN ARRAY ARRAY[{tables}] LOOP"
        " IF to_regclass(name) IS NOT NULL THEN EXECUTE format('DELETE FROM %I', name); END IF;"
        " END LOOP; END $$;"
    )


def counts(conn: Connection) -> dict[str, int]:
    """Return the number of rows for each kind of object, such as zones or revisions."""
    return {what: _one(conn, sql) for what, sql in _COUNTED.items()}


def migrations(conn: Connection) -> dict[str, tuple[str, ...]]:
    """Return the names of the migrations that were applied to the database, keyed by app."""
    found: dict[str, list[str]] = {}
    for app, name in conn.execute("SELECT app, name FROM django_migrations ORDER BY app, name").fetchall():
        found.setdefault(app, []).append(name)
    return {app: tuple(names) for app, names in found.items()}


def consistency(conn: Connection) -> Iterator[Finding]:
    """Check conditions that must be true in every database of the panel, and yield the result of each."""
    yield Finding("the log has no gap", _examples(conn, _GAPS))
    yield Finding("the head is the last publication", _examples(conn, _HEAD_BEYOND))
    yield Finding("revisions of every zone are numbered without gaps", _examples(conn, _NUMBERS))
    yield Finding("every zone is at its last revision and serial", _examples(conn, _REVISIONS))
    yield Finding("every zone has the stored number of RRsets", _examples(conn, _RRSET_COUNTS))


def _examples(conn: Connection, sql: str) -> str:
    return ", ".join(str(row[0]) for row in conn.execute(sql).fetchmany(5))


def _one(conn: Connection, sql: str) -> int:
    row = conn.execute(sql).fetchone()
    return int(row[0]) if row else 0
