"""Pages of produced catalogs, and their forms (`fleet.own_catalog_form`)."""

import re
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from dnspanel.accounts.models import Team, User
from dnspanel.catalogs import producer
from dnspanel.catalogs.models import Produced, Producer
from dnspanel.catalogs.tasks import follow_producers
from dnspanel.secondaries import keyless
from dnspanel.secondaries.members import SAYS_WHERE
from dnspanel.secondaries.set_up_secondaries import Terms, create_secondary
from dnspanel.web.fleet import own_catalogs
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, TsigAct, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.rights.tsig_permissions import replace_key_names
from dnspanel.zones.settings.settings_of_zone import change_settings
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "partners.catalog."
URL = f"/catalogs/ours/{NAME}/"


@pytest.fixture
def catalog(alice: User) -> Zone:
    return producer.create_catalog(name=NAME, acting=Acting(alice, Channel.WEB, NOW))


def inside() -> set[str]:
    return set(Produced.objects.filter(catalog__name=NAME).values_list("zone__name", flat=True))


def test_one_is_made_once_however_often_its_form_is_sent(browser: Browser, alice: User, charlie: User) -> None:
    client, form = browser(alice), {"name": "Partners.Catalog", "group_tags": "gold, silver", "form_id": str(uuid4())}
    assert "No produced catalogs yet" in client.get("/catalogs/").content.decode()
    assert browser(charlie).get("/catalogs/ours/new/").status_code == 403
    assert "ours/new" not in browser(charlie).get("/catalogs/").content.decode()
    for _ in range(2):
        assert client.post("/catalogs/ours/new/", form)["Location"] == URL
    own = Producer.objects.select_related("zone").get()
    assert (own.zone.name, own.group_tags, own.zone.is_catalog) == (NAME, ["gold", "silver"], True)
    assert f'href="{URL}"' in client.get("/catalogs/").content.decode()
    again = client.post("/catalogs/ours/new/", {**form, "form_id": str(uuid4())})
    assert (again.status_code, "already exists" in again.content.decode()) == (422, True)
    for wrong in ({"name": "a..b"}, {"group_tags": "no!tag"}):
        page = client.post("/catalogs/ours/new/", {**form, "form_id": str(uuid4()), "name": "x.catalog", **wrong})
        assert f'id="id_{next(iter(wrong))}_error"' in page.content.decode()
    assert Producer.objects.count() == 1


def test_zones_are_put_in_by_name_tag_and_team_and_taken_out_by_ticks(
    browser: Browser, alice: User, catalog: Zone, make_zone: MakeZone
) -> None:
    client, team = browser(alice), Team.objects.create(name="Partners", created_at=NOW)
    by_tag, by_team = make_zone(name="tagged.test."), make_zone(name="team.test.")
    for name in ("one.test.", "two.test.", "left.test."):
        make_zone(name=name)
    change_settings(zone=by_tag, tags=["gold"], team=None, author=alice, now=NOW)
    change_settings(zone=by_team, tags=[], team=team, author=alice, now=NOW)
    form = {"zones": "One.test\ntwo.test", "tag": "gold", "team": str(team.pk)}
    said = client.post(f"{URL}put-in/", form, follow=True).content.decode()
    assert "4 zones added." in said
    assert inside() == {"one.test.", "two.test.", "tagged.test.", "team.test."}
    assert "changing" in said
    follow_producers()
    page = client.get(URL).content.decode()
    assert "up to date" in page
    assert len(re.findall(r'type="checkbox"', page)) == 4
    taken = client.post(f"{URL}take-out/", {"zone": ["one.test.", "team.test."]}, follow=True).content.decode()
    assert "2 zones removed." in taken
    assert inside() == {"two.test.", "tagged.test."}
    assert (
        "one.test. is not in this catalog."
        in client.post(f"{URL}take-out/", {"zone": "one.test."}, follow=True).content.decode()
    )


@pytest.mark.parametrize(
    ("form", "field", "said"),
    [
        ({"zones": "nowhere.test."}, "zones", "Zone not found: nowhere.test."),
        ({"zones": NAME}, "zones", "A catalog can’t be a member of another catalog."),
        ({"zones": "a..b"}, "zones", "a..b"),
        ({}, "zones", "Enter zones, a tag or a team."),
        ({"tag": "no!tag"}, "tag", "no!tag"),
    ],
)
def test_what_cannot_be_put_in_is_said_at_its_field(
    browser: Browser, alice: User, catalog: Zone, form: dict[str, str], field: str, said: str
) -> None:
    page = browser(alice).post(f"{URL}put-in/", form)
    assert page.status_code == 422
    error = page.content.decode().partition(f'id="put_in_{field}_error"')[2]
    assert said in error[:200]
    assert inside() == set()


def test_groups_are_set_and_each_member_shows_its_own(
    browser: Browser, alice: User, catalog: Zone, make_zone: MakeZone
) -> None:
    client, zone = browser(alice), make_zone(name="one.test.")
    change_settings(zone=zone, tags=["gold", "silver"], team=None, author=alice, now=NOW)
    producer.take_in(catalog=catalog, zone_ids=[zone.pk], author=alice, now=NOW)
    assert client.post(f"{URL}groups/", {"group_tags": "silver gold"})["Location"] == URL
    assert 'data-label="Group"><span class="mono">silver<' in client.get(URL).content.decode().replace("> <", "><")
    refused = client.post(f"{URL}groups/", {"group_tags": "no!tag"})
    assert (refused.status_code, 'id="id_group_tags_error"' in refused.content.decode()) == (422, True)
    edit.delete_zone(zone=zone, acting=Acting(None, Channel.WEB, NOW))
    page = client.get(URL).content.decode()
    assert "in the trash (added again if restored)" in page


def test_what_went_to_another_one_stands_on_both_pages(
    browser: Browser, alice: User, catalog: Zone, make_zone: MakeZone
) -> None:
    client, other = browser(alice), "other.catalog."
    producer.create_catalog(name=other, acting=Acting(alice, Channel.WEB, NOW))
    client.post(f"{URL}put-in/", {"zones": make_zone(name="one.test.").name})
    follow_producers()
    for page in (URL, f"/catalogs/ours/{other}/"):
        said = client.get(page).content.decode()
        assert ("Moved zones" in said, "Incoming zones" in said) == (False, False)
    client.post(f"/catalogs/ours/{other}/put-in/", {"zones": "one.test."})
    follow_producers()
    said = client.get(URL).content.decode()
    until = timezone.localtime(timezone.now() + SAYS_WHERE)
    named = re.search(
        r"Moved zones</dt>\s*<dd>\s*1\s.*?listed here, pointing to the new catalog, until (\S+ \S+) ", said, re.DOTALL
    )
    assert named is not None
    assert abs(datetime.fromisoformat(named[1]) - until.replace(tzinfo=None)) < timedelta(minutes=2)
    there = client.get(f"/catalogs/ours/{other}/").content.decode()
    assert ("Incoming zones" in there, "changing" in there) == (True, True)


def test_the_page_says_who_transfers_it_and_changes_nothing_for_a_reader(
    browser: Browser, alice: User, charlie: User, catalog: Zone
) -> None:
    create_secondary(terms=Terms("partner", ["9.9.9.9"], choice="list", zones=[NAME]), by=alice, now=NOW)
    keyless.open_to(zone=catalog, networks=["192.0.2.0/24"], by=alice, now=NOW)
    replace_key_names(zone=catalog, act=TsigAct.TRANSFER, key_names=["k1.keys.test."])
    page = browser(charlie).get(URL).content.decode()
    for said in ("partner", "192.0.2.0/24", "k1.keys.test."):
        assert said in page
    assert "Add zones" not in page
    assert "Delete catalog" not in page
    assert browser(charlie).post(f"{URL}put-in/", {"tag": "gold"}).status_code == 403
    assert f"/zones/{NAME}/delete/" in browser(alice).get(URL).content.decode()
    editor = browser(alice).get(f"/zones/{NAME}/").content.decode()
    assert f'href="{URL}"' in editor
    assert "Your role is" not in editor, "nobody's role changes it"


def test_its_members_come_page_by_page(
    browser: Browser, alice: User, catalog: Zone, make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_catalogs, "MOST_LISTED", 2)
    zones = [make_zone(name=f"{name}.test.").pk for name in "abc"]
    assert "No zones in this catalog yet." in browser(alice).get(URL).content.decode()
    producer.take_in(catalog=catalog, zone_ids=zones, author=alice, now=NOW)
    first = browser(alice).get(URL).content.decode()
    assert "?q=&amp;after=b.test." in first
    second = browser(alice).get(f"{URL}?after=b.test.").content.decode()
    assert ("c.test." in second, "a.test." in second) == (True, False)
    assert "No matching zones." in browser(alice).get(f"{URL}?q=z").content.decode()
