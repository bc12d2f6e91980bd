"""How django-allauth behaves here."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class PanelAccountAdapter(DefaultAccountAdapter):
    """Accounts are made by invitation only."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False
