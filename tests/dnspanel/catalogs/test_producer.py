"""Tests of produced catalogs: filled with the field `catalog` of API v1, updated, and transferred to all clients."""

import json
from base64 import b64encode
from typing import Any

import dns.message
import dns.rcode
import dns.rdatatype
import dns.tsig
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Permission, Right
from dnspanel.accounts.models import AuditEntry, GrantRow, Role, User
from dnspanel.catalogs import producer
from dnspanel.catalogs.errors import CatalogRefused
from dnspanel.catalogs.models import Produced, Producer
from dnspanel.catalogs.tasks import follow_producers
from dnspanel.gateway.answers import answers
from dnspanel.secondaries import members, set_up_secondaries
from dnspanel.secondaries.models import Member
from dnspanel.secondaries.secondary_keys import key_of
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import FollowsMembers, RightMissing
from dnspanel.zones.models import NOT_SERVED, Channel, Revision, Zone
from dnspanel.zones.publishing import edit, zone_patches
from dnspanel.zones.settings.settings_of_zone import change_settings
from replication.dns.rrset import make
from tests.dnspanel.api.v1.calls import caller
from tests.dnspanel.api.v1.conftest import texts
from tests.dnspanel.web.conftest import Browser
from tests.dnspanel.web.conftest import browser as browser
from tests.people import NOW, make_person
from tests.people import alice as alice
from tests.people import charlie as charlie

pytestmark = pytest.mark.django_db(transaction=True)

CATALOG = "ours.test."
SECRET = b64encode(bytes(range(32))).decode()


@pytest.fixture
def call(alice: User) -> Any:
    return caller(alice, permissions=[Permission.FLEET, Permission.NODES])


@pytest.fixture
def catalog(call: Any) -> Zone:
    made = call("POST", "/zones", {"name": CATALOG, "kind": "Producer"})
    assert made.status_code == 201, made.content
    for name in ("a.test.", "b.test."):
        assert call("POST", "/zones", {"name": name, "kind": "Native", "catalog": CATALOG}).status_code == 201
    follow_producers()
    return Zone.objects.get(name=CATALOG)


def listed() -> dict[str, str]:
    """Return the label of each member in the catalog."""
    rows = Zone.objects.get(name=CATALOG, deleted_at=None).rrsets.filter(type=dns.rdatatype.PTR)
    return {row.rdata[0]: row.name.removesuffix(f".zones.{CATALOG}") for row in rows}


def transfer(key: dns.tsig.Key, *, since: int | None = None) -> dns.message.Message:
    query = dns.message.make_query(CATALOG, "AXFR" if since is None else "IXFR")
    if since is not None:
        soa = f"invalid. invalid. {since} 1 1 1 1"
        query.authority.append(dns.rrset.from_text(CATALOG, 0, "IN", "SOA", soa))
    query.use_tsig(key)
    wires = list(answers(query.to_wire(), address="9.9.9.9", over_tcp=True, now=timezone.now()))
    return dns.message.from_wire(wires[0], keyring=key, request_mac=query.mac)


def told(message: dns.message.Message) -> list[str]:
    found = [line for rrset in message.answer for line in rrset.to_text().splitlines()]
    return [line for line in found if " SOA " not in line]


def test_zones_come_and_go_by_their_own_word_and_never_under_the_same_label(call: Any, catalog: Zone) -> None:
    first = listed()
    assert first.keys() == {"a.test.", "b.test."}
    told_of = json.loads(call("GET", "/zones/a.test.").content)
    assert told_of["catalog"] == CATALOG
    serial = Zone.objects.get(name=CATALOG).serial
    assert call("PUT", "/zones/a.test.", {"catalog": ""}).status_code == 204
    edit.delete_zone(zone=Zone.objects.get(name="b.test."), acting=Acting(None, Channel.WEB, NOW))
    follow_producers()
    assert listed() == {}
    assert call("PUT", "/zones/a.test.", {"catalog": CATALOG}).status_code == 204
    edit.restore_zone(zone=Zone.objects.get(name="b.test."), author=None, channel=Channel.WEB, now=timezone.now())
    follow_producers()
    assert listed().keys() == first.keys()
    assert not {*listed().values()} & {*first.values()}
    assert Zone.objects.get(name=CATALOG).serial == serial + 2
    before = Revision.objects.count()
    follow_producers()
    assert Revision.objects.count() == before, "nothing changes where nothing has to"
    assert AuditEntry.objects.filter(action="catalog.member", target="a.test.").count() == 3


def test_zones_that_named_it_before_it_was_there_are_in_it(call: Any) -> None:
    call("POST", "/zones", {"name": "early.test.", "kind": "Native", "catalog": CATALOG})
    call("POST", "/zones", {"name": "other.test.", "kind": "Native", "catalog": "nowhere.test."})
    call("POST", "/zones", {"name": CATALOG, "kind": "Producer", "nameservers": ["ns1.test."]})
    follow_producers()
    assert listed().keys() == {"early.test."}


def test_it_is_at_no_node_and_shows_what_powerdns_shows(call: Any, catalog: Zone) -> None:
    kinds = Revision.objects.filter(zone=catalog).values_list("kind", flat=True)
    assert {*kinds} <= {*NOT_SERVED}
    told_of = json.loads(call("GET", f"/zones/{CATALOG}").content)
    assert told_of["kind"] == "Producer"
    assert {(each["name"], each["type"]) for each in told_of["rrsets"]} == {(CATALOG, "SOA"), (CATALOG, "NS")}
    assert b"zones." not in call("GET", f"/zones/{CATALOG}/export").content
    assert json.loads(call("GET", f"/zones?zone={CATALOG}").content)[0]["kind"] == "Producer"


def test_nobody_edits_it_and_it_becomes_nothing_else(call: Any, catalog: Zone, alice: User) -> None:
    rrset = {"name": f"x.{CATALOG}", "type": "A", "ttl": 60, "changetype": "REPLACE"}
    rrset |= {"records": [{"content": "192.0.2.1", "disabled": False}]}
    refused = call("PATCH", f"/zones/{CATALOG}", {"rrsets": [rrset]})
    assert (refused.status_code, "which only changes when" in texts(refused)) == (403, True)
    made = make(f"x.{CATALOG}", 1, 60, ["192.0.2.1"])
    patch = zone_patches.Patch(catalog, lambda current: {(made.name, 1): made}, {made.name})
    with pytest.raises(FollowsMembers):
        zone_patches.publish_patches(patches=[patch], acting=Acting(alice, "web", NOW))
    for path, body in (
        (CATALOG, {"kind": "Native"}),
        (CATALOG, {"kind": "Slave", "masters": ["9.9.9.9"]}),
        (CATALOG, {"dnssec": True}),
        (CATALOG, {"catalog": CATALOG}),
        ("a.test.", {"kind": "Producer"}),
    ):
        assert call("PUT", f"/zones/{path}", body).status_code == 422, body
    for body in (
        {"dnssec": True},
        {"rrsets": [{"name": "x.more.test.", "type": "A", "ttl": 60, "records": [{"content": "192.0.2.1"}]}]},
    ):
        refused = call("POST", "/zones", {"name": "more.test.", "kind": "Producer", **body})
        assert refused.status_code == 422, body
    assert not Zone.objects.filter(name="more.test.").exists()
    assert call("PUT", f"/zones/{CATALOG}", {"kind": "Producer", "account": "x"}).status_code == 204
    assert call("DELETE", f"/zones/{CATALOG}").status_code == 204
    assert call("GET", f"/zones/{CATALOG}").status_code == 404
    follow_producers()


def test_a_key_that_it_names_transfers_it_and_then_its_changes(call: Any, catalog: Zone) -> None:
    key = dns.tsig.Key("k1.keys.test.", SECRET, "hmac-sha256.")
    call("POST", "/tsigkeys", {"name": "k1.keys.test", "algorithm": "hmac-sha256", "key": SECRET})
    assert transfer(key).rcode() == dns.rcode.NOTAUTH
    assert call("PUT", f"/zones/{CATALOG}", {"master_tsig_key_ids": ["k1.keys.test."]}).status_code == 204
    label = listed()["a.test."]
    lines = told(transfer(key))
    assert f"{label}.zones.{CATALOG} 0 IN PTR a.test." in lines
    assert f'version.{CATALOG} 0 IN TXT "2"' in lines
    assert f"{CATALOG} 3600 IN NS invalid." in lines
    assert len(lines) == 4
    serial = Zone.objects.get(name=CATALOG).serial
    call("PUT", "/zones/a.test.", {"catalog": ""})
    follow_producers()
    assert told(transfer(key, since=serial)) == [f"{label}.zones.{CATALOG} 0 IN PTR a.test."]
    serial = Zone.objects.get(name=CATALOG).serial
    Produced.objects.update(ttl=1, moved=True)
    follow_producers()
    full = told(transfer(key, since=serial))
    assert [line for line in full if " PTR " in line] == [f"{listed()['b.test.']}.zones.{CATALOG} 1 IN PTR b.test."]
    assert f'version.{CATALOG} 0 IN TXT "2"' in full, "Knot takes no notice of another TTL in changes alone"


def test_a_secondary_has_it_where_it_names_it(catalog: Zone, alice: User) -> None:
    terms = set_up_secondaries.Terms("partner", ["9.9.9.9"], choice="list", zones=[CATALOG, "a.test."])
    partner = set_up_secondaries.create_secondary(terms=terms, by=alice, now=NOW).secondary
    everything = set_up_secondaries.create_secondary(
        terms=set_up_secondaries.Terms("all", ["9.9.9.9"]), by=alice, now=NOW
    ).secondary
    assert len(told(transfer(key_of(partner)))) == 4
    assert transfer(key_of(everything)).rcode() == dns.rcode.REFUSED
    assert not Member.objects.filter(secondary=everything, zone=catalog).exists()
    Member.objects.update(notify_at=None)
    producer.put_into(zone=Zone.objects.get(name="a.test."), catalog_name="", author=alice, now=NOW)
    assert producer.follow_members(now=timezone.now()) == 1
    members.note_publications(now=timezone.now())
    assert Member.objects.get(secondary=partner, zone=catalog).notify_at is not None


def test_many_members_come_in_several_publications(
    catalog: Zone, alice: User, monkeypatch: pytest.MonkeyPatch, call: Any
) -> None:
    monkeypatch.setattr(producer, "AT_ONCE", 2)
    for number in range(5):
        zone = f"m{number}.test."
        call("POST", "/zones", {"name": zone, "kind": "Native", "catalog": CATALOG})
    assert [producer.follow_members(now=timezone.now()) for _ in range(4)] == [1, 1, 1, 0]
    assert len(listed()) == 7
    monkeypatch.setattr(producer, "MOST_MEMBERS", 7)
    refused = call("POST", "/zones", {"name": "more.test.", "kind": "Native", "catalog": CATALOG})
    assert (refused.status_code, "at most 7 members" in texts(refused)) == (422, True)


def test_its_pages_say_what_it_is_and_offer_no_change(catalog: Zone, alice: User, browser: Browser) -> None:
    client = browser(alice)
    for path in ("", "history/", "dnssec/", "settings/", "statistics/", "primaries/"):
        answer = client.get(f"/zones/{CATALOG}/{path}")
        assert answer.status_code == 200, path
        assert "This catalog zone lists zones for secondaries" in answer.content.decode(), path
    assert "quick-add" not in client.get(f"/zones/{CATALOG}/").content.decode()
    assert 'id="catalog-of-ours"' not in client.get("/zones/a.test./").content.decode()
    assert b"changed, but not on nodes" in client.get(f"/zones/{CATALOG}/history/").content


def looks() -> int:
    """Return the number of SQL statements of one update of the catalogs."""
    with CaptureQueriesContext(connection) as queries:
        producer.follow_members(now=timezone.now())
    return len(queries)


def test_a_look_where_nothing_changed_takes_two_statements_and_reads_no_member(catalog: Zone, alice: User) -> None:
    assert looks() == 2
    Zone.objects.update(tags=["new"])
    assert looks() > 2, "the tags of members may be groups"
    assert looks() == 2
    Producer.objects.update(compared_at=timezone.now() - producer.COMPARED_EVERY)
    Produced.objects.filter(zone__name="a.test.").delete()
    assert producer.follow_members(now=timezone.now()) == 1, "what nobody told of is found after a while"
    assert listed().keys() == {"b.test."}


def test_a_zone_that_comes_back_before_anybody_looked_has_another_label_all_the_same(catalog: Zone) -> None:
    before = listed()
    edit.delete_zone(zone=Zone.objects.get(name="b.test."), acting=Acting(None, Channel.WEB, NOW))
    edit.restore_zone(zone=Zone.objects.get(name="b.test."), author=None, channel=Channel.WEB, now=timezone.now())
    follow_producers()
    after = listed()
    assert (after["a.test."], after.keys()) == (before["a.test."], before.keys())
    assert after["b.test."] != before["b.test."]


def test_a_refusal_is_tried_again_and_what_moves_meanwhile_is_not_lost(
    catalog: Zone, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> None:
        raise FollowsMembers(CATALOG)

    Zone.objects.filter(name="b.test.").update(deleted_at=NOW)
    with monkeypatch.context() as refusing:
        refusing.setattr(producer.bulk, "change_zones", refuse)
        assert producer.follow_members(now=timezone.now()) == 0
    assert producer.follow_members(now=timezone.now()) == 1
    assert listed().keys() == {"a.test."}


def test_many_zones_are_taken_in_by_as_many_statements_as_two_and_told_of_in_one_line(
    call: Any, catalog: Zone, alice: User
) -> None:
    call("POST", "/zones", {"name": "more.test.", "kind": "Producer"})
    more = Zone.objects.get(name="more.test.")
    zones = [call("POST", "/zones", {"name": f"z{each}.test.", "kind": "Native"}) for each in range(14)]
    ids = list(Zone.objects.filter(name__startswith="z").order_by("pk").values_list("pk", flat=True))
    assert len(ids) == len(zones)
    ids += Zone.objects.filter(name__in=["a.test.", "b.test."]).values_list("pk", flat=True)
    counts = []
    for some in (ids[:2], ids[2:]):
        with CaptureQueriesContext(connection) as queries:
            assert producer.take_in(catalog=more, zone_ids=some, author=alice, now=NOW) == len(some)
        counts.append(len(queries))
    assert counts[1] == counts[0] + 5, "one line more, of the catalog that two of them left, and where they are"
    assert producer.take_in(catalog=more, zone_ids=ids, author=alice, now=NOW) == 0
    lines = AuditEntry.objects.filter(action="catalog.members").order_by("pk").values_list("target", "details")
    _, *last = [(target, facts["how"], facts["zones"], len(facts["first"])) for target, facts in lines]
    assert sorted(last) == [("more.test.", "put in", 14, 10), (CATALOG, "taken out", 2, 2)]
    follow_producers()
    assert listed().keys() == {"a.test.", "b.test.", "more.test."}, "where the others are"


def test_api_v1_says_in_which_catalog_a_zone_is_whoever_put_it_there(call: Any, catalog: Zone, alice: User) -> None:
    def told_of(zone: str) -> set[str]:
        [in_list] = json.loads(call("GET", f"/zones?zone={zone}").content)
        return {in_list["catalog"], json.loads(call("GET", f"/zones/{zone}").content)["catalog"]}

    call("POST", "/zones", {"name": "c.test.", "kind": "Native", "catalog": "nowhere.test."})
    assert [told_of(zone) for zone in ("a.test.", "c.test.")] == [{CATALOG}, {"nowhere.test."}]
    producer.take_in(catalog=catalog, zone_ids=[Zone.objects.get(name="c.test.").pk], author=alice, now=NOW)
    producer.put_into(zone=Zone.objects.get(name="a.test."), catalog_name="", author=alice, now=NOW)
    assert [told_of(zone) for zone in ("a.test.", "c.test.")] == [{""}, {CATALOG}]


def groups() -> dict[str, str]:
    """Return the group of each member that has one, from the catalog's records."""
    by_label = {label: member for member, label in listed().items()}
    texts = Zone.objects.get(name=CATALOG).rrsets.filter(type=dns.rdatatype.TXT, name__startswith="group.")
    return {by_label[row.name.removeprefix("group.").removesuffix(f".zones.{CATALOG}")]: row.rdata[0] for row in texts}


def test_a_member_is_in_the_group_of_the_first_tag_that_it_has_and_its_tags_are_followed(
    catalog: Zone, alice: User, charlie: User
) -> None:
    before = listed()
    a, b = (Zone.objects.get(name=name) for name in ("a.test.", "b.test."))
    change_settings(zone=a, tags=["gold", "silver"], team=None, author=alice, now=NOW)
    assert producer.follow_members(now=timezone.now()) == 0, "a tag is no group yet"
    chosen = ["Silver", "gold"]
    assert producer.set_groups(catalog=catalog, group_tags=chosen, author=alice, now=NOW) == ["silver", "gold"]
    assert producer.follow_members(now=timezone.now()) == 1
    assert groups() == {"a.test.": '"silver"'}
    change_settings(zone=a, tags=["gold"], team=None, author=alice, now=NOW)
    change_settings(zone=b, tags=["silver"], team=None, author=alice, now=NOW)
    assert producer.follow_members(now=timezone.now()) == 1
    assert groups() == {"a.test.": '"gold"', "b.test.": '"silver"'}
    assert listed() == before, "a member that moves between groups keeps its label"
    producer.put_into(zone=a, catalog_name="", author=alice, now=NOW)
    producer.set_groups(catalog=catalog, group_tags=[], author=alice, now=NOW)
    assert producer.follow_members(now=timezone.now()) == 1
    assert (groups(), listed().keys()) == ({}, {"b.test."})
    assert looks() == 2
    with pytest.raises(CatalogRefused) as refused:
        producer.set_groups(catalog=catalog, group_tags=["no!tag"], author=alice, now=NOW)
    assert refused.value.fields.keys() == {"group_tags"}
    with pytest.raises(RightMissing):
        producer.set_groups(catalog=catalog, group_tags=["gold"], author=charlie, now=NOW)
    assert AuditEntry.objects.filter(action="catalog.groups").count() == 2


def test_who_may_not_change_the_settings_of_a_zone_or_of_a_catalog_puts_nothing_in_and_takes_nothing_out(
    call: Any, catalog: Zone, alice: User
) -> None:
    call("POST", "/zones", {"name": "mine.test.", "kind": "Native"})
    producer.create_catalog(name="mine.catalog.", acting=Acting(alice, Channel.WEB, NOW))
    own = {name: Zone.objects.get(name=name) for name in ("mine.test.", "mine.catalog.")}
    mia = make_person("mia", Role.MEMBER)
    for rights, zones in (({Right.READ}, Zone.objects.all()), ({Right.SETTINGS}, own.values())):
        grant = Grant(frozenset(rights), zones=frozenset(zone.pk for zone in zones))
        GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    mia = User.objects.get(pk=mia.pk)
    mine = own["mine.catalog."]

    def put(into: Zone, *names: str, tag: str = "") -> int:
        return producer.put_in(catalog=into, chosen=producer.Chosen(names, tag), author=mia, now=NOW)

    with pytest.raises(CatalogRefused, match=r"a\.test\."):
        put(mine, "a.test.", "mine.test.")
    with pytest.raises(RightMissing):
        put(catalog, "mine.test.")
    Zone.objects.update(tags=["gold"])
    assert put(mine, tag="gold") == 1, "by a tag come those whose settings may be changed"
    producer.take_in(catalog=catalog, zone_ids=[own["mine.test."].pk], author=alice, now=NOW)
    with pytest.raises(RightMissing):
        put(mine, "mine.test.")
    with pytest.raises(RightMissing):
        producer.take_out(catalog=catalog, zones=["mine.test."], author=mia, now=NOW)
    with pytest.raises(CatalogRefused):
        producer.take_out(catalog=catalog, zones=["a.test."], author=mia, now=NOW)
    inside = Produced.objects.filter(catalog=catalog).order_by("zone__name").values_list("zone__name", flat=True)
    assert [*inside] == ["a.test.", "b.test.", "mine.test."]
