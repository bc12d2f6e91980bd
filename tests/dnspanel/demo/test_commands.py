"""Tests of the message at each start: the first administrator's link, or the URL and the account for sign-in."""

from io import StringIO
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.accounts.people import invite
from dnspanel.demo.load import create_demo_people

pytestmark = pytest.mark.django_db(transaction=True)


def welcome() -> str:
    out = StringIO()
    call_command("demo_welcome", stdout=out)
    return out.getvalue().strip()


def link_in(text: str) -> str:
    return text.splitlines()[-1]


def accept(link: str) -> None:
    secret = urlsplit(link).path.strip("/").rpartition("/")[2]
    invite.accept_invitation(
        secret=secret,
        username="first",
        email="first@people.test",
        password="correct horse battery staple",
        now=timezone.now(),
    )


def test_a_panel_without_an_administrator_prints_a_link_at_each_start() -> None:
    for _ in range(2):
        assert welcome().startswith(f"The panel: {settings.PANEL_URL}/\n")
        assert link_in(welcome()).startswith(f"{settings.PANEL_URL}/welcome/")


def test_a_panel_with_an_administrator_prints_where_to_sign_in_and_as_whom() -> None:
    """Regression test: a second `up` printed neither a URL nor an account."""
    accept(link_in(welcome()))
    printed = welcome()
    assert "/welcome/" not in printed
    assert printed.splitlines()[:2] == [
        f"The panel: {settings.PANEL_URL}/",
        "Sign in with the username first and your password, or with any other account.",
    ]


def test_an_administrator_who_cannot_sign_in_is_not_named() -> None:
    accept(link_in(welcome()))
    User.objects.update(is_active=False)
    assert link_in(welcome()).startswith(f"{settings.PANEL_URL}/welcome/")


def test_the_demo_s_own_administrator_does_not_stop_the_first_person_s_link(settings: Any) -> None:
    settings.DEMO_PASSWORD = "0123456789ab"
    create_demo_people(now=timezone.now())
    assert "one of the demo's people" in welcome()
    assert "/welcome/" in link_in(welcome())
