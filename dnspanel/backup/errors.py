"""The errors that stop a backup or a restore, as one tree. Every message is for the person at the terminal.

BackupError
├── ProgramFailed         a program of PostgreSQL is missing or failed
├── BadArchive            not an archive of this panel, damaged, or of a newer panel
├── WrongKey              PANEL_MASTER_KEY is not the one of the archive
├── DatabaseInUse         the panel's processes are still connected
├── DatabaseNotEmpty      a restore would replace existing data
├── ZoneNotInArchive      the archive has no zone with this name
└── ZoneNotRestorable     one zone cannot be restored
"""

from dnspanel.texts import gettext


class BackupError(Exception):
    """A problem with a backup that an operator can understand and fix."""


class ProgramFailed(BackupError):
    """A program of PostgreSQL is missing or failed. The message contains its stderr."""

    def __init__(self, program: str, reason: str) -> None:
        self.program = program
        super().__init__(f"{program}: {reason}")


class BadArchive(BackupError):
    """The file is not an archive of a panel, is damaged, or comes from a newer panel. Nothing was changed."""

    def __init__(self, reason: str) -> None:
        super().__init__(gettext("This archive can’t be used: {reason} Nothing was changed.").format(reason=reason))


class WrongKey(BackupError):
    """The archive's secrets are encrypted with another PANEL_MASTER_KEY."""

    def __init__(self, *, archive: str, ours: str) -> None:
        super().__init__(
            gettext(
                "The archive comes from a panel with a different PANEL_MASTER_KEY (fingerprint {archive}, not "
                "{ours}). To decrypt the keys in the archive, set that panel’s master key. Nothing was changed."
            ).format(archive=archive, ours=ours)
        )


class DatabaseInUse(BackupError):
    """Processes of the panel are still connected to the database."""

    def __init__(self, who: str) -> None:
        super().__init__(
            gettext("The database is in use by {who}. Stop the panel first. Nothing was changed.").format(who=who)
        )


class DatabaseNotEmpty(BackupError):
    """The database contains data that a restore would replace."""

    def __init__(self, tables: int) -> None:
        super().__init__(
            gettext(
                "The database already has {tables} tables. Use --replace to replace all existing data. Nothing "
                "was changed."
            ).format(tables=tables)
        )


class ZoneNotInArchive(BackupError):
    """The archive has no zone with this name, not even in its trash."""

    def __init__(self, name: str, made_at: str) -> None:
        super().__init__(
            gettext("The archive from {made_at} doesn’t contain the zone {name}. Nothing was changed.").format(
                name=name, made_at=made_at
            )
        )


class ZoneNotRestorable(BackupError):
    """One zone cannot be restored."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            gettext("{name} cannot be restored: {reason} Nothing was changed.").format(name=name, reason=reason)
        )
