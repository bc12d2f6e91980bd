"""Command that verifies the panel's LMDB and every node against PostgreSQL."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dnspanel.fleet.integrity.lmdb_audit import audit


class Command(BaseCommand):
    help = (
        "Works out from PostgreSQL, by other code than that which publishes, what every zone has to be, and compares "
        "the panel's LMDB and every node that can be reached. Ends with status 1 if anything differs."
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
            raise CommandError(
                "Nodes are repaired by themselves within a minute; manage.py rebuild_lmdb makes the panel's LMDB anew."
            )
