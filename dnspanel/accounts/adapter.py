"""How django-allauth behaves here."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone

from dnspanel.accounts.sign_ins import record_refusal, tries_key


class PanelAccountAdapter(DefaultAccountAdapter):
    """Accounts are made by invitation only, and who guesses too often waits, and stands in the audit log."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "too_many_login_attempts": (
            "There were too many wrong passwords. Wait a few minutes; where you have signed in before, others’ tries "
            "do not count."
        )
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Not allauth's, which is the typed name alone: five wrong passwords of a stranger kept its owner out."""
        return tries_key(credentials, self.get_client_ip(request), timezone.now())

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            record_refusal(credentials)
            raise
