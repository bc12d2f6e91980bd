"""The pages that set the receiver of the audit log."""

import pytest
from django.urls import reverse

from dnspanel.accounts.models import User
from dnspanel.audit.forward.models import Destination
from tests.dnspanel.audit.forward.conftest import MakeDestination, linked
from tests.dnspanel.audit.forward.conftest import at_home as at_home
from tests.dnspanel.audit.forward.conftest import make_destination as make_destination
from tests.dnspanel.web.conftest import YES, Browser, forget_password
from tests.dnspanel.webhooks.receiver import Receiver
from tests.own_certificates import own_certificate
from tests.people import NOW, PASSWORD

LIST, NEW = reverse("settings-evidence"), reverse("settings-evidence-new")
SECRET = "never-to-be-seen-again"


@pytest.mark.usefixtures("at_home")
def test_a_destination_is_added_after_the_password_tested_and_shows_no_secret(alice: User, browser: Browser) -> None:
    client = browser(alice)
    assert "No destinations yet" in client.get(LIST).content.decode()
    assert "https://collector.example/v1/logs" in client.get(f"{NEW}?kind=otlp").content.decode()
    with Receiver() as receiver:
        posted = {"name": "Collector", "address": receiver.url, "headers": f"Authorization: Bearer {SECRET}"}
        forget_password(client)
        assert "Anyone with access to that system" in client.post(f"{NEW}?kind=otlp", posted).content.decode()
        assert not Destination.objects.exists()
        client.post(f"{NEW}?kind=otlp", {**posted, **YES, "password": PASSWORD})
        page = reverse("settings-evidence-detail", args=[Destination.objects.get().pk])
        assert SECRET not in client.get(page).content.decode()
        tested = client.post(f"{page}test/", follow=True).content.decode()
        assert "Collector confirmed the test message." in tested
        assert receiver.received[0].headers["authorization"] == f"Bearer {SECRET}"
        receiver.answer(403)
        assert "The receiver returned HTTP status 403" in client.post(f"{page}test/", follow=True).content.decode()
        client.post(page, {"name": "Renamed", "address": receiver.url})
    assert "Renamed" in client.get(LIST).content.decode()


def test_the_pages_say_how_far_it_is_and_what_is_wrong(
    alice: User, browser: Browser, make_destination: MakeDestination
) -> None:
    made = make_destination("https://127.0.0.1/v1/logs")
    linked(alice, "team.create")
    client, page = browser(alice), reverse("settings-evidence-detail", args=[made.pk])
    assert '<span class="strong">2</span> entries are waiting' in client.get(page).content.decode()
    Destination.objects.update(
        sent_to=1,
        failing_since=NOW,
        failures=2,
        error="It is away.",
        rejected_at=NOW,
        rejected="The receiver rejected log entries (1).",
    )
    text = client.get(page).content.decode()
    for told in (
        "It is away.",
        "2 failed attempts, the first",
        "The receiver rejected log entries (1).",
        '<span class="strong">1</span> entry is waiting.',
    ):
        assert told in text
    assert "failing for" in client.get(LIST).content.decode()


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize(
    ("posted", "told"),
    [
        ({"address": "10.0.0.1:6514"}, "a public address"),
        ({"ca": "nonsense"}, "Enter a certificate in PEM format"),
        ({"name": ""}, "This field is required"),
    ],
    ids=["address", "ca", "name"],
)
def test_what_cannot_be_is_told_at_its_field(posted: dict[str, str], told: str, alice: User, browser: Browser) -> None:
    page = forget_password(browser(alice)).post(NEW, {"name": "SIEM", "address": "127.0.0.1:6514", **posted})
    assert page.status_code == 422
    assert told in page.content.decode()
    assert not Destination.objects.exists()


def test_it_is_switched_off_and_on_and_deleted_after_a_yes(
    alice: User, browser: Browser, make_destination: MakeDestination
) -> None:
    own = own_certificate("panel.test")
    made = make_destination("https://127.0.0.1/v1/logs", headers="A: b", certificate=own.certificate, key=own.key)
    client, page = browser(alice), reverse("settings-evidence-detail", args=[made.pk])
    text = client.get(page).content.decode()
    assert "Delete stored headers" in text
    assert "PRIVATE KEY" not in text
    for active, answer in ((True, {"active": "no"}), (False, {"active": "no", **YES}), (True, {"active": "yes"})):
        client.post(f"{page}switch/", answer)
        assert Destination.objects.get().active is active
    client.post(f"{page}delete/")
    assert Destination.objects.exists()
    client.post(f"{page}delete/", YES)
    assert client.get(page).status_code == 404
