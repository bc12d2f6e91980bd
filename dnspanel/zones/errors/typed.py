"""Errors about the fields of one record's value."""

from collections.abc import Mapping

from dnspanel.texts import joined
from dnspanel.zones.errors.zone import ZoneError


class BadFields(ZoneError):
    """Some fields of a value are invalid. `faults` has a message by field ("": the whole value)."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        self.faults = dict(faults)
        super().__init__(joined(" ", self.faults.values()))
