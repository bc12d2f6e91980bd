"""Show the state of a zone that is transferred from another server, on the zone's pages."""

from dataclasses import dataclass
from datetime import datetime

from dnspanel.primaries.models import TransferredZone
from dnspanel.texts import gettext
from dnspanel.zones.models import Zone


@dataclass(frozen=True, slots=True)
class DisplayTransfer:
    """A transferred zone's source, state and error. `row` is None if the person isn't allowed to see details."""

    zone: Zone
    row: TransferredZone | None

    @property
    def has_come(self) -> bool:
        """True if the zone was transferred at least once. Without `row`, an expired zone counts as not transferred."""
        return self.zone.is_served or (self.row is not None and self.row.serial is not None)

    @property
    def title(self) -> str:
        """The title of the notice: waiting for the first transfer, expired, or else a secondary zone."""
        if not self.has_come:
            return gettext("This zone is waiting for its first transfer")
        if not self.zone.is_served:
            return gettext("This zone has expired, so nodes no longer answer for it")
        return gettext("This is a secondary zone")

    @property
    def look(self) -> str:
        """The CSS class of the notice."""
        if self.has_come and not self.zone.is_served:
            return "is-bad"
        return "is-warn" if self.error else "is-info"

    @property
    def error(self) -> str:
        return "" if self.row is None else self.row.error

    @property
    def serial(self) -> int | None:
        return None if self.row is None else self.row.serial

    @property
    def confirmed_at(self) -> datetime | None:
        """The time when a primary last sent the zone or confirmed its serial, or None if unknown or hidden."""
        return None if self.row is None else self.row.confirmed_at


def transfer_of(zone: Zone, *, closely: bool) -> DisplayTransfer | None:
    """Return the zone's transfer state, with details if `closely`, or None if this panel is its primary."""
    if not zone.transferred_from:
        return None
    row = TransferredZone.objects.filter(pk=zone.pk).first() if closely else None
    return DisplayTransfer(zone, row)
