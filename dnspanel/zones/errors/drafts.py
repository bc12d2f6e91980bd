"""Errors about named drafts."""

from dnspanel.accounts.errors import NotFound
from dnspanel.texts import gettext
from dnspanel.zones.errors.zone import ZoneError


class DraftUnknown(ZoneError, NotFound):
    """There is no such draft, or this person is not allowed to see it."""

    def __init__(self) -> None:
        super().__init__(gettext("Draft not found."))


class DraftRefused(ZoneError):
    """A draft cannot get this name, or cannot be saved or resumed in its state. Nothing was changed."""
