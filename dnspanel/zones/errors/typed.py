"""Errors about the form of one value."""

from collections.abc import Mapping

from dnspanel.texts import joined
from dnspanel.zones.errors.zone import ZoneError


class BadFields(ZoneError):
    """Fields of one value, each with its fault; that of the value as a whole has no name."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        self.faults = dict(faults)
        super().__init__(joined(" ", self.faults.values()))
