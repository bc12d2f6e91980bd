"""The errors of imports and exports.

TransferError
├── UploadRefused       an upload breaks a limit or is not what it says; carries the limit's name
├── SourceAway          a server does not answer or refuses; worth trying again
├── SourceRefused       a source that cannot be read at all: wrong credentials, unknown format
│   └── ServerRefused   the panel does not connect to this server for this person; carries the field
├── QuotaExceeded        the author, or a team of theirs, has as much as they may have
├── PassphraseRefused   a passphrase that would not hold, or a file that has no place for keys
├── KeyLocked           a sealed key is not opened; carries the `sealed_keys.KeyLock`
└── WrongState          a job is not in the state for what was asked
"""

from dnspanel.texts import gettext


class TransferError(Exception):
    """Base of all; its text is a message for people."""


class UploadRefused(TransferError):
    """An upload, or something inside it, is refused; `limit` names the limit, e.g. `entries`, or is ""."""

    def __init__(self, reason: str, *, limit: str = "") -> None:
        super().__init__(reason)
        self.limit = limit


class SourceAway(TransferError):
    """The server that is read from does not answer."""


class SourceRefused(TransferError):
    """The source cannot be read."""


class ServerRefused(SourceRefused):
    """The panel does not connect there; `field` is where the server was named, or "" where a job finds it out."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


class QuotaExceeded(TransferError):
    """The author, or a team of theirs, has as many imports, or as many bytes of files, as they may have."""


class PassphraseRefused(TransferError):
    """Private keys are not sealed under this passphrase, or not into this kind of file."""


class KeyLocked(TransferError):
    """A sealed key that is not opened; `lock` is a `sealed_keys.KeyLock`."""

    def __init__(self, lock: str) -> None:
        super().__init__(gettext("A sealed key was not opened: {lock}.").format(lock=lock))
        self.lock = lock


class WrongState(TransferError):
    """The job has moved on."""
