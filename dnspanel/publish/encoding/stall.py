"""Stalls: errors that stop the encoding of a schema's log. Pages show the stored error. Verbs."""

import logging
from datetime import datetime, timedelta

from dnspanel.publish.models import Stall

# If each attempt fails with a different message (for example another file name), one is logged this often.
SAY_AGAIN = timedelta(minutes=1)

logger = logging.getLogger(__name__)
_logged: dict[tuple[int, int], datetime] = {}  # by schema and sequence; only the publishing process logs stalls


def record_stall(*, schema: int, sequence: int, zone_name: str, message: str, now: datetime) -> None:
    """Record that the schema's log stops at `sequence`, and write the error to the log.

    The same error is logged only once, and different errors at the same sequence at most once per SAY_AGAIN.
    """
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
    logged_at = _logged.get((schema, sequence))
    if logged_at is None or not timedelta(0) <= now - logged_at < SAY_AGAIN:
        _logged[schema, sequence] = now
        logger.error("publishing stands still schema=%s sequence=%s: %s", schema, sequence, message)


def clear_stall(*, schema: int) -> None:
    """Delete the schema's stall, because its log can be encoded again."""
    for key in [key for key in _logged if key[0] == schema]:
        del _logged[key]
    if Stall.objects.filter(schema=schema).delete()[0]:
        logger.info("publishing goes on schema=%s", schema)


def stalls() -> list[Stall]:
    """Return the stalls of all schemas, to show them on pages."""
    return list(Stall.objects.order_by("schema"))
