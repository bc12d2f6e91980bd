"""Command that verifies the panel's LMDB and every node against PostgreSQL."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dnspanel.fleet.integrity.lmdb_audit import audit


class Command(BaseCommand):
    help = (
        "Compare the panel's LMDB and every reachable node with PostgreSQL. The code of this check is independent of "
        "the code that publishes. The exit status is 1 if anything differs."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        found = audit(say=lambda message: self.stderr.write(message) if options["verbosity"] > 1 else None)
        if found is None:
            self.stdout.write("Nothing was published yet.")
            return
        self.stdout.write(f"PostgreSQL: {found.zones} zones with {found.rows} rows at sequence {found.sequence}")
        for verdict in found.verdicts:
            for difference in verdict.differences:
                self.stdout.write(f"{verdict.place}: {difference}")
            if verdict.note:
                self.stdout.write(f"{verdict.place}: not compared: {verdict.note}")
            elif not verdict.differences:
                self.stdout.write(f"{verdict.place}: equal")
        if not found.is_equal:
            raise CommandError("The panel repairs nodes within a minute. For its LMDB, run manage.py rebuild_lmdb.")
