"""Pages of alert routes: creation, test, change and removal. Answers of mail servers and receivers are displayed."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.alerts import tasks
from dnspanel.alerts.deliver_alerts import deliver_all
from dnspanel.alerts.models import Message, Route
from tests.dnspanel.web.conftest import HTMX, Browser, forget_password
from tests.mailserver import MailServer

FORM = {"name": "on call", "kind": "mail", "address": "ops@people.test", "least": "warning", "time_zone": "UTC"}


@pytest.fixture(autouse=True)
def _wakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the workers' task at once, without a broker."""
    monkeypatch.setattr(
        tasks.tell_route, "apply_async", lambda args, **_: deliver_all(route_id=args[0], clock=timezone.now)
    )


@pytest.fixture
def mail_server(settings: Any) -> Iterator[MailServer]:
    with MailServer() as running:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", running.port
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        yield running


def make(client: Any, **fields: str) -> Any:
    return client.post("/alerts/routes/new/", {**FORM, **fields})


def test_without_a_route_the_page_says_what_one_is(browser: Browser, charlie: User, alice: User) -> None:
    page = browser(charlie).get("/alerts/routes/").content.decode()
    assert "No routes yet" in page
    assert "Only administrators can change notifications." in page
    assert "/alerts/routes/new/" in browser(alice).get("/alerts/routes/").content.decode()


def test_a_route_by_mail_is_made_and_tested_and_the_answer_stands_there(
    browser: Browser, alice: User, mail_server: MailServer
) -> None:
    client = browser(alice)
    answer = make(client, quiet_from="22:00", quiet_until="07:00", time_zone="Europe/Berlin")
    route = Route.objects.get()
    assert answer["Location"] == f"/alerts/routes/{route.pk}/"
    page = client.get(answer["Location"]).content.decode()
    assert "22:00 to 07:00, Europe/Berlin" in page
    assert "No deliveries yet" in page
    assert client.post(f"/alerts/routes/{route.pk}/test/").status_code == 302
    page = client.get(f"/alerts/routes/{route.pk}/").content.decode()
    assert "2.0.0 queued as 0001" in page
    assert len(mail_server.mails) == 1
    assert "delivered" in client.get("/alerts/routes/").content.decode()


def test_a_refusal_stands_there_in_the_mail_servers_words(
    browser: Browser, alice: User, mail_server: MailServer
) -> None:
    client = browser(alice)
    page_of = make(client, address="nobody@people.test")["Location"]
    client.post(f"{page_of}test/")
    page = client.get(page_of).content.decode()
    assert "rejected the recipient: 550 5.1.1 no such mailbox here." in page
    assert "failed" in page
    assert "refused" in client.get("/alerts/routes/").content.decode()


def test_without_a_mail_server_the_page_names_the_variable(browser: Browser, alice: User, settings: Any) -> None:
    settings.EMAIL_HOST = ""
    client = browser(alice)
    assert "PANEL_MAIL_HOST" in client.get("/alerts/routes/new/").content.decode()
    page_of = make(client)["Location"]
    client.post(f"{page_of}test/")
    assert "No mail server is configured. The operator can set PANEL_MAIL_HOST." in client.get(page_of).content.decode()


def test_a_webhook_shows_its_secret_once(browser: Browser, alice: User, settings: Any) -> None:
    settings.OUTBOUND_NETWORKS = ["192.0.2.0/24"]
    client = browser(alice)
    sent = {**FORM, "kind": "webhook", "address": "https://192.0.2.1/hook"}
    made = client.post("/alerts/routes/new/", sent, follow=True)
    secret = re.search(r"whsec_[\w+/=]+", made.content.decode())
    assert secret is not None
    assert made["Cache-Control"] == "no-store"
    route = Route.objects.get()
    assert secret[0] not in client.get(f"/alerts/routes/{route.pk}/").content.decode()
    rotated = client.post(f"/alerts/routes/{route.pk}/rotate/", follow=True)
    assert "whsec_" in rotated.content.decode()
    assert secret[0] not in rotated.content.decode()


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("name", " ", "This field is required."),
        ("address", "nobody", "Enter a valid email address."),
        ("time_zone", "Mars/Olympus", "Time zone not found"),
        ("quiet_from", "22:00", "Enter both the start and the end of quiet hours"),
        ("quiet_from", "late", "Enter a valid time."),
        ("kind", "pigeon", "Select a valid choice."),
    ],
)
def test_what_is_wrong_with_the_form_stands_at_its_field(
    browser: Browser, alice: User, field: str, value: str, words: str
) -> None:
    answer = make(forget_password(browser(alice)), **{field: value})
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not Route.objects.exists()


def test_a_change_and_a_switch_and_an_end(browser: Browser, alice: User) -> None:
    client = browser(alice)
    page_of = make(client)["Location"]
    assert client.post(f"{page_of}change/", {**FORM, "name": "nights", "least": "critical"}).status_code == 302
    assert client.post(f"{page_of}change/", {**FORM, "address": "nobody"}).status_code == 422
    assert "critical alerts only" in client.get(page_of).content.decode()
    client.post(f"{page_of}switch/", {"active": "no"})
    assert "This route is off" in client.get(page_of).content.decode()
    client.post(f"{page_of}switch/", {"active": "yes"})
    assert client.post(f"{page_of}rotate/", follow=True).content.decode().count("Email messages are not signed.") == 1
    assert client.post(f"{page_of}delete/")["Location"] == "/alerts/routes/"
    assert client.get(page_of).status_code == 404
    acts = list(AuditEntry.objects.filter(action__startswith="route.").order_by("pk").values_list("action", flat=True))
    assert acts == ["route.create", "route.change", "route.off", "route.on", "route.delete"]


def test_a_reader_sees_routes_and_changes_nothing(browser: Browser, alice: User, charlie: User) -> None:
    page_of = make(browser(alice))["Location"]
    page = browser(charlie).get(page_of).content.decode()
    assert "Only administrators can change notifications." in page
    assert "Delete" not in page
    for act in ("change", "test", "switch", "rotate", "delete"):
        assert browser(charlie).post(f"{page_of}{act}/").status_code == 403
    assert Route.objects.exists()
    assert not Message.objects.exists()


def test_the_messages_refresh_while_some_wait(browser: Browser, alice: User) -> None:
    client = browser(alice)
    page_of = make(client)["Location"]
    Message.objects.create(route=Route.objects.get(), alert=None, due_at=timezone.now())
    fragment = client.get(page_of, headers=HTMX).content.decode()
    assert 'data-live="2"' in fragment
    assert "<html" not in fragment
    Message.objects.update(sent_at=timezone.now())
    assert "data-live" not in client.get(page_of, headers=HTMX).content.decode()
