"""Command that rebuilds the panel's LMDB from PostgreSQL."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.publish.files.rebuild_files import rebuild_store
from dnspanel.publish.reading.schemas import schemas_in_use
from replication.errors import ReplicationError


class Command(BaseCommand):
    help = "Rebuild the panel's own LMDB from PostgreSQL, and check that it matches the last segment."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--schema", type=int, help="only this PowerDNS schema; default: all in use")

    def handle(self, *args: Any, **options: Any) -> None:
        for schema in [options["schema"]] if options["schema"] else schemas_in_use():
            try:
                position = rebuild_store(schema=schema, now=timezone.now())
            except ReplicationError as exc:
                raise CommandError(f"schema {schema}: {exc}") from exc
            self.stdout.write(
                f"schema {schema}: " + (f"rebuilt at {position}" if position else "nothing published yet")
            )
