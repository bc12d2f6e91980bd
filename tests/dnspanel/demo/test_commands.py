"""The first administrator's link."""

from io import StringIO
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from dnspanel.accounts import invite

pytestmark = pytest.mark.django_db(transaction=True)


def welcome() -> str:
    out = StringIO()
    call_command("demo_welcome", stdout=out)
    return out.getvalue().strip()


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
    assert welcome().startswith(f"{settings.PANEL_URL}/welcome/")
    assert welcome().startswith(f"{settings.PANEL_URL}/welcome/")


def test_a_panel_with_an_administrator_prints_none() -> None:
    accept(welcome())
    assert welcome() == ""
