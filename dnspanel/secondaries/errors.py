"""Errors of secondaries, as one tree. Every message can be shown to the person who caused it.

SecondaryError
├── SecondaryUnknown      there is no such secondary, or this person cannot see it
├── SecondaryRefused      a field of the secondary is not acceptable
├── CertificateRefused    a certificate cannot be used
├── KeylessRefused        networks or addresses of a zone are not acceptable
└── TransferRefused       it may not transfer this zone, or not now

SeesTooLittle is a zones.errors.Forbidden: only people who see every zone can make a secondary.
"""

from dnspanel.accounts.actors.roles import Permission
from dnspanel.field_faults import FieldsRefused
from dnspanel.texts import gettext
from dnspanel.zones.errors import Forbidden, ZoneError


class SecondaryError(Exception):
    """A problem with a secondary that a person can read and fix."""


class SecondaryUnknown(SecondaryError):
    """No such secondary, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such secondary."))


class SecondaryRefused(SecondaryError, FieldsRefused):
    """The secondary cannot be like this; `fields` maps each field to what is wrong with it."""


class CertificateRefused(SecondaryError):
    """The text is not a certificate, or the certificate cannot be used."""


class KeylessRefused(SecondaryError):
    """A zone cannot be open to these networks, or NOTIFY for it cannot go to these addresses; `field` is which."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


class TransferRefused(SecondaryError):
    """The secondary does not get this zone."""


class SeesTooLittle(Forbidden):
    """The token may change nodes, and does not see all of every zone, which a secondary could transfer."""

    def __init__(self) -> None:
        self.permission = Permission.READ
        ZoneError.__init__(
            self, gettext("A secondary gets whole zones: only who sees all of every zone may set one up.")
        )
