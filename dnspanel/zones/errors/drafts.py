"""Errors about drafts with a name."""

from dnspanel.texts import gettext
from dnspanel.zones.errors.zone import ZoneError


class DraftUnknown(ZoneError):
    """No such draft, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such draft."))


class DraftRefused(ZoneError):
    """A draft cannot have this name, be put aside or be taken up as it is; nothing was changed."""
