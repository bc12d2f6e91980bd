"""Enroll the nodes of a stack."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.demo.fleet import NotEnrolled, enroll_nodes, put_before
from dnspanel.demo.stack import Stack
from dnspanel.fleet.errors import FleetError


class Command(BaseCommand):
    help = "Enroll the nodes of the stack in this directory with the running panel."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", type=Path)

    def handle(self, *args: Any, directory: Path, **options: Any) -> None:
        stack, now = Stack(directory), timezone.now()
        front = stack.front
        try:
            new = enroll_nodes([*stack.servers, *([front] if front else [])], panel=stack.url, now=now)
            if front:
                put_before(front, stack.nodes, now=now)
        except (FleetError, NotEnrolled) as exc:
            raise CommandError(str(exc)) from exc
        names = ", ".join(node.name for node in new)
        self.stdout.write(f"Enrolled {names}." if new else "All nodes were already enrolled.")
