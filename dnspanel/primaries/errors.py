"""What may go wrong with primaries elsewhere, as one tree. Every message can be shown to the person who caused it.

PrimaryError
├── NotTransferred        the zone's primary is this panel
├── PrimariesRefused      a field of the primaries is not acceptable
├── TakeOverRefused       the zone cannot have its primary here, or elsewhere again
└── TransferFailed        a primary gave nothing, or what cannot be served; it changed nothing
"""

from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext


class PrimaryError(Exception):
    """The base of errors about transferred zones. A person can read and fix each of them."""


class NotTransferred(PrimaryError):
    """The zone's primary is this panel."""

    def __init__(self, zone_name: str) -> None:
        super().__init__(
            gettext("{zone_name} is not transferred from elsewhere: its primary is this panel.").format(
                zone_name=zone_name
            )
        )


class PrimariesRefused(PrimaryError, FieldsRefused):
    """The primaries cannot be these; `fields` maps each field to what is wrong with it."""


class TakeOverRefused(PrimaryError):
    """The zone cannot have its primary here, or elsewhere again."""


class TransferFailed(PrimaryError):
    """A transfer failed; the zone is unchanged.

    `is_refused`: the primary's answer is not acceptable, so a person should look at it. Otherwise a later try may
    succeed.
    """

    def __init__(self, reason: str, *, is_refused: bool = False) -> None:
        super().__init__(reason)
        self.is_refused = is_refused
