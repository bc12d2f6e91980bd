"""Errors about runs over many zones."""

from dnspanel.accounts.errors import NotFound
from dnspanel.texts import gettext
from dnspanel.zones.errors.zone import ZoneError


class ChangeRunUnknown(ZoneError, NotFound):
    """There is no such run over many zones, or this person is not allowed to see it."""

    def __init__(self) -> None:
        super().__init__(gettext("Run not found."))


class RunUnknown(ZoneError, NotFound):
    """There is no such DNSSEC policy run, or this person is not allowed to see it."""

    def __init__(self) -> None:
        super().__init__(gettext("Policy run not found."))


class RunRefused(ZoneError):
    """A DNSSEC policy run cannot begin, or cannot be canceled."""
