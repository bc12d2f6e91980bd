"""Command that creates a node, or takes one that hasn't joined yet, and prints a new enrollment code."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.database.field_copies import copy_fields
from dnspanel.fleet.errors import FleetError
from dnspanel.fleet.models import NodeState
from dnspanel.fleet.nodes import node_lifecycle


class Command(BaseCommand):
    help = "Create a node (or with --code-only, use an existing one), and print its one-time enrollment code."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--dns-address", default="127.0.0.1")
        parser.add_argument("--dns-port", type=int, default=53)
        parser.add_argument("--agent-host", default="127.0.0.1")
        parser.add_argument("--agent-port", type=int, default=8533)
        parser.add_argument("--schema", type=int, default=4)
        parser.add_argument("--ring0", action="store_true", help="the canary, which gets each publication first")
        parser.add_argument("--front", action="store_true", help="dnsdist in front of nodes; set them on its page")
        parser.add_argument("--code-only", action="store_true", help="a new code for a node that has not joined")
        parser.add_argument("--revoke", action="store_true", help="with --code-only: revoke the certificate first")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        try:
            if options["code_only"]:
                node = node_lifecycle.node_by_name(options["name"])
                if options["revoke"] and node.state != NodeState.AWAITING_APPROVAL:
                    node = node_lifecycle.revoke(node=node, now=now, by=None)
            else:
                node = node_lifecycle.create_node(
                    copy_fields(node_lifecycle.NodeDescription, options),
                    is_ring0=options["ring0"],
                    is_front=options["front"],
                    now=now,
                    by=None,
                )
            self.stdout.write(node_lifecycle.make_code(node=node, now=now, by=None))
        except FleetError as exc:
            raise CommandError(str(exc)) from exc
