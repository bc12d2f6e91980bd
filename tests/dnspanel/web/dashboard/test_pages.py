"""The dashboard of an administrator and of an editor, when empty, and with a fixed number of queries."""

import re

import pytest
from allauth.mfa.models import Authenticator
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.fleet.models import Node
from dnspanel.zones.drafts import draft
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, make_person

pytestmark = pytest.mark.usefixtures("live_redis")

ZONES, NODE, FACTOR = "Create or import zones", "Add node", "Set up second factor"


def steps_in(page: str) -> list[tuple[str, bool]]:
    """Return the titles of the setup steps, each with True if the step is ticked."""
    found = re.findall(r'<li class="(is-done|is-now)">.*?<h3 class="step-title">\s*([^<]*)<', page, re.DOTALL)
    return [(title.strip(), css == "is-done") for css, title in found]


def test_a_new_panel_offers_the_first_steps(browser: Browser, alice: User) -> None:
    page = browser(alice).get("/").content.decode()
    assert steps_in(page) == [(ZONES, False), (NODE, False), (FACTOR, False)]
    for name in ("zone-new", "import-new", "node-new", "account-signing-in"):
        assert f'href="{reverse(name)}"' in page
    for row in ("Needs attention", "Node status", "Recent publications", "My draft", "My zones"):
        assert row not in page  # these cards have nothing to report


def test_steps_are_ticked_and_go_when_all_are_done(
    browser: Browser, alice: User, make_zone: MakeZone, active_node: MakeNode
) -> None:
    client = browser(alice)
    make_zone()
    active_node("ring0")
    Node.objects.update(is_ring0=True)  # the canary runs next to the panel
    assert steps_in(client.get("/").content.decode()) == [(ZONES, True), (NODE, False), (FACTOR, False)]
    active_node("ns1")
    assert steps_in(client.get("/").content.decode()) == [(ZONES, True), (NODE, True), (FACTOR, False)]
    Authenticator.objects.create(user=alice, type="totp", data={}, created_at=NOW)
    assert "First steps" not in client.get("/").content.decode()


def test_a_person_hides_the_steps_for_themselves(browser: Browser, alice: User, bob: User) -> None:
    client = browser(alice)
    answer = client.post("/account/lists/home/", {"next": "/"}, follow=True)
    page = answer.content.decode()
    assert answer.redirect_chain == [("/", 302)]
    assert "First steps hidden." in page
    assert steps_in(page) == []
    assert steps_in(browser(bob).get("/").content.decode()) == [(ZONES, False), (FACTOR, False)]


def test_a_panel_where_all_is_well_says_what_was_checked(browser: Browser, bob: User, make_zone: MakeZone) -> None:
    zone = make_zone()
    page = browser(bob).get("/").content.decode()
    assert "Nothing needs attention" in page
    assert "No problems with nodes, publications, zones, certificates or your imports." in page
    mia = make_person("mia", Role.MEMBER)
    grant = Grant(EVERY_RIGHT, zones=frozenset({zone.pk}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    page = browser(mia).get("/").content.decode()
    assert "No problems with your zones, publications or imports." in page
    assert steps_in(page) == [(ZONES, True), (FACTOR, False)]  # the grant also allows names below the zone


def test_an_editor_sees_their_own_rows_and_no_step_that_they_cannot_take(
    browser: Browser, bob: User, make_zone: MakeZone, active_node: MakeNode
) -> None:
    client = browser(bob)
    page = client.get("/").content.decode()
    assert steps_in(page) == [(ZONES, False), (FACTOR, False)]
    zone = make_zone()
    active_node("ns1")
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 300 A 192.0.2.1"), now=NOW)
    client.get("/zones/example.test./")
    page = client.get("/").content.decode()
    assert steps_in(page) == [(ZONES, True), (FACTOR, False)]
    for row in ("Needs attention", "Node status", "Recent publications", "My draft", "My zones"):
        assert row in page
    assert "Your draft has unpublished changes: 1 change in 1 zone" in page
    assert 'href="/zones/example.test./review/"' in page


def test_a_member_sees_nothing_of_nodes_and_of_zones_of_others(
    browser: Browser, make_zone: MakeZone, active_node: MakeNode
) -> None:
    make_zone()
    active_node("ns1")
    client = browser(make_person("mia", Role.MEMBER))
    page = client.get("/").content.decode()
    assert "You don’t have access to any zones yet." in page
    for secret in ("example.test", "ns1", "Node status"):
        assert secret not in page
    assert client.get("/", headers=HTMX).status_code == 403


def test_the_card_of_the_fleet_is_fetched_alone(browser: Browser, bob: User, active_node: MakeNode) -> None:
    active_node("ns1")
    card = browser(bob).get("/", headers=HTMX).content.decode()
    assert card.lstrip().startswith("<section")
    assert 'data-live="2"' in card
    assert "ns1" in card
    assert "Live statistics aren’t available" in card


def test_the_queries_do_not_grow_with_what_there_is(
    browser: Browser,
    alice: User,
    make_zone: MakeZone,
    active_node: MakeNode,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    client = browser(alice)
    for number in range(12):
        zone = make_zone("www 300 A 192.0.2.1", name=f"z{number}.test.")
        draft.replace_rrset(author=alice, zone=zone, rrset=rr("x 300 A 192.0.2.1", origin=zone.name), now=NOW)
        client.get(f"/zones/{zone.name}/")
        active_node(f"ns{number}")
    with django_assert_max_num_queries(42):
        assert "more zones" in client.get("/").content.decode()
