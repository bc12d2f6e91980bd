"""Change NSEC or NSEC3 in presigned zones, in two publications so that no answer is wrong. Verbs.

PowerDNS builds the chain from the zone's rows, with parameters in another file. The rows and the file can't change at
the same moment, and the panel can't sign an answer for the time between. The first publication therefore *pauses* the
denial of existence: the parameters become unreadable for PowerDNS. It then answers SERVFAIL to clients that need a
proof of non-existence (`test_presigned` in tests/oracle). Resolvers then ask another server. All other answers are
unchanged. The second publication has the rows, signatures and parameters; nodes apply them in this order.
"""

import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction

from dnspanel.accounts.actors.actors import SystemRight
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import signing_of_zones
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.log.sequence_log import NewRevision, append_publication
from dnspanel.zones.log.signing_log import record_states, with_row_ids
from dnspanel.zones.models import Channel, Publication, RevisionKind, Signing, Zone
from dnspanel.zones.store import find_zones
from replication.codec.dnssec import Nsec3

# A node writes this many changed RRsets of a zone, and their rows of the chain, in one transaction.
MOST_AT_ONCE = 3_000
# By then, the process that paused must have died: normally, the second publication follows immediately.
FORGOTTEN_AFTER = timedelta(minutes=5)
_MOST_RESUMED = 500

InTransaction = Callable[[Collection[int]], object]

logger = logging.getLogger(__name__)


def needs_pause(state: SigningState, nsec3: Nsec3 | None, changes: int) -> bool:
    """Return True if the zone is presigned and nodes could mix two chains while they apply the changes.

    Nodes could if the chain changes, or if there are more than MOST_AT_ONCE changes.
    """
    return state.presigned and (state.nsec3 != nsec3 or changes > MOST_AT_ONCE)


def pause_denial(*, zone_ids: Collection[int], acting: Acting, in_transaction: InTransaction) -> Publication | None:
    """Pause the denial of existence in presigned zones. Skip other zones and zones in the trash.

    `in_transaction` runs in the same transaction with the ids of the newly paused zones. Each of them gets a revision,
    but keeps its serial. Return None without calling `in_transaction` if there is nothing to pause.
    """
    return _publish(zone_ids, acting, in_transaction, paused=True)


def resume_denial(*, zone_ids: Collection[int], acting: Acting) -> Publication | None:
    """Resume the denial of existence in paused zones with their current chain. Return None if no zone is paused."""
    return _publish(zone_ids, acting, lambda _: None, paused=False)


def resume_forgotten(*, now: datetime) -> int:
    """Resume the denial of existence in up to _MOST_RESUMED zones paused for FORGOTTEN_AFTER. Return the number."""
    forgotten = Signing.objects.filter(
        state__has_key="paused", changed_at__lte=now - FORGOTTEN_AFTER, zone__deleted_at=None
    )
    zone_ids = list(forgotten.values_list("pk", flat=True)[:_MOST_RESUMED])
    if zone_ids:
        reason = gettext("The change to the NSEC or NSEC3 records wasn’t completed.")
        resume_denial(zone_ids=zone_ids, acting=Acting(None, Channel.SYSTEM, now, reason))
        logger.warning("denial resumed zones=%d", len(zone_ids))
    return len(zone_ids)


def _publish(
    zone_ids: Collection[int], acting: Acting, in_transaction: InTransaction, *, paused: bool
) -> Publication | None:
    with transaction.atomic(durable=True):
        zones = {zone.pk: zone for zone in find_zones.lock_zones(zone_ids)}
        before = {
            zone_id: state
            for zone_id, state in signing_of_zones(list(zones)).items()
            if state.presigned and state.paused != paused
        }
        if not before:
            return None
        after = with_row_ids({zone_id: replace(state, paused=paused) for zone_id, state in before.items()})
        numbers = {zone_id: zones[zone_id].revision + 1 for zone_id in before}
        record_states(
            [(zone_id, numbers[zone_id], before[zone_id], after[zone_id]) for zone_id in before], now=acting.now
        )
        in_transaction(before.keys())
        return append_publication(
            revisions=[_revision(zones[zone_id], numbers[zone_id]) for zone_id in before],
            acting=acting,
            under=SystemRight.SIGNING,
        )


def _revision(zone: Zone, number: int) -> NewRevision:
    return NewRevision(zone.pk, zone.name, RevisionKind.CHANGE, number, zone.serial, zone.rrset_count)
