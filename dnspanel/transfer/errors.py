"""The errors of imports and exports.

TransferError
├── UploadRefused       an upload breaks a limit or does not match its format; has the limit's name
│   └── DiskFull        the panel's disk has no space for the upload
├── SourceAway          a server does not answer or refuses; a later attempt can succeed
├── SourceRefused       a source cannot be read at all: wrong credentials, unknown format
│   └── ServerRefused   the panel must not connect to this server for this person; has the field
├── QuotaExceeded       the author or one of the author's teams has reached a quota
├── PassphraseRefused   a passphrase is too weak, or the file format has no place for keys
├── KeyLocked           a sealed key was not opened; has the `sealed_keys.KeyLock`
└── WrongState          a job's state does not allow the request
"""

from dnspanel.texts import gettext


class TransferError(Exception):
    """Base class of errors in imports and exports. The message is for the user."""


class UploadRefused(TransferError):
    """An upload, or something inside it, is refused. `limit` is the limit's name, such as `entries`, or ""."""

    def __init__(self, reason: str, *, limit: str = "") -> None:
        super().__init__(reason)
        self.limit = limit


class DiskFull(UploadRefused):
    """The panel's disk has no space for the upload, or no inode for another file. The upload can be resumed later."""


class SourceAway(TransferError):
    """The server that an import reads from doesn't answer, or refuses. A later attempt can succeed."""


class SourceRefused(TransferError):
    """The source cannot be read."""


class ServerRefused(SourceRefused):
    """The panel isn't allowed to connect to a server.

    `field` is the form field that names the server, or "" if the address was checked while the job was running.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


class QuotaExceeded(TransferError):
    """The author, or one of the author's teams, has reached a quota: unfinished imports, file bytes, or zones."""


class PassphraseRefused(TransferError):
    """The passphrase is too short or too long, or the file format can't contain keys."""


class KeyLocked(TransferError):
    """A sealed key couldn't be opened. `lock` is a `sealed_keys.KeyLock` with the reason."""

    def __init__(self, lock: str) -> None:
        super().__init__(gettext("An encrypted key couldn’t be decrypted: {lock}.").format(lock=lock))
        self.lock = lock


class WrongState(TransferError):
    """The request isn't possible in the job's current state."""
