"""Remove a user's second factors, for users who lost them and can't ask an administrator."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.accounts.actors.find_people import has_username
from dnspanel.accounts.models import User
from dnspanel.accounts.sign_in.second_factor import reset_second_factor


class Command(BaseCommand):
    help = "Remove all second factors of a person, who then signs in with only the password."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, username: str, **options: Any) -> str:
        user = User.objects.filter(has_username(username)).first()
        if user is None:
            raise CommandError(f"There is no account {username}.")
        reset_second_factor(user=user, by=None, now=timezone.now())
        return f"{user.username} now signs in with only the password. All sessions of this account have ended."
