"""Errors about saved views."""

from dnspanel.accounts.errors import NotFound
from dnspanel.texts import gettext
from dnspanel.zones.errors.zone import ZoneError


class ViewUnknown(ZoneError, NotFound):
    """There is no such saved view, or this person is not allowed to see it."""

    def __init__(self) -> None:
        super().__init__(gettext("View not found."))


class ViewRefused(ZoneError):
    """A view is empty or has an invalid name or team, or the person has too many views. Nothing was changed."""
