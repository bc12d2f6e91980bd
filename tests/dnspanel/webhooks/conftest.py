"""Fixtures of the webhook tests: webhooks to a real receiver on this machine, which the panel is allowed to contact."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dnspanel import outbound
from dnspanel.accounts.models import Role, User
from dnspanel.webhooks import address_guard, hooks
from dnspanel.webhooks.hooks import NewWebhook, WebhookTerms
from dnspanel.webhooks.models import SUBSCRIBABLE
from tests.dnspanel.fleet.conftest import active_node, waiting_node
from tests.dnspanel.webhooks.answering import Answering
from tests.dnspanel.webhooks.receiver import HOST, Receiver, resolve_to
from tests.mailserver import MailServer
from tests.people import NOW, alice, bob, charlie, dora, make_person

__all__ = ["active_node", "alice", "bob", "charlie", "dora", "waiting_node"]

MakeWebhook = Callable[..., NewWebhook]


@pytest.fixture
def member(db: None) -> User:
    """Create Mia, a member who can see only what teams and grants give her."""
    return make_person("mia", Role.MEMBER)


@pytest.fixture
def at_home(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow webhooks to this machine over plain HTTP, and resolve the receiver's name to it."""
    settings.OUTBOUND_NETWORKS, settings.OUTBOUND_HTTP = ["127.0.0.0/8"], True
    real = outbound.resolve_host
    monkeypatch.setattr(
        outbound, "resolve_host", lambda host, port: ["127.0.0.1"] if host == HOST else real(host, port)
    )


@pytest.fixture
def receiver(at_home: None) -> Iterator[Receiver]:
    with Receiver() as running:
        yield running


@pytest.fixture
def answering(at_home: None) -> Iterator[Answering]:
    with Answering() as running:
        yield running


@pytest.fixture
def webhook(db: None) -> MakeWebhook:
    """Return a function that creates a webhook, by default for all events."""

    def make(by: Any, url: str = f"https://{HOST}/hook", *events: str, **terms: Any) -> NewWebhook:
        address = "127.0.0.1" if "127.0.0.0/8" in address_guard.settings.OUTBOUND_NETWORKS else "9.9.9.9"
        return hooks.create_webhook(
            terms=WebhookTerms(url=url, events=events or SUBSCRIBABLE, **terms),
            by=by,
            now=NOW,
            resolve=resolve_to(address),
        )

    return make


@pytest.fixture
def mail_server(settings: Any) -> Iterator[MailServer]:
    """Run a mail server on this machine, and configure it in the panel."""
    with MailServer() as running:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", running.port
        settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.DEFAULT_FROM_EMAIL = "dnspanel <panel@panel.test>"
        yield running
