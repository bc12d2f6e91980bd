"""Compare the panel's LMDB with PostgreSQL."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from dnspanel.publish.rebuild import audit_store
from replication.errors import ReplicationError


class Command(BaseCommand):
    help = "Compiles every zone of PostgreSQL in full and compares the digests with those of the panel's LMDB."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--schema", type=int, help="only this PowerDNS schema; default: all in use")

    def handle(self, *args: Any, **options: Any) -> None:
        differences = 0
        for schema in [options["schema"]] if options["schema"] else settings.SCHEMAS:
            try:
                audit = audit_store(schema=schema)
            except ReplicationError as exc:
                raise CommandError(f"schema {schema}: {exc}") from exc
            if audit is None:
                self.stdout.write(f"schema {schema}: nothing published yet")
                continue
            for name in audit.different:
                self.stdout.write(f"schema {schema}: {name} differs")
            verdict = "equal to PostgreSQL" if audit.equal else "NOT equal to PostgreSQL"
            self.stdout.write(f"schema {schema}: {audit.zones} zones at sequence {audit.sequence}, {verdict}")
            differences += not audit.equal
        if differences:
            raise CommandError("manage.py rebuild_lmdb makes the panel's LMDB equal again.")
