"""Pages of quotas, their form for administrators, and the warnings near a limit (`frame.near_quotas`)."""

import pytest
from django.urls import reverse

from dnspanel.accounts.models import Membership, Team, User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quota_edit import set_quotas
from dnspanel.transfer import import_quotas as quotas_of_transfer
from dnspanel.web.access import quotas as pages
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def team(alice: User) -> Team:
    return Team.objects.create(name="Alpha", created_at=NOW)


def test_everybody_sees_their_own_quotas_and_their_teams(browser: Browser, team: Team) -> None:
    carol = make_person("carol", "member")
    Membership.objects.create(team=team, user=carol, role="editor")
    page = browser(carol).get(reverse("account-quotas")).content.decode()
    assert "carol" in page
    assert "Alpha" in page
    assert "of</span> 1,000" in page
    assert "of</span> 5,000" in page
    assert "of</span> 2 GiB" in page
    assert "up to</span> 100,000" in page


def test_what_nothing_limits_is_not_counted_for_ever(
    browser: Browser, alice: User, make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (quotas_of_transfer, pages):
        monkeypatch.setattr(module, "MOST_COUNTED", 2)
    for number in range(3):
        make_zone(name=f"z{number}.test.")
    assert "at least 2, <span" in browser(alice).get(reverse("account-quotas")).content.decode()


def test_an_administrator_sets_and_takes_back_quotas(browser: Browser, alice: User, bob: User, team: Team) -> None:
    for url, of, page in (
        (reverse("person-quotas", args=[bob.pk]), bob, reverse("person-detail", args=[bob.pk])),
        (reverse("team-quotas", args=[team.pk]), team, reverse("team-detail", args=[team.pk])),
    ):
        response = browser(alice).post(url, {"zones": "12", "bytes": "3G", "tokens": "unlimited"})
        assert (response.status_code, response.headers["Location"]) == (302, page)
        of.refresh_from_db()
        assert of.quotas == {"zones": 12, "bytes": 3 << 30, "tokens": None}
        detail = browser(alice).get(page).content.decode()
        assert 'value="3G"' in detail
        assert 'value="unlimited"' in detail
        browser(alice).post(url, {})
        of.refresh_from_db()
        assert of.quotas == {}


def test_what_is_no_amount_is_said_at_its_field(browser: Browser, alice: User, bob: User) -> None:
    response = browser(alice).post(reverse("person-quotas", args=[bob.pk]), {"zones": "many", "bytes": "1G"})
    assert response.status_code == 422
    page = response.content.decode()
    assert "Enter a whole number such as 1000, or unlimited. &#x27;many&#x27; isn’t valid." in page
    assert 'value="1G"' in page
    bob.refresh_from_db()
    assert bob.quotas == {}


def test_pages_say_when_little_is_left_and_refuse_what_is_too_much(
    browser: Browser, alice: User, make_zone: MakeZone
) -> None:
    make_zone("www 300 A 192.0.2.1")
    set_quotas(of=alice, quotas={Kind.ZONES: 1, Kind.TOKENS: 0, Kind.IMPORTS: 0, Kind.OPERATIONS: 1}, by=None, now=NOW)
    alice.refresh_from_db()
    client = browser(alice)
    assert "1 of 1 zone used. The limit has been reached." in client.get(reverse("zone-new")).content.decode()
    assert "0 of 0 tokens used" in client.get(reverse("token-new", args=["custom"])).content.decode()
    assert "0 of 0 imports in progress" in client.get(reverse("import-new")).content.decode()
    new = {"names": "more.test", "nameservers": "ns1.example.net", "hostmaster": "h@example.net"}
    new["form_id"] = "0b9f5d3e-6a7f-4c75-9d3e-0d5a1f2b3c4d"
    refused = client.post(reverse("zone-new"), new)
    assert refused.status_code == 422
    assert "Quota exceeded: limit 1 zone, used 1" in refused.content.decode()
    pasted = client.post(reverse("import-source", args=["paste"]), {"text": "@ A 192.0.2.1", "form_id": new["form_id"]})
    assert pasted.status_code == 422
    assert "Quota exceeded: limit 0 imports in progress, used 0" in pasted.content.decode()
    quick = reverse("zone-quick", args=["example.test."])
    assert client.post(quick, {"line": "a 300 A 192.0.2.1"}).status_code == 302
    assert "1 of 1 change per draft" in client.get(reverse("changes")).content.decode()
    plain = client.post(quick, {"line": "b 300 A 192.0.2.1"})
    assert plain.status_code == 409
    assert "Quota exceeded" in plain.content.decode()
    fragment = client.post(quick, {"line": "b 300 A 192.0.2.1"}, headers=HTMX)
    assert fragment.content.decode().startswith("Quota exceeded: limit 1 change per draft, used 1, requested 1.")
