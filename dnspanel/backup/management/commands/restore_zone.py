"""The command that restores one zone from an archive."""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.backup.archived_zone import ArchivedZone, read_zone
from dnspanel.backup.errors import BackupError
from dnspanel.backup.restore_zone import ZonePlan, plan_restore, restore_zone
from dnspanel.database.first_rows import first_or
from dnspanel.zones.errors import GuardHolds, ZoneError
from replication.dns import names, rdata
from replication.dns.rrset import RRset
from replication.errors import BadName

MOST_LINES = 200


class Command(BaseCommand):
    help = "Restore one zone from an archive of `backup`. Other zones do not change, and publishing continues."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("zone", metavar="ZONE", help="the name of the zone")
        parser.add_argument("--from", dest="archive", metavar="FILE", required=True, help="the archive")
        parser.add_argument("--dry-run", action="store_true", help="show the changes, and write nothing")
        parser.add_argument("--reason", default="", help="the reason for the history")
        parser.add_argument("--by", metavar="NAME", help="the author, whose rights apply; the default is the panel")
        parser.add_argument("--confirm", action="store_true", help="confirm a change that deletes many records")
        parser.add_argument(
            "--serial",
            type=int,
            help="the highest serial of a secondary; a zone that is created again gets a higher one",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with Path(options["archive"]).open("rb") as file:
                archived = read_zone(file, names.parse(options["zone"]))
            plan = plan_restore(archived)
            self._show(plan)
            if options["dry_run"] or plan.is_nothing:
                self.stdout.write("Nothing was written.")
                return
            published = restore_zone(
                archived=archived,
                author=_person(options["by"]),
                now=timezone.now(),
                reason=options["reason"] or _reason(archived),
                confirmed=options["confirm"],
                serial=options["serial"],
            )
        except GuardHolds as exc:
            reasons = " ".join(reason for zone in exc.zones for reason in zone.reasons)
            raise CommandError(f"{archived.name}: {reasons} Add --confirm to continue.") from exc
        except (BackupError, ZoneError, BadName, OSError) as exc:
            raise CommandError(str(exc)) from exc
        noun = "publication" if len(published) == 1 else "publications"
        numbers = ", ".join(str(publication.sequence) for publication in published)
        self.stdout.write(f"Restored {archived.name} to its state at {archived.manifest.made_at} ({noun} {numbers}).")

    def _show(self, plan: ZonePlan) -> None:
        archived = plan.archived
        self.stdout.write(
            f"Archive of {archived.manifest.made_at}: {archived.name} has {len(archived.rrsets)} RRsets and "
            f"{len(archived.keys)} DNSSEC keys{', and is in the trash' if archived.was_in_trash else ''}."
        )
        if plan.zone is None:
            self.stdout.write("The zone does not exist now. It is created again, with its keys, tags and team.")
        elif plan.is_in_trash:
            self.stdout.write("The zone is in the trash now. It is restored with its own keys and history.")
        elif plan.is_nothing:
            self.stdout.write("The zone already has these records.")
        else:
            self.stdout.write("The zone exists now. Its keys, tags and team do not change.")
        lines = [line for change in plan.changes for line in _lines(change.before, change.after)]
        for line in lines[:MOST_LINES]:
            self.stdout.write(line)
        if len(lines) > MOST_LINES:
            self.stdout.write(f"… and {len(lines) - MOST_LINES} more lines")


def _lines(before: RRset | None, after: RRset | None) -> Iterator[str]:
    for sign, rrset in (("-", before), ("+", after)):
        if rrset is None:
            continue
        for text in rrset.rdata:
            off = "  ; disabled" if text in rrset.disabled else ""
            yield f"{sign} {rrset.name} {rrset.ttl} {rdata.type_to_text(rrset.type)} {text}{off}"


def _person(name: str | None) -> User | None:
    if name is None:
        return None
    return first_or(
        User.objects.filter(username=name, is_active=True), lambda: CommandError(f"No active person is named {name}.")
    )


def _reason(archived: ArchivedZone) -> str:
    return f"restored from the backup of {archived.manifest.made_at}"
