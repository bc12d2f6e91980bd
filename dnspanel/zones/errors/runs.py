"""Errors about runs over many zones."""

from dnspanel.texts import gettext
from dnspanel.zones.errors.zone import ZoneError


class ChangeRunUnknown(ZoneError):
    """There is no such run that changes many zones, or this person is not allowed to see it."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such run that changes zones."))


class RunUnknown(ZoneError):
    """There is no such run of DNSSEC policies, or this person is not allowed to see it."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such run of DNSSEC policies."))


class RunRefused(ZoneError):
    """A run of DNSSEC policies cannot begin, or cannot be canceled."""
