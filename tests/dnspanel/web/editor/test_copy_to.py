"""The page that copies records to another zone."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.models import Operation, Zone
from tests.dnspanel.web.conftest import Browser, MakeZone

COPY = "/zones/example.test./copy/"
TICKED = {"rr": ["www.example.test. 1", "mail.example.test. 1"]}


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    make_zone("www 300 A 192.0.2.9", name="other.test.")
    return make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.2")


def test_ticked_records_are_shown_and_then_drafted_in_the_other_zone(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    assert f'formaction="{COPY}"' in client.get("/zones/example.test./").content.decode()
    assert "Target zone" in client.post(COPY, TICKED).content.decode()
    chosen = {**TICKED, "target": "other.test", "existing": "skip"}
    preview = client.post(COPY, chosen | {"act": "preview"}).content.decode()
    assert "1 record</strong> would change" in preview
    assert "1 existing records left unchanged" in preview
    assert Operation.objects.count() == 0
    assert client.post(COPY, chosen | {"act": "copy"}).url == "/zones/other.test./?in=draft"
    [operation] = Operation.objects.all()
    assert (operation.name, operation.zone.name) == ("mail.other.test.", "other.test.")


def test_a_zone_that_cannot_be_the_target_is_told(zone: Zone, browser: Browser, bob: User, charlie: User) -> None:
    for person, target, word in (
        (bob, "nowhere.test", "nowhere.test."),
        (bob, "example.test", "already in this zone"),
        (bob, "a..b", "a..b"),
        (charlie, "other.test", "role"),
    ):
        answer = browser(person).post(COPY, {**TICKED, "target": target, "existing": "skip", "act": "copy"})
        assert (answer.status_code, word in answer.content.decode()) == (422, True), target
    assert browser(bob).post(COPY).url == "/zones/example.test./"
    assert Operation.objects.count() == 0
