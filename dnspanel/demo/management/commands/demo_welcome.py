"""Print the panel's URL, and a one-time link for the first administrator or an administrator's username."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import timezone

from dnspanel.accounts.models import Role, User
from dnspanel.accounts.people.invite import make_invitation


class Command(BaseCommand):
    help = "Print the panel's address, and a one-time link for the first administrator or an administrator's user name."

    def handle(self, *args: Any, **options: Any) -> str:
        lines = [f"The panel: {settings.PANEL_URL}/"]
        administrators = User.objects.filter(role=Role.ADMINISTRATOR, is_active=True)
        if settings.DEMO_PASSWORD:
            lines += ["Sign in there as one of the demo's people, or with an account of your own."]
            administrators = administrators.exclude(username=f"demo-{Role.ADMINISTRATOR}")
        first = administrators.order_by("pk").values_list("username", flat=True).first()
        if first is None:
            secret = make_invitation(role=Role.ADMINISTRATOR, by=None, now=timezone.now())
            lines += [
                "Open this link once to become the first administrator:",
                f"{settings.PANEL_URL}/welcome/{secret}/",
            ]
        else:
            lines += [f"Sign in with the username {first} and your password, or with any other account."]
            lines += ["No account? `manage.py invite --role administrator` prints a link that creates one."]
        return "\n".join(lines)
