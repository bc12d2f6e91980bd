"""Pages of webhooks."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from dnspanel.accounts.models import Role, User
from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.web.access.webhooks import WebhookForm
from dnspanel.webhooks import hooks
from dnspanel.webhooks.errors import AddressRefused
from dnspanel.webhooks.models import Delivery, DeliveryState, Event, Webhook
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone, forget_password
from tests.people import NOW, make_person

URL = "https://93.184.216.34/dns"  # a public address, so that no name is resolved


def filled(**fields: Any) -> dict[str, Any]:
    return {
        "format": "events",
        "url": URL,
        "events": ["publication.saved"],
        "gather_minutes": "0",
        "description": "Chat",
        "form_id": str(uuid4()),
        **fields,
    }


@pytest.fixture
def webhook(bob: User) -> Webhook:
    return Webhook.objects.create(
        owner=bob, url=URL, events=["publication.saved"], secret=encrypt_secret(b"whsec_eA=="), created_at=NOW
    )


@pytest.fixture
def failed(webhook: Webhook) -> Delivery:
    event = Event.objects.create(uid=uuid4(), kind="ping", subject="ping:1", at=NOW)
    return Delivery.objects.create(
        webhook=webhook,
        event=event,
        number=1,
        created_at=NOW,
        state=DeliveryState.FAILED,
        attempts=9,
        status=500,
        error="The receiver returned HTTP status 500.",
        answer="<b>Oops</b>",
    )


def test_a_webhook_is_made_once_and_its_secret_shown_then(browser: Browser, bob: User) -> None:
    client, form = browser(bob), filled()
    page = client.post("/webhooks/new/", form, follow=True)
    assert page.status_code == 200
    assert page["Cache-Control"] == "no-store"
    webhook = Webhook.objects.get()
    secret = decrypt_secret(webhook.secret)
    assert secret in page.content
    client.post("/webhooks/new/", form)
    assert Webhook.objects.count() == 1
    for path in ("/webhooks/", f"/webhooks/{webhook.pk}/"):
        assert secret not in client.get(path).content
        assert URL.encode() in client.get(path).content


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "https://10.0.0.1/", "gopher://x", "https://[::1]/", "nonsense"])
def test_a_url_that_the_panel_does_not_send_to_is_refused_at_its_field(browser: Browser, bob: User, url: str) -> None:
    page = forget_password(browser(bob)).post("/webhooks/new/", filled(url=url))
    assert page.status_code == 422
    assert b'id="id_url_error"' in page.content
    assert not Webhook.objects.exists()


def test_only_events_that_one_may_see_are_offered(bob: User, charlie: User) -> None:
    def offered(person: User) -> set[str]:
        return {value for value, _ in WebhookForm(person=person).fields["events"].choices}  # type: ignore[attr-defined]

    assert offered(bob) - offered(charlie) == {"import.finished"}
    assert offered(make_person("mia", Role.MEMBER)) == set()


def test_deliveries_are_listed_and_replayed(browser: Browser, bob: User, failed: Delivery) -> None:
    client = browser(bob)
    page = client.get(f"/webhooks/{failed.webhook_id}/").content
    assert b"The receiver returned HTTP status 500." in page
    assert b"&lt;b&gt;Oops" in page
    client.post(f"/webhooks/deliveries/{failed.pk}/replay/")
    assert failed.replays.get().state == DeliveryState.WAITING
    part = client.get(f"/webhooks/{failed.webhook_id}/", headers=HTMX).content
    assert part.lstrip().startswith(b'<section id="deliveries"')
    assert b'data-live="2"' in part, "the list looks again while something waits"


def test_older_deliveries_are_a_page_away(browser: Browser, bob: User, failed: Delivery) -> None:
    for number in range(51):
        event = Event.objects.create(uid=uuid4(), kind="ping", subject=f"older:{number}", at=NOW)
        Delivery.objects.create(
            webhook=failed.webhook, event=event, number=number + 2, created_at=NOW, state=DeliveryState.DELIVERED
        )
    client, url = browser(bob), f"/webhooks/{failed.webhook_id}/"
    first = client.get(url)
    assert b"The receiver returned HTTP status 500." not in first.content
    before = first.context["next_before"]
    assert b"The receiver returned HTTP status 500." in client.get(url, {"before": before}).content
    for nonsense in ("x", "²", "9" * 5000):
        assert client.get(url, {"before": nonsense}).status_code == 200


def test_a_test_is_sent_while_the_webhook_is_on(browser: Browser, bob: User, webhook: Webhook) -> None:
    client, url = browser(bob), f"/webhooks/{webhook.pk}/"
    client.post(f"{url}ping/")
    assert Delivery.objects.get().event.kind == "ping"
    client.post(f"{url}switch/", {"active": "no"})
    webhook.refresh_from_db()
    assert not webhook.active
    assert b"Nothing was sent." in client.post(f"{url}ping/", follow=True).content
    client.post(f"{url}switch/", {"active": "yes"})
    webhook.refresh_from_db()
    assert webhook.active


def test_what_is_changed_holds_and_faults_are_shown(browser: Browser, bob: User, webhook: Webhook) -> None:
    client, url = browser(bob), f"/webhooks/{webhook.pk}/change/"
    assert client.post(url, filled(events=["node.state"])).status_code == 302
    webhook.refresh_from_db()
    assert (webhook.events, webhook.description) == (["node.state"], "Chat")
    for wrong in ({"events": []}, {"events": ["nonsense"]}, {"url": "https://127.0.0.1/"}):
        assert client.post(url, filled(**wrong)).status_code == 422


def test_a_new_secret_is_one_time_page(browser: Browser, bob: User, webhook: Webhook) -> None:
    client = browser(bob)
    page = client.post(f"/webhooks/{webhook.pk}/rotate/", follow=True)
    webhook.refresh_from_db()
    assert decrypt_secret(webhook.secret) in page.content
    assert page["Cache-Control"] == "no-store"
    assert webhook.old_secret is not None
    client.get(page.redirect_chain[-1][0])
    assert decrypt_secret(webhook.secret) == decrypt_secret(Webhook.objects.get().secret)
    forget_password(client)
    assert b"Your password" in client.post(f"/webhooks/{webhook.pk}/rotate/").content


def test_a_deleted_webhook_is_gone(browser: Browser, bob: User, webhook: Webhook) -> None:
    browser(bob).post(f"/webhooks/{webhook.pk}/delete/")
    assert not Webhook.objects.exists()


def test_others_webhooks_are_not_there_but_for_administrators(
    browser: Browser, alice: User, charlie: User, failed: Delivery
) -> None:
    url = f"/webhooks/{failed.webhook_id}/"
    assert browser(charlie).get(url).status_code == 404
    assert browser(charlie).post(f"/webhooks/deliveries/{failed.pk}/replay/").status_code == 404
    assert URL.encode() not in browser(charlie).get("/webhooks/").content
    assert browser(alice).get(url).status_code == 200
    assert b"bob" in browser(alice).get("/webhooks/").content


def test_a_refusal_by_the_guard_names_its_reason(monkeypatch: pytest.MonkeyPatch, browser: Browser, bob: User) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AddressRefused("This address is private.")

    monkeypatch.setattr(hooks, "checked_addresses", refuse)
    assert b"This address is private." in browser(bob).post("/webhooks/new/", filled()).content


def test_a_mail_is_asked_for_and_stopped_without_a_session(
    browser: Browser, bob: User, make_zone: MakeZone, settings: Any
) -> None:
    settings.EMAIL_HOST = "127.0.0.1"
    make_zone("www 300 A 192.0.2.1")
    client = browser(bob)
    page = client.get("/webhooks/new/?format=mail&zones=example.test.").content.decode()
    assert '<option value="mail" selected>' in page
    assert "example.test." in page
    form = filled(format="mail", url="", zones="example.test\n", tags="gold, silver", gather_minutes="60")
    page = client.post("/webhooks/new/", form, follow=True).content.decode()
    webhook = Webhook.objects.get()
    assert (webhook.zones, webhook.tags, webhook.gather_minutes) == (["example.test."], ["gold", "silver"], 60)
    assert bob.email in page
    assert "Rotate secret" not in page
    stop = f"/stop-mails/{hooks.stop_key(webhook)}/"
    stranger = Client(enforce_csrf_checks=True)
    assert "Stop these emails?" in stranger.get(stop).content.decode()
    assert Webhook.objects.get().active
    assert stranger.post(stop, {"List-Unsubscribe": "One-Click"}).status_code == 200
    assert not Webhook.objects.get().active
    assert "These emails are disabled" in stranger.get(stop).content.decode()


def test_what_is_no_zone_or_team_is_told_at_its_field(browser: Browser, bob: User) -> None:
    page = browser(bob).post("/webhooks/new/", filled(zones="a..b\nnone.test.", teams="nobody")).content.decode()
    assert 'id="id_zones_error"' in page
    assert "a..b: " in page
    assert "Team nobody not found" in page
    assert 'value="some" id="id_where_1" checked' in page
