"""Print the one-time link that makes the first administrator."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import timezone

from dnspanel.accounts.invite import make_invitation
from dnspanel.accounts.models import Role, User


class Command(BaseCommand):
    help = "Print a one-time link that makes an administrator; nothing where there is one already."

    def handle(self, *args: Any, **options: Any) -> str:
        if User.objects.filter(role=Role.ADMINISTRATOR, is_active=True).exists():
            return ""
        secret = make_invitation(role=Role.ADMINISTRATOR, by=None, now=timezone.now())
        return f"{settings.PANEL_URL}/welcome/{secret}/"
