"""Create one-time codes for the nodes of `docker-compose.yml`, and approve the nodes."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.demo.container.admit_nodes import NoRequests, admit_nodes
from dnspanel.fleet.errors import FleetError


class Command(BaseCommand):
    help = "Write each node's one-time code into a directory that the node can read, and approve its request."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--codes", type=Path, required=True, help="the directory")
        parser.add_argument("--seconds", type=float, default=600, help="how long to wait for the nodes")
        parser.add_argument("--ring0", metavar="NAME", help="the node that is the canary")
        parser.add_argument("nodes", nargs="+", metavar="NAME=ADDRESS")

    def handle(
        self, *args: Any, codes: Path, nodes: list[str], seconds: float, ring0: str | None, **options: Any
    ) -> None:
        addresses = dict(node.split("=", 1) for node in nodes)
        try:
            admit_nodes(addresses, codes=codes, now=timezone.now(), seconds=seconds, ring0=ring0)
        except (FleetError, NoRequests) as exc:
            raise CommandError(str(exc)) from exc
        self.stdout.write(f"Approved: {', '.join(addresses)}.")
