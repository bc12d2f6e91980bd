"""Stalls: a schema's log that cannot be encoded any further, and why, for pages to show. Verbs."""

import logging
from datetime import datetime

from dnspanel.publish.models import Stall

logger = logging.getLogger(__name__)


def record_stall(*, schema: int, sequence: int, zone_name: str, message: str, now: datetime) -> None:
    """Say that the schema's log does not get past `sequence`; log it when that is news. Idempotent."""
    known = Stall.objects.filter(schema=schema, sequence=sequence, message=message).update(tried_at=now)
    if known:
        return
    Stall.objects.update_or_create(
        schema=schema,
        defaults={"sequence": sequence, "zone_name": zone_name, "message": message, "tried_at": now},
        create_defaults={
            "sequence": sequence,
            "zone_name": zone_name,
            "message": message,
            "tried_at": now,
            "since": now,
        },
    )
    logger.error("publishing stands still schema=%s sequence=%s: %s", schema, sequence, message)


def clear_stall(*, schema: int) -> None:
    """Say that the schema's log goes on."""
    if Stall.objects.filter(schema=schema).delete()[0]:
        logger.info("publishing goes on schema=%s", schema)


def stalls() -> list[Stall]:
    """Return the stalls, for pages: normally none."""
    return list(Stall.objects.order_by("schema"))
