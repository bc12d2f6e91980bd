"""Manage the PowerDNS schemas that the publisher writes: those in the settings and those that nodes use. Verbs.

`publish` doesn't know about nodes, so the code that sets a node's schema calls this module.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.conf import settings

from dnspanel.publish.models import UsedSchema
from dnspanel.publish.reading.publisher_session import Connection, planned_once

# 4 for PowerDNS 4.7, 5 for 4.8 and 4.9, 6 for 5.x.
KNOWN = (4, 5, 6)

_USED = "SELECT schema FROM publish_usedschema"


def use_schema(*, schema: int, now: datetime) -> None:
    """Make the publisher write this schema from the next step on."""
    UsedSchema.objects.get_or_create(schema=schema, defaults={"since": now})


def keep_schemas(*, schemas: Collection[int], now: datetime) -> None:
    """Make the publisher write only these schemas and those in the settings. Segments of others stay until pruned."""
    UsedSchema.objects.exclude(schema__in=schemas).delete()
    for schema in schemas:
        use_schema(schema=schema, now=now)


def schemas_in_use() -> list[int]:
    """Return the schemas that the publisher writes. The settings' schemas come first."""
    return _with_settings(UsedSchema.objects.values_list("schema", flat=True))


def read_schemas(conn: Connection) -> list[int]:
    """Return the result of `schemas_in_use`, read over the publisher's own connection."""
    return _with_settings(row[0] for row in planned_once(conn).execute(_USED).fetchall())


def _with_settings(used: Iterable[int]) -> list[int]:
    ours: list[int] = list(settings.SCHEMAS)
    return ours + sorted(set(used) - set(ours))
