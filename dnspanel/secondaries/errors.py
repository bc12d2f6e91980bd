"""Errors of secondaries, as one tree. Every message can be shown to the person who caused it.

    SecondaryError
    ├── SecondaryUnknown      no such secondary, or this person isn't allowed to see it
    ├── SecondaryRefused      invalid fields of a secondary
    ├── CertificateRefused    an unusable certificate
    ├── KeylessRefused        invalid networks or addresses of a zone
    └── TransferRefused       the secondary doesn't get this zone, or not now

SeesTooLittle is a zones.errors.Forbidden: only people who see every zone are allowed to create a secondary.
"""

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.errors import NotFound
from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.errors import Forbidden, ZoneError


class SecondaryError(Exception):
    """Base class of errors about secondaries. Each message is for a user who can correct the cause."""


class SecondaryUnknown(SecondaryError, NotFound):
    """The secondary doesn't exist, or this person isn't allowed to see it."""

    text = gettext_noop("Secondary not found.")


class SecondaryRefused(SecondaryError, FieldsRefused):
    """A secondary's settings are invalid. `fields` maps each field to its messages."""


class CertificateRefused(SecondaryError):
    """The text is not a certificate, or the certificate cannot be used."""


class KeylessRefused(SecondaryError):
    """The zone can't be opened to these networks, or NOTIFY can't be sent to these addresses (see `field`)."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


class TransferRefused(SecondaryError):
    """The client isn't allowed to transfer this zone, or can't transfer it now."""


class SeesTooLittle(Forbidden):
    """The person or token can change nodes, but can't read every zone in full, as a secondary could."""

    def __init__(self) -> None:
        self.permission = Permission.READ
        ZoneError.__init__(
            self,
            gettext(
                "Secondaries transfer whole zones, so only people who can see all records in every zone can set one up."
            ),
        )
