"""The page that compares zones across nodes."""

import pytest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.models import Divergence, Node
from dnspanel.zones.models import LogHead
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone

pytestmark = pytest.mark.usefixtures("live_redis")

MATRIX = "/fleet/matrix/"


def test_only_what_differs_is_shown_and_a_search_shows_any_zone(
    active_node: MakeNode, make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    nodes = [active_node(name) for name in ("ns1", "ns2")]
    old, new = make_zone(name="old.test."), make_zone(name="new.test.")
    head = LogHead.objects.get()
    Node.objects.filter(pk=nodes[0].pk).update(epoch=head.epoch, acked=head.sequence)
    Node.objects.filter(pk=nodes[1].pk).update(epoch=head.epoch, acked=old.sequence)
    client = browser(bob)
    page = client.get(MATRIX).content.decode()
    assert new.name in page
    assert old.name not in page
    assert ">ns2</a>" in page
    assert ">ns1</a>" not in page
    found = client.get(MATRIX, {"zone": "old"}, headers=HTMX).content.decode()
    assert found.lstrip().startswith('<section id="matrix"')
    assert old.name in found
    assert ">ns1</a>" in found
    assert "No zone names contain nowhere" in client.get(MATRIX, {"zone": "nowhere"}).content.decode()


def test_a_zone_that_differs_says_how_on_hover(
    active_node: MakeNode, make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    node, zone = active_node("ns1"), make_zone(name="example.test.")
    head = LogHead.objects.get()
    Node.objects.filter(pk=node.pk).update(epoch=head.epoch, acked=head.sequence)
    client = browser(bob)
    assert "All nodes have the same zones" in client.get(MATRIX).content.decode()
    Divergence.objects.create(
        node=node, zone_id=zone.pk, zone_name=zone.name, words="2 rows lack there", found_at=timezone.now()
    )
    assert 'title="2 rows lack there"' in client.get(MATRIX).content.decode()


def test_without_nodes_there_is_nothing_to_compare(browser: Browser, bob: User) -> None:
    assert "No active node" in browser(bob).get(MATRIX).content.decode()
