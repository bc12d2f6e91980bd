"""Alert condition for a panel without a recent backup."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max

from dnspanel.backup.models import Backup
from dnspanel.conditions import Condition, Reading, Severity, Subject
from dnspanel.fleet.conditions.condition_inputs import FleetInputs
from dnspanel.texts import duration_text, gettext, gettext_noop

BACKUP_AGE = timedelta(hours=26)

KINDS = {"panel.backup": gettext_noop("Backup is too old")}


@dataclass(frozen=True, slots=True)
class BackupInputs:
    """The time of the newest complete backup, and the time when the panel was set up."""

    backup_at: datetime | None = None
    set_up_at: datetime | None = None


def read_backups(now: datetime, reading: Reading) -> BackupInputs:
    """Return the times of the last backup and of the panel's setup. This takes one query."""
    return BackupInputs(Backup.objects.aggregate(at=Max("at"))["at"], reading.of(FleetInputs).set_up_at)


def backup_conditions(inputs: BackupInputs, now: datetime, is_open: Collection[str] = ()) -> Iterator[Condition]:
    """Yield a condition if the last backup (or the panel's setup, if no backup exists) is older than BACKUP_AGE."""
    safe_at = inputs.backup_at or inputs.set_up_at
    if safe_at is not None and now - safe_at > BACKUP_AGE:
        message = (
            gettext("The panel’s last backup is {time} old.").format(time=duration_text(now - safe_at))
            if inputs.backup_at
            else gettext("The panel doesn’t have a backup.")
        )
        yield Condition("panel.backup", "panel.backup", Severity.WARNING, message)


SUBJECT = Subject(BackupInputs, KINDS, read_backups, backup_conditions)
