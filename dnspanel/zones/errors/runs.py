"""Errors about runs over many zones."""

from dnspanel.texts import gettext
from dnspanel.zones.errors.zone import ZoneError


class ChangeRunUnknown(ZoneError):
    """No such run that changes many zones, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such run that changes zones."))


class RunUnknown(ZoneError):
    """No such run, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such run of DNSSEC policies."))


class RunRefused(ZoneError):
    """A run of DNSSEC policies cannot begin, or not be cancelled."""
