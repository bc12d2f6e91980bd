"""Print a one-time link to set a user's password, for users who can't ask an administrator."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.accounts.actors.find_people import has_username
from dnspanel.accounts.errors import AccountError
from dnspanel.accounts.models import User
from dnspanel.accounts.sign_in.password_links import make_password_link


class Command(BaseCommand):
    help = "Print a one-time link to set a person's new password. The link works for a day."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, username: str, **options: Any) -> str:
        user = User.objects.filter(has_username(username)).first()
        if user is None:
            raise CommandError(f"There is no account {username}.")
        if not user.is_active:
            raise CommandError(f"The account {user.username} is closed.")
        try:
            link = make_password_link(user=user, by=None, now=timezone.now())
        except AccountError as exc:
            raise CommandError(str(exc) or f"{user.username} does not sign in with a password.") from exc
        return f"{settings.PANEL_URL}/password/{link}/"
