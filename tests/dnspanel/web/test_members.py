"""All pages as a member sees them: only content that teams and grants allow."""

from uuid import uuid4

import pytest
from django.urls import reverse

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Right
from dnspanel.accounts.models import AuditEntry, GrantRow, Membership, Role, Team, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import RightMissing
from dnspanel.zones.models import Channel, Operation, Publication, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.edit import NewZone
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, make_person


@pytest.fixture
def mia(db: None) -> User:
    return make_person("mia", Role.MEMBER)


@pytest.fixture
def mine(make_zone: MakeZone, mia: User) -> Zone:
    """Create a zone that Mia is allowed to edit, and `other.test.`, which she isn't."""
    make_zone("www 300 A 192.0.2.9", name="other.test.")
    zone = make_zone("www 300 A 192.0.2.1", name="mine.test.")
    give(mia, Grant(EVERY_RIGHT, zones=frozenset({zone.pk})))
    return zone


def give(user: User, grant: Grant) -> GrantRow:
    return GrantRow.objects.create(user=user, grant=grant.to_json(), created_at=NOW)


def new_zone(name: str, **fields: object) -> dict[str, object]:
    servers = {"nameservers": "ns1.example.net.", "hostmaster": "h@example.net"}
    return {"names": name, **servers, "form_id": str(uuid4()), **fields}


def test_lists_and_searches_hold_only_what_is_theirs(browser: Browser, mia: User, mine: Zone) -> None:
    client = browser(mia)
    for query in ("", "?q=test", "?q=has:192.0.2.9"):
        page = client.get(f"/zones/{query}").content
        assert b"other.test." not in page
    assert b"mine.test." in client.get("/zones/").content


def test_who_was_given_nothing_is_told_whom_to_ask(browser: Browser, mia: User) -> None:
    page = browser(mia).get("/zones/").content
    assert b"An administrator can add you to a team or grant you access." in page
    assert b'id="fleet-pill"' not in page
    assert b'id="draft-pill"' not in page
    assert browser(mia).get("/", follow=True).status_code == 200


def test_a_publication_shows_only_the_zones_that_one_sees(browser: Browser, alice: User, mia: User) -> None:
    both = edit.create_zones(
        zones=[NewZone("mine.test."), NewZone("other.test.")], acting=Acting(alice, Channel.WEB, NOW)
    )
    other = edit.create_zone(zone=edit.NewZone("third.test."), acting=Acting(alice, Channel.WEB, NOW))
    give(mia, Grant(EVERY_RIGHT, zones=frozenset({Zone.objects.get(name="mine.test.").pk})))
    page = browser(mia).get(f"/publications/{both.sequence}/").content
    assert b"mine.test." in page
    assert b"other.test." not in page
    assert browser(mia).get(f"/publications/{other.sequence}/").status_code == 404
    assert browser(mia).post(f"/publications/{other.sequence}/undo/").status_code == 404


def test_the_progress_links_to_nodes_only_for_who_may_see_them(
    browser: Browser, active_node: MakeNode, charlie: User, mia: User, mine: Zone
) -> None:
    active_node("ns1")
    url = f"/publications/{mine.sequence}/"
    assert b'href="/nodes/ns1/"' not in browser(mia).get(url).content
    assert b'href="/nodes/ns1/"' in browser(charlie).get(url).content
    assert browser(mia).get("/nodes/ns1/points/").status_code == 403


def test_a_draft_shows_nothing_of_a_zone_that_was_taken_away(browser: Browser, mia: User, mine: Zone) -> None:
    draft.replace_rrset(author=mia, zone=mine, rrset=rr("www 300 A 192.0.2.77", origin="mine.test."), now=NOW)
    client = browser(mia)
    assert b"192.0.2.77" in client.get("/changes/").content
    GrantRow.objects.all().delete()
    give(mia, Grant(EVERY_RIGHT, zones=frozenset({Zone.objects.get(name="other.test.").pk})))
    page = client.get("/changes/").content
    assert b"192.0.2.77" not in page
    assert b"192.0.2.1" not in page
    assert client.get(reverse("zone-review", args=["mine.test."])).status_code == 404
    assert Operation.objects.exists(), "it is there again if the grant comes back"


def test_what_a_grant_does_not_let_through_is_refused_in_words(browser: Browser, mia: User, mine: Zone) -> None:
    GrantRow.objects.all().delete()
    give(mia, Grant(frozenset({Right.READ, Right.CHANGE}), zones=frozenset({mine.pk}), names=("www",)))
    client, url = browser(mia), reverse("zone-rrset-delete", args=["mine.test."])
    refused = client.post(f"{url}?name=www.mine.test.&type=A", headers=HTMX)
    assert refused.status_code == 403
    assert refused["Content-Type"].startswith("text/plain")
    assert "You don’t have permission to delete A www.mine.test. in mine.test." in refused.content.decode()
    assert client.get(reverse("zone-delete", args=["mine.test."])).status_code == 403
    assert client.get(reverse("zone-settings", args=["mine.test."])).status_code == 403
    assert b"Delete zone" not in client.get("/zones/mine.test./").content


def test_new_zones_belong_to_a_team_in_which_one_may_create_them(browser: Browser, mia: User, mine: Zone) -> None:
    client = browser(mia)
    assert client.post("/zones/new/", new_zone("new.test")).status_code == 422, "no team, so nothing to choose"
    web, mail = (Team.objects.create(name=name, created_at=NOW) for name in ("Web", "Mail"))
    Membership.objects.create(team=web, user=mia, role=Role.EDITOR)
    Membership.objects.create(team=mail, user=mia, role=Role.READER)
    assert client.post("/zones/new/", new_zone("new.test", team=mail.pk)).status_code == 422
    assert client.post("/zones/new/", new_zone("new.test", team=web.pk)).status_code == 302
    assert Zone.objects.get(name="new.test.").team == web


def test_many_zones_at_once_need_the_right_as_one_does(mia: User, mine: Zone) -> None:
    count = Publication.objects.count()
    with pytest.raises(RightMissing):
        edit.create_zones(zones=[NewZone("new.test.")], acting=Acting(mia, Channel.WEB, NOW))
    assert Publication.objects.count() == count


def test_tags_and_team_are_changed_and_found_again(browser: Browser, alice: User, mia: User, mine: Zone) -> None:
    team = Team.objects.create(name="Web ops", created_at=NOW)
    client, url = browser(alice), reverse("zone-settings", args=["mine.test."])
    assert client.post(url, {"tags": "EU, shop", "team": team.pk}).status_code == 302
    mine.refresh_from_db()
    assert (mine.tags, mine.team) == (["eu", "shop"], team)
    assert AuditEntry.objects.filter(action="zone.settings", user=alice).count() == 1
    page = client.get("/zones/mine.test./").content.decode()
    assert 'href="/zones/?q=team%3A%22Web+ops%22"' in page
    found = client.get('/zones/?q=team:"Web ops" tag:shop').content
    assert b"mine.test." in found
    assert b"other.test." not in found
    refused = client.post(url, {"tags": "not/a/tag", "team": ""})
    assert refused.status_code == 422
    assert "not/a/tag isn’t a valid tag" in refused.content.decode()
    assert "Web ops" in browser(mia).get(url).content.decode(), "the team it has may stay"


def test_who_gives_a_zone_away_by_its_team_is_led_back_to_the_list(
    browser: Browser, mia: User, make_zone: MakeZone
) -> None:
    team = Team.objects.create(name="Web", created_at=NOW)
    Membership.objects.create(team=team, user=mia, role=Role.EDITOR)
    zone = make_zone()
    Zone.objects.filter(pk=zone.pk).update(team=team)
    answer = browser(mia).post(reverse("zone-settings", args=[zone.name]), {"tags": "", "team": ""})
    assert answer["Location"] == "/zones/"


def test_only_who_may_delete_a_zone_may_restore_it(browser: Browser, mia: User, charlie: User, mine: Zone) -> None:
    Zone.objects.filter(pk=mine.pk).update(deleted_at=NOW)
    assert reverse("zone-restore", args=[mine.pk]).encode() in browser(mia).get("/zones/trash/").content
    assert reverse("zone-restore", args=[mine.pk]).encode() not in browser(charlie).get("/zones/trash/").content
