"""Print a one-time link that creates an account."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import timezone

from dnspanel.accounts.models import Role
from dnspanel.accounts.people.invite import LIFETIME, make_invitation


class Command(BaseCommand):
    help = "Print a one-time link that creates an account with the given role."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--role", choices=Role.values, default=Role.ADMINISTRATOR.value)

    def handle(self, *args: Any, role: str, **options: Any) -> str:
        secret = make_invitation(role=role, by=None, now=timezone.now())
        self.stderr.write(f"This link creates one {role} and works for {LIFETIME.total_seconds() / 3600:.0f} hours:")
        return f"{settings.PANEL_URL}/welcome/{secret}/"
