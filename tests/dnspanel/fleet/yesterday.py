"""A panel whose zones and log go back to an earlier moment, as after a restored backup, while its nodes do not."""

from django.db import connection

_TABLES = (
    "zones_loghead",
    "zones_epoch",
    "zones_publication",
    "zones_zone",
    "zones_rrset",
    "zones_revision",
    "zones_change",
    "publish_segment",
    "publish_snapshot",
)


class Yesterday:
    """The zones, the log and its segments as they are when this is made."""

    def __init__(self) -> None:
        self._rows: dict[str, bytes] = {}
        with connection.cursor() as cursor:
            for table in _TABLES:
                with cursor.copy(f"COPY {table} TO STDOUT") as copy:
                    self._rows[table] = b"".join(bytes(piece) for piece in copy)
            cursor.execute("SELECT last_value FROM zones_zone_id_seq")
            self._last_id = cursor.fetchone()[0]

    def come_back(self) -> None:
        """They are so again, ids of zones included."""
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            for table in _TABLES:
                cursor.execute(f"DELETE FROM {table}")
                with cursor.copy(f"COPY {table} FROM STDIN") as copy:
                    copy.write(self._rows[table])
            cursor.execute("SELECT setval('zones_zone_id_seq', %s)", [self._last_id])
            cursor.execute("SET session_replication_role = origin")
