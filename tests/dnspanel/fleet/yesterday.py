"""A panel whose zones and log return to an earlier state, as after a restore, while its nodes don't."""

from django.db import connection

_TABLES = (
    "zones_loghead",
    "zones_epoch",
    "zones_publication",
    "zones_zone",
    "zones_rrset",
    "zones_revision",
    "zones_change",
    "zones_signing",
    "zones_signingchange",
    "zones_zonekey",
    "zones_rollover",
    "publish_segment",
    "publish_snapshot",
)
_SEQUENCES = ("zones_zone_id_seq", "zones_zonekey_id_seq", "zones_signing_row_id")


class Yesterday:
    """A copy of the zones, the log and its segments at the time of its creation."""

    def __init__(self) -> None:
        self._rows: dict[str, bytes] = {}
        with connection.cursor() as cursor:
            for table in _TABLES:
                with cursor.copy(f"COPY {table} TO STDOUT") as copy:
                    self._rows[table] = b"".join(bytes(piece) for piece in copy)
            self._last_ids = {}
            for sequence in _SEQUENCES:
                cursor.execute(f"SELECT last_value FROM {sequence}")
                self._last_ids[sequence] = cursor.fetchone()[0]

    def come_back(self) -> None:
        """Restore the copy, including the ids of zones and keys."""
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            for table in _TABLES:
                cursor.execute(f"DELETE FROM {table}")
                with cursor.copy(f"COPY {table} FROM STDIN") as copy:
                    copy.write(self._rows[table])
            for sequence, last in self._last_ids.items():
                cursor.execute("SELECT setval(%s, %s)", [sequence, last])
            cursor.execute("SET session_replication_role = origin")
