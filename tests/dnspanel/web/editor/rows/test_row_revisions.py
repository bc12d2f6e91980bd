"""Rows display who changed them last, when and why, and can be limited to those that changed this week."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.order import display_order
from dnspanel.zones.publishing import revision
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.publishing import change_rrsets

ZONE = "/zones/example.test./"


@pytest.fixture
def zone(make_zone: MakeZone, alice: User, bob: User) -> Zone:
    """Create a zone of a month ago. Bob changed c three weeks ago and b yesterday, with a long reason."""
    zone = make_zone("a 300 A 192.0.2.1", "b 300 A 192.0.2.2", "c 300 A 192.0.2.3")
    now = timezone.now()
    Publication.objects.update(at=now - timedelta(days=30))
    for line, days in (("c 60 A 192.0.2.3", 21), ("b 60 A 192.0.2.2", 1)):
        zone.refresh_from_db()
        at, reason = now - timedelta(days=days), f"Move {line[0]} to the new rack" + ", and keep the old one" * 4
        changes = {(f"{line[0]}.example.test.", 1): rr(line)}
        change_rrsets(zone=zone, changes=changes, author=bob, channel=Channel.WEB, now=at, reason=reason)
    zone.refresh_from_db()
    return zone


def test_each_row_says_who_changed_it_when_and_why(zone: Zone, browser: Browser, bob: User) -> None:
    page = browser(bob).get(ZONE).content.decode()
    assert "<small>30 days ago by alice</small>" in page
    assert "<small>1 day ago by bob: Move b to the new rack, and keep the old one" in page
    assert "…</small>" in page, "a long reason is cut"
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("d 300 A 192.0.2.4"), now=NOW)
    new = browser(bob).get(ZONE, {"in": "draft"}, headers=HTMX).content.decode()
    assert "<small></small>" in new, "not published yet"


@pytest.mark.parametrize("size", ["small", "large", "many changes"])
def test_the_filter_finds_what_changed_this_week(
    size: str, zone: Zone, browser: Browser, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    if size != "small":
        monkeypatch.setattr(display_order, "LARGE", 1)
    if size == "many changes":
        monkeypatch.setattr(rrset_pages, "MOST_CHANGES", 1)
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("d 300 A 192.0.2.4"), now=NOW)
    client = browser(bob)
    for query, found in (
        ({"changed": "week"}, ["@ SOA", "b A", "d A"]),
        ({"changed": "week", "type": "A"}, ["b A", "d A"]),
        ({"changed": "week", "q": "d"}, ["d A"]),
        ({"changed": "week", "sort": "-changed"}, ["d A", "@ SOA", "b A"]),
        ({"changed": "month"}, ["@ SOA", "@ NS", "a A", "b A", "c A", "d A"]),
    ):
        rows = client.get(ZONE, query).context["rows"]
        assert [f"{row.owner} {row.type}" for row in rows] == found, query
    changed = [row.owner for row in browser(alice).get(ZONE, {"changed": "week"}).context["rows"]]
    assert changed == ["@", "b"], "Bob's draft is not Alice's"


def test_a_new_zone_changed_completely_and_an_old_one_not_at_all(
    zone: Zone, make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    Publication.objects.filter(sequence=zone.revisions.get(number=3).publication_id).update(at=NOW - timedelta(days=9))
    nothing = browser(bob).get(ZONE, {"changed": "week"}).content.decode()
    assert "No matching records" in nothing
    assert '<span class="chip">changed this week</span>' in nothing
    make_zone(name="new.test.")
    Publication.objects.order_by("-sequence").update(at=timezone.now())
    assert len(browser(bob).get("/zones/new.test./", {"changed": "week"}).context["rows"]) == 2


def test_bulk_changes_and_saved_views_keep_the_filter(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    table = client.get(ZONE, {"changed": "week"}, headers=HTMX).content.decode()
    assert '<input type="hidden" form="many" name="changed" value="week">' in table
    assert '<input type="hidden" form="as-text" name="changed" value="week">' in table
    sent = {"act": "delete", "all": "1", "changed": "week", "type": "A"}
    client.post(ZONE + "many/", sent)
    assert [operation.name for operation in draft.operations_of(bob)] == ["b.example.test."]
    text = client.get(ZONE + "text/", {"changed": "week", "type": "A"}).content.decode()
    assert "changed=week" in text
    data = {"of": "records", "zone": zone.name, "changed": "week", "name": "New here"}
    assert client.post("/views/", data)["Location"] == f"{ZONE}?changed=week"
    assert "changed this week" in client.get("/views/", {"of": "records", "zone": zone.name}).content.decode()


@pytest.mark.django_db(transaction=True)
def test_the_newest_change_comes_first_with_its_author(browser: Browser, bob: User, make_zone: MakeZone) -> None:
    zone = make_zone("a 300 A 192.0.2.1", "b 300 A 192.0.2.2", "c 300 A 192.0.2.3")
    for line in ("c 60 A 192.0.2.3", "b 60 A 192.0.2.2"):
        draft.replace_rrset(author=bob, zone=zone, rrset=rr(line), now=NOW)
        revision.publish(acting=Acting(bob, "web", NOW), consent=revision.Consent(accept_warnings=True))
    client = browser(bob)
    plain = client.get("/zones/example.test./")
    assert 'href="/zones/example.test./?sort=-changed"' in plain.content.decode()
    assert "Revision 3</a>" not in plain.content.decode().split("<tbody", 1)[1]
    page = client.get("/zones/example.test./?sort=-changed")
    rows = page.context["rows"]
    assert [(row.owner, row.revision.number) for row in rows if row.type == "A"] == [("b", 3), ("c", 2), ("a", 1)]
    assert page.content.decode().count("by bob") >= 2
