"""How far a zone is that comes from elsewhere, as the pages of the zone display it."""

from dataclasses import dataclass
from datetime import datetime

from dnspanel.primaries.models import TransferredZone
from dnspanel.texts import gettext
from dnspanel.zones.models import Zone


@dataclass(frozen=True, slots=True)
class DisplayTransfer:
    """Where a zone comes from, how far it is, and what is wrong; `row`: None for a person that may not look closer."""

    zone: Zone
    row: TransferredZone | None

    @property
    def has_come(self) -> bool:
        """Whether anything of the zone is here."""
        return self.zone.is_served or (self.row is not None and self.row.serial is not None)

    @property
    def title(self) -> str:
        """Say the worst of it."""
        if not self.has_come:
            return gettext("This zone waits for its first transfer")
        if not self.zone.is_served:
            return gettext("This zone has expired: no node answers for it")
        return gettext("This zone is transferred from elsewhere")

    @property
    def look(self) -> str:
        """Return the class of the strip."""
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
        """When a primary last gave something, or had nothing newer."""
        return None if self.row is None else self.row.confirmed_at


def transfer_of(zone: Zone, *, closely: bool) -> DisplayTransfer | None:
    """Return how far a zone is; None where its primary is this panel.

    `closely`: for people that may change its settings.
    """
    if not zone.transferred_from:
        return None
    row = TransferredZone.objects.filter(pk=zone.pk).first() if closely else None
    return DisplayTransfer(zone, row)
