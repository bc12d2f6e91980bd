"""Command that makes the publisher accept a publication although a zone doesn't validate after it."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from dnspanel.publish.tasks import encode_log
from dnspanel.wake import wake
from dnspanel.zones.dnssec.accepted_breaks import accept_break
from dnspanel.zones.models import Publication


class Command(BaseCommand):
    help = "Allow a stalled publication after which a zone does not validate. The audit log records the reason."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("sequence", type=int, help="the number of the publication, as in the message")
        parser.add_argument("--reason", required=True, help="why you allow the publication; for the audit log")

    def handle(self, *args: Any, **options: Any) -> None:
        publication = Publication.objects.filter(pk=options["sequence"]).first()
        if publication is None or not options["reason"].strip():
            raise CommandError("There is no such publication." if publication is None else "Enter a reason.")
        with transaction.atomic():
            accept_break(publication=publication, by=None, reason=options["reason"], now=timezone.now())
        wake(encode_log)
        self.stdout.write(f"Publication {publication.sequence} is allowed. Publishing continues.")
