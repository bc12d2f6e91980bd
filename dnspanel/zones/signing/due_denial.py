"""Complete changes between two NSEC3 chains that a killed process left unfinished. Verbs.

Rows of two chains must not be mixed. A first publication therefore switches to NSEC and stores the target chain in the
zone's state, and a second publication follows immediately. If the second one is missing after DUE_AFTER, this module
publishes it. If a person chooses another denial of existence in between, nothing is due.
"""

import logging
from datetime import datetime, timedelta

from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.signing_state import DUE_NSEC3
from dnspanel.zones.errors import ZoneError
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.log.signing_log import change_signing
from dnspanel.zones.models import Channel, Signing, Zone

# By then, the process that published the first half must have died.
DUE_AFTER = timedelta(minutes=1)
_MOST_AT_ONCE = 500

logger = logging.getLogger(__name__)


def carry_out_due(*, now: datetime) -> int:
    """Switch up to _MOST_AT_ONCE zones from a temporary NSEC to their due NSEC3 chain. Return the number of zones.

    Each zone gets its own publication, with the panel as the author. Late or repeated calls do no harm.
    """
    due = Signing.objects.filter(
        state__has_key=DUE_NSEC3, changed_at__lte=now - DUE_AFTER, zone__deleted_at=None
    ).select_related("zone")
    count = 0
    for row in due.order_by("changed_at")[:_MOST_AT_ONCE]:
        count += _carry_out(row.zone, now)
    return count


def _carry_out(zone: Zone, now: datetime) -> bool:
    try:
        published = change_signing(
            zones=[zone],
            decide=lambda _, state: state.with_denial(state.due_nsec3) if state.due_nsec3 else state,
            acting=Acting(None, Channel.SYSTEM, now, panel_reasons.DUE_DENIAL),
            action="dnssec.denial",
        )
    except ZoneError as exc:
        logger.warning("NSEC3 is still due zone=%s: %s", zone.name, exc)
        return False
    if published:
        logger.info("NSEC3 carried out zone=%s", zone.name)
    return bool(published)
