"""The errors of audit log destinations, as one tree. Every message can be shown to an administrator.

EvidenceError
├── DestinationRefused    a field of the destination is invalid
├── DestinationUnknown
└── NotSent               the destination did not confirm a batch, which is sent again
"""

from dnspanel.accounts.errors import NotFound
from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext_noop


class EvidenceError(Exception):
    """Base class of errors about destinations. An administrator can fix their causes."""


class DestinationRefused(EvidenceError, FieldsRefused):
    """The destination's settings are invalid. `fields` maps each field to its errors."""


class DestinationUnknown(EvidenceError, NotFound):
    """No destination has this id."""

    text = gettext_noop("Destination not found.")


class NotSent(EvidenceError):
    """A batch wasn't sent or confirmed. `retry_after` is the pause in seconds that the destination requested, or 0."""

    def __init__(self, reason: str, *, retry_after: int = 0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
