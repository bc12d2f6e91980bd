"""The errors of audit log destinations, as one tree. Every message can be shown to an administrator.

EvidenceError
├── DestinationRefused    a field of the destination is not acceptable
├── DestinationUnknown
└── NotSent               the destination did not accept or not confirm it: it is sent again
"""

from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext


class EvidenceError(Exception):
    """The base of errors about destinations. An administrator can read and fix each of them."""


class DestinationRefused(EvidenceError, FieldsRefused):
    """The destination cannot be like this; `fields` maps each field to what is wrong with it."""


class DestinationUnknown(EvidenceError):
    """No destination has this id."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such destination."))


class NotSent(EvidenceError):
    """The destination has not confirmed what it was sent. `retry_after`: the seconds that it wants to be left alone."""

    def __init__(self, reason: str, *, retry_after: int = 0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
