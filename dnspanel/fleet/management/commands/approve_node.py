"""Command that approves a node's signing request on the panel's machine, after a comparison of fingerprints."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.fleet.errors import FleetError
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import node_lifecycle


class Command(BaseCommand):
    help = "Sign the certificate that a node's agent requested, and make the node active."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--fingerprint", help="the fingerprint that `join` printed; by default, you are asked")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            node = node_lifecycle.node_by_name(options["name"])
            waiting = node_lifecycle.request_of(node)
            if waiting is not None and node.state == NodeState.AWAITING_APPROVAL:
                self._compare(node, waiting.csr_sha256, options["fingerprint"])
            node_lifecycle.approve(node=node, now=timezone.now(), by=None)
        except FleetError as exc:
            raise CommandError(str(exc)) from exc
        self.stdout.write(f"{node.name} is approved and active.")

    def _compare(self, node: Node, waiting: str, given: str | None) -> None:
        """Show the waiting request's fingerprint. Raise CommandError unless a person confirms that it matches."""
        self.stdout.write(f"The server that wants to join as {node.name} has the fingerprint\n{waiting}")
        if given is None and sys.stdin.isatty():
            given = waiting if input("Did `join` print the same fingerprint? [y/N] ").strip() == "y" else ""
        if given is None:
            raise CommandError(
                f"If `join` printed the same fingerprint, run: approve_node {node.name} --fingerprint {waiting}"
            )
        if given != waiting:
            raise CommandError(f"{node.name} is not approved: `join` printed a different fingerprint on the server.")
