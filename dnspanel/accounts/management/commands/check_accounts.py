"""Store canonical spellings that accounts lack. List the accounts that only their exact user name or address finds."""

from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from dnspanel.accounts.models import User
from dnspanel.accounts.people.account_keys import fill_keys


class Command(BaseCommand):
    help = (
        "Store missing canonical spellings of user names and mail addresses, and list the accounts that cannot have "
        "one. If several accounts need the same spelling, close all but one, and run the command again."
    )

    def handle(self, *args: Any, **options: Any) -> str:
        with transaction.atomic():
            found = fill_keys(User.objects.all())
        return "\n".join(found) or "Every user name and mail address has its own canonical spelling."
