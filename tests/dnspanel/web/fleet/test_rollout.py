"""The page of the rollout of publications, and its actions."""

import pytest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.models import Delivery, Node, NodeGroup
from dnspanel.fleet.rollout import deliver_groups, rollout_groups
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.conftest import HTMX, Browser
from tests.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/delivery/"


@pytest.fixture
def alice() -> User:
    return make_person("alice-admin", role="administrator")


@pytest.fixture
def canary(active_node: MakeNode) -> NodeGroup:
    group = rollout_groups.create_group(name="canary", verify_seconds=30, by=None, now=timezone.now())
    rollout_groups.create_group(name="rest", verify_seconds=0, by=None, now=timezone.now())
    active_node("ns1")
    Node.objects.update(group=group)
    return group


def test_the_page_shows_groups_in_order_and_moves_by_its_fragment(
    browser: Browser, alice: User, canary: NodeGroup
) -> None:
    page = browser(alice).get(PAGE).content.decode()
    assert page.index(">canary</h2>") < page.index(">rest</h2>")
    assert "The nodes in this group must answer correctly for 30 s before the next group starts." in page
    assert "No nodes in this group." in page
    fragment = browser(alice).get(PAGE, headers=HTMX).content.decode()
    assert fragment.lstrip().startswith('<div class="stack" id="delivery"')
    assert "<html" not in fragment


def test_who_may_only_look_sees_no_forms(browser: Browser, canary: NodeGroup) -> None:
    reader = make_person("rita", role="reader")
    page = browser(reader).get(PAGE).content.decode()
    assert "<h2>canary</h2>" in page
    assert "Stop delivery" not in page
    assert browser(reader).post(f"{PAGE}stop/", {"reason": "x"}).status_code == 403


def test_stop_and_resume_with_a_reason(browser: Browser, alice: User) -> None:
    client = browser(alice)
    assert "Enter a reason" in client.post(f"{PAGE}stop/", {"reason": ""}, follow=True).content.decode()
    page = client.post(f"{PAGE}stop/", {"reason": "wrong <zone>"}, follow=True).content.decode()
    assert "Delivery to all nodes is stopped" in page
    assert "wrong &lt;zone&gt;" in page
    page = client.post(f"{PAGE}resume/", follow=True).content.decode()
    assert "Delivery resumed." in page
    assert Delivery.objects.get().stopped_reason == ""


def test_pin_and_unpin(browser: Browser, alice: User) -> None:
    client = browser(alice)
    for wrong in ("", "x", "99"):
        page = client.post(f"{PAGE}pin/", {"sequence": wrong, "reason": "freeze"}, follow=True).content.decode()
        assert "Nothing was changed." in page
    page = client.post(f"{PAGE}pin/", {"sequence": "0", "reason": "freeze"}, follow=True).content.decode()
    assert "The fleet is pinned at sequence 0" in page
    client.post(f"{PAGE}unpin/")
    assert Delivery.objects.get().pinned is None


def test_groups_are_made_changed_moved_and_deleted(browser: Browser, alice: User) -> None:
    client = browser(alice)
    for name in ("Canary", "rest"):
        client.post(f"{PAGE}groups/new/", {"name": name, "verify_seconds": "5"})
    first, second = NodeGroup.objects.order_by("order")
    assert (first.name, first.verify_seconds) == ("canary", 5)
    client.post(f"{PAGE}groups/{first.pk}/change/", {"name": "first", "verify_seconds": "60"})
    client.post(f"{PAGE}groups/{second.pk}/earlier/")
    assert [(g.name, g.verify_seconds) for g in NodeGroup.objects.order_by("order")] == [("rest", 5), ("first", 60)]
    client.post(f"{PAGE}groups/{second.pk}/later/")
    page = client.post(f"{PAGE}groups/{second.pk}/delete/", follow=True).content.decode()
    assert "Group rest deleted." in page
    page = client.post(f"{PAGE}groups/new/", {"name": "a b", "verify_seconds": "5"}, follow=True).content.decode()
    assert "lowercase letters" in page


def test_a_group_without_a_live_node_can_be_skipped(browser: Browser, alice: User, canary: NodeGroup) -> None:
    client = browser(alice)
    assert "Skip canary" in client.get(PAGE).content.decode()
    client.post(f"{PAGE}groups/{canary.pk}/skip/", {"reason": "the machine burnt"})
    canary.refresh_from_db()
    assert canary.skipped_reason == "the machine burnt"
    assert (
        "Delivery skips this group until one of its nodes is live. Reason: the machine burnt"
        in client.get(PAGE).content.decode()
    )


@pytest.mark.parametrize("path", ["destroy/", "groups/1/destroy/", "groups/99/delete/"])
def test_other_acts_do_not_exist(browser: Browser, alice: User, canary: NodeGroup, path: str) -> None:
    assert browser(alice).post(f"{PAGE}{path}").status_code == 404


def test_why_delivery_stopped_is_on_the_page(browser: Browser, alice: User, canary: NodeGroup) -> None:
    deliver_groups.advance(now=timezone.now())
    Delivery.objects.update_or_create(
        id=1,
        defaults={"stopped_reason": "ns1 refuses", "stopped_at": timezone.now(), "stopped_group": canary},
    )
    assert "Delivery is stopped after canary" in browser(alice).get(PAGE).content.decode()
