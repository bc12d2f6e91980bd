"""The results of an import."""

from typing import Any

from django.db import connection

from dnspanel.transfer.models import ImportJob, ImportPiece
from dnspanel.zones.models import LogHead, Revision


def content() -> Any:
    """Return a line per zone: serial, revision, and a digest of all its records in canonical order.

    The zone's id has no effect on the digest.
    """
    with connection.cursor() as cursor:
        cursor.execute("""
            SELECT z.name, z.serial, z.revision, md5(string_agg(
                concat_ws('|', r.name, r.type, r.ttl, r.rdata, r.disabled, r.comment), E'\\n'
                ORDER BY r.owner_key, r.type))
            FROM zones_zone z JOIN zones_rrset r ON r.zone_id = z.id WHERE z.deleted_at IS NULL
            GROUP BY z.id ORDER BY z.name""")
        return [" ".join(map(str, row)) for row in cursor.fetchall()]


def counts() -> Any:
    """Return the import's state, the log's sequence, and the numbers of import pieces and revisions."""
    job = ImportJob.objects.get()
    return [job.state, LogHead.objects.get().sequence, ImportPiece.objects.count(), Revision.objects.count()]
