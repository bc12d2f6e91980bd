"""Approve a node's signing request from the panel's own machine."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.fleet.errors import FleetError
from dnspanel.fleet.nodes import enroll


class Command(BaseCommand):
    help = "Signs the certificate that a node's agent asks for, and makes the node active."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--fingerprint", help="approve only a request with this SHA-256, as the agent printed it")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            node = enroll.node_by_name(options["name"])
            waiting = enroll.request_of(node)
            if options["fingerprint"] and (waiting is None or waiting.csr_sha256 != options["fingerprint"]):
                raise CommandError(f"{node.name}: the waiting request has another fingerprint.")
            enroll.approve(node=node, now=timezone.now(), by=None)
        except FleetError as exc:
            raise CommandError(str(exc)) from exc
        self.stdout.write(f"{node.name} is active; certificate SHA-256 {node.certificate_sha256}")
