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
    help = "Puts one zone back as an archive of `backup` has it. Everything else stays; nothing is held."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("zone", metavar="ZONE", help="the name of the zone")
        parser.add_argument("--from", dest="archive", metavar="FILE", required=True, help="the archive")
        parser.add_argument("--dry-run", action="store_true", help="show what would change, and write nothing")
        parser.add_argument("--reason", default="", help="why, for the history")
        parser.add_argument("--by", metavar="NAME", help="act as this person, with their rights; else as the panel")
        parser.add_argument("--confirm", action="store_true", help="confirm a change that deletes many records")
        parser.add_argument(
            "--serial", type=int, help="a serial that secondaries know: a zone that is created again begins above it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with Path(options["archive"]).open("rb") as file:
                archived = read_zone(file, names.parse(options["zone"]))
            plan = plan_restore(archived)
            self._show(plan)
            if options["dry_run"] or plan.is_nothing:
                self.stdout.write("nothing was written")
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
            raise CommandError(f"{exc} Give --confirm to do it.") from exc
        except (BackupError, ZoneError, BadName, OSError) as exc:
            raise CommandError(str(exc)) from exc
        numbers = ", ".join(str(publication.sequence) for publication in published)
        self.stdout.write(f"{archived.name} is as it was at {archived.manifest.made_at}: publication {numbers}")

    def _show(self, plan: ZonePlan) -> None:
        archived = plan.archived
        self.stdout.write(
            f"{archived.name} in the archive of {archived.manifest.made_at}: {len(archived.rrsets)} RRsets, "
            f"{len(archived.keys)} DNSSEC keys{', in the trash' if archived.was_in_trash else ''}"
        )
        if plan.zone is None:
            self.stdout.write("there is no such zone now: it is created again, with its keys, tags and team")
        elif plan.is_in_trash:
            self.stdout.write("the zone is in the trash now: it comes back with its own keys and history")
        elif plan.is_nothing:
            self.stdout.write("the zone is so already")
        else:
            self.stdout.write("the zone is there: its keys, tags and team stay as they are now")
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
        User.objects.filter(username=name, is_active=True), lambda: CommandError(f"There is no active person {name}.")
    )


def _reason(archived: ArchivedZone) -> str:
    return f"restored from the backup of {archived.manifest.made_at}"
