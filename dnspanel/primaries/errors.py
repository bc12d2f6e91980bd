"""The errors of transferred zones, as one tree. Every message can be shown to the person who caused the error.

PrimaryError
├── NotTransferred        the zone's primary is this panel
├── PrimariesRefused      a field of the primaries is not acceptable
├── TakeOverRefused       the zone cannot be taken over or given back
└── TransferFailed        a primary sent nothing, or content that cannot be served; nothing has changed
"""

from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext


class PrimaryError(Exception):
    """The base class of errors about transferred zones. Users read the message and can fix the cause."""


class NotTransferred(PrimaryError):
    """The zone's primary is this panel."""

    def __init__(self, zone_name: str) -> None:
        super().__init__(
            gettext("{zone_name} isn’t transferred from another server. This panel is its primary.").format(
                zone_name=zone_name
            )
        )


class PrimariesRefused(PrimaryError, FieldsRefused):
    """The settings of the primaries are invalid. `fields` maps each field to its errors."""


class TakeOverRefused(PrimaryError):
    """The zone can't be taken over, or can't be given back to its primaries."""


class TransferFailed(PrimaryError):
    """A transfer failed, and the zone is unchanged.

    `is_refused` means that the panel refused the primary's answer and that a person has to look at it. Otherwise a
    later attempt can succeed.
    """

    def __init__(self, reason: str, *, is_refused: bool = False) -> None:
        super().__init__(reason)
        self.is_refused = is_refused
