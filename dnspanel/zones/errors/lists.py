"""Errors about saved views."""

from dnspanel.texts import gettext
from dnspanel.zones.errors.zone import ZoneError


class ViewUnknown(ZoneError):
    """No such saved view, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such view."))


class ViewRefused(ZoneError):
    """A view cannot be saved so; nothing was changed."""
