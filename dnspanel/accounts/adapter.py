"""How django-allauth behaves here."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from dnspanel.accounts.sign_ins import record_refusal


class PanelAccountAdapter(DefaultAccountAdapter):
    """Accounts are made by invitation only, and who guesses too often stands in the audit log."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            record_refusal(credentials)
            raise
