"""Alert conditions for zones that are transferred from primaries."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from dnspanel.conditions import NO_ZONES, Condition, NamedZones, Reading, Severity, Subject
from dnspanel.primaries.models import TransferredZone
from dnspanel.texts import gettext, gettext_noop, ngettext

KINDS = {"panel.transfers": gettext_noop("Zone transfers from primaries are failing")}

ZONES = """
    SELECT zone_id, 'untransferred' AS kind, coalesce(failed_since, alert_at) AS since, NULL AS nodes
    FROM primaries_transferredzone WHERE alert_at <= %(now)s"""


@dataclass(frozen=True, slots=True)
class TransfersInputs:
    """The zones whose transfers are failing, the first zone's error, and the number of these zones that aren't served.

    Catalogs are never served, so `unserved` doesn't count them.
    """

    late: NamedZones = NO_ZONES
    reason: str = ""
    unserved: int = 0


def read_transfers(now: datetime, reading: Reading) -> TransfersInputs:
    """Return the zones whose transfers are failing, with the first zone's error and the number of unserved zones."""
    late = reading.zones("untransferred")
    if not late.count:
        return TransfersInputs()
    rows = TransferredZone.objects.filter(alert_at__lte=now, zone__deleted_at=None)
    reason = rows.filter(zone__name=late.first[0][0]).values_list("error", flat=True).first()
    return TransfersInputs(late, reason or "", rows.filter(zone__is_served=False, zone__is_catalog=False).count())


def transfer_conditions(inputs: TransfersInputs, now: datetime, is_open: Collection[str] = ()) -> Iterator[Condition]:
    """Yield one condition for all zones whose transfers are failing, or nothing if none is failing."""
    if not inputs.late.count:
        return
    message = gettext("{zones}: transfers from the primaries are failing.").format(zones=inputs.late.message(now))
    if inputs.unserved:
        message = ngettext(
            "{message} {count} zone isn’t served because it has expired or was never transferred.",
            "{message} {count:,} zones aren’t served because they have expired or were never transferred.",
            inputs.unserved,
        ).format(message=message, count=inputs.unserved)
    message = gettext("{message} First error: {reason}").format(message=message, reason=inputs.reason)
    severity = Severity.CRITICAL if inputs.unserved else Severity.WARNING
    yield Condition("panel.transfers", "panel.transfers", severity, message, about=inputs.late.about)


def _times(now: datetime) -> dict[str, datetime]:
    return {"now": now}


SUBJECT = Subject(TransfersInputs, KINDS, read_transfers, transfer_conditions, ZONES, _times)
