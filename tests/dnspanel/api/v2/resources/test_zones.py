"""Tests of zones in API v2: lists that stay stable during writes, creation, settings, deletion and restoration.

Tests `http.pages` and `resources.new_zone` too.
"""

import json
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import Team, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.plan import deletion_guard
from dnspanel.zones.publishing import edit
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def zones(alice: User) -> list[str]:
    """Create ten small zones."""
    names = [f"z{number:02}.test." for number in range(10)]
    edit.create_zones(zones=[edit.NewZone(name) for name in names], acting=Acting(alice, Channel.WEB, NOW))
    return names


def test_a_zone_is_shown_with_its_tag(call: Caller, zone: Zone) -> None:
    answer = call("GET", "/zones/example.test.")
    found = json.loads(answer.content)
    assert found["etag"] == answer["ETag"]
    assert (found["name"], found["revision"], found["rrset_count"], found["tags"]) == (
        "example.test.",
        1,
        6,
        [],
    )
    assert found["changed_by"] == {"kind": "user", "user": "alice", "token": None}
    assert call("GET", found["url"], if_none_match=found["etag"]).status_code == 304
    assert call.get("/zones?q=example")["items"] == [found]


def test_pages_neither_repeat_nor_skip_while_others_write(call: Caller, alice: User, zones: list[str]) -> None:
    first = call.get("/zones?limit=4")
    edit.create_zone(zone=edit.NewZone("a.test"), acting=Acting(alice, Channel.WEB, NOW))  # before the cursor
    edit.create_zone(zone=edit.NewZone("z05a.test"), acting=Acting(alice, Channel.WEB, NOW))  # after the cursor
    call.good("DELETE", "/zones/z03.test.")  # the zone in the cursor
    rest = call.all(first["next"].removeprefix("http://testserver"))
    seen = [item["name"] for item in first["items"] + rest]
    assert seen == [*zones[:6], "z05a.test.", *zones[6:]]


def test_a_page_says_where_the_next_one_is_in_a_link_header_too(call: Caller, zones: list[str]) -> None:
    answer = call("GET", "/zones?limit=4&q=z0")
    url = json.loads(answer.content)["next"]
    assert answer["Link"] == f'<{url}>; rel="next"'
    assert "q=z0" in url
    assert "Link" not in call("GET", "/zones")


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "limit=-1", "limit=１", "team=x", "q=%00"])
def test_parameters_that_mean_nothing_are_pointed_at(call: Caller, query: str) -> None:
    problem = call.problem(422, "GET", f"/zones?{query}")
    assert problem["errors"][0]["parameter"] == query.partition("=")[0]


@pytest.mark.parametrize("path", ["/zones?q=foo:bar+shop", "/search?kind=zone&q=foo:bar"])
def test_a_filter_that_there_is_not_is_refused(call: Caller, path: str) -> None:
    (fault,) = call.problem(422, "GET", path)["errors"]
    assert fault["parameter"] == "q"
    assert fault["detail"].startswith("Unknown filter foo:. Filters: changed:, comment:, dnssec:, has:,")


@pytest.mark.parametrize(
    "path", ["/zones?q=shop+ttl:x", "/zones/example.test./rrsets?q=ttl:x", "/search?kind=zone&q=ttl:x"]
)
def test_a_filter_that_does_not_take_its_word_is_refused(call: Caller, zone: Zone, path: str) -> None:
    (fault,) = call.problem(422, "GET", path)["errors"]
    assert fault["detail"].startswith("ttl:x: ttl: needs seconds")


def test_a_text_with_a_colon_is_searched_as_an_rdata(call: Caller, make_zone: MakeZone) -> None:
    make_zone("@ 300 TXT verify:abc")
    assert [found["kind"] for found in call.get('/search?q="verify:abc"')["items"]] == ["rrset"]
    (fault,) = call.problem(422, "GET", "/search?q=verify:abc")["errors"]
    assert "To search for the text itself, put it in quotes." in fault["detail"]


@pytest.mark.parametrize("path", ["/zones", "/zones/example.test./rrsets", "/audit", "/tokens", "/trash", "/search"])
def test_a_parameter_that_a_list_does_not_have_is_refused(call: Caller, zone: Zone, path: str) -> None:
    """Regression test: `?tags=shop` was ignored, so scripts worked on all zones."""
    (fault,) = call.problem(422, "GET", f"{path}?q=x&foo=bar&limit=5" if path == "/search" else f"{path}?foo=bar")[
        "errors"
    ]
    assert (fault["code"], fault["parameter"]) == ("unknown", "foo")
    assert "limit" in fault["detail"]


@pytest.mark.parametrize("cursor", ["x", "ew", "WzFd", "W10", "WyJhIiwxXQ", "WyJcdWQ4MDAiXQ", "%00"])
def test_a_cursor_that_no_list_gave_is_refused(call: Caller, cursor: str) -> None:
    assert call.problem(400, "GET", f"/zones?cursor={cursor}")["code"] == "bad-cursor"


def test_zones_are_found_by_words_rdata_tag_and_team(call: Caller, zone: Zone, zones: list[str]) -> None:
    team = Team.objects.create(name="web", created_at=NOW)
    call.good("PATCH", "/zones/z01.test.", {"tags": ["Shop"], "team": team.pk})
    for query, found in (
        ("q=z0+1", ["z01.test."]),
        ("q=has:192.0.2.9", ["example.test."]),
        ("tag=shop", ["z01.test."]),
        (f"team={team.pk}", ["z01.test."]),
        ("tag=none", []),
    ):
        assert [item["name"] for item in call.get(f"/zones?{query}")["items"]] == found


def test_a_zone_is_created_with_what_it_lacks(call: Caller) -> None:
    body = {
        "name": "New.Test",
        "nameservers": ["ns1.new.test", "ns2.new.test."],
        "hostmaster": "mail.new.test.",
        "rrsets": [{"name": "ns1", "type": "A", "ttl": 60, "rdata": ["192.0.2.1"]}],
    }
    answer = call("POST", "/zones", body)
    result = json.loads(answer.content)
    assert answer.status_code == 202
    assert (answer["Location"], answer["ETag"]) == ("/api/v2/zones/new.test.", result["zone"]["etag"])
    [made] = result["publication"]["zones"]
    serial = int(f"{timezone.now():%Y%m%d}01")
    assert made == {"zone": "new.test.", "revision": 1, "serial": serial, "kind": "create"}
    assert len(call.all("/zones/new.test./rrsets")) == 3
    assert call.problem(409, "POST", "/zones", body)["code"] == "name-taken"


@pytest.mark.parametrize("slash", ["/", "%2F", "\\047"])
def test_a_slash_in_a_name_may_be_written_in_every_way(call: Caller, make_zone: MakeZone, slash: str) -> None:
    make_zone("1 300 A 192.0.2.1", name="0/25.2.0.192.in-addr.arpa.")
    url = f"/zones/0{slash}25.2.0.192.in-addr.arpa."
    assert call.get(url)["name"] == "0/25.2.0.192.in-addr.arpa."
    assert call.get(f"{url}/rrsets/1/A")["rdata"] == ["192.0.2.1"]
    assert [each["revision"] for each in call.all(f"{url}/revisions")] == [1]
    assert call.get(f"{url}/revisions/1")["revision"] == 1
    assert call("DELETE", url).status_code == 202


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/name"),
        ({"name": 1}, "/name"),
        ({"name": "a..b"}, "/name"),
        ({"name": "n.test", "nameservers": ["a..b"]}, "/nameservers/0"),
        ({"name": "n.test", "hostmaster": "a..b"}, "/hostmaster"),
        ({"name": "n.test", "rrsets": {}}, "/rrsets"),
        ({"name": "n.test", "rrsets": [{"name": "x", "type": "A", "ttl": 1, "rdata": ["y"]}]}, "/rrsets/0/rdata/0"),
        (
            {"name": "n.test", "rrsets": [{"name": "x.other.test.", "type": "A", "ttl": 1, "rdata": ["192.0.2.1"]}]},
            "/rrsets/0/name",
        ),
        (
            {"name": "n.test", "rrsets": [{"name": "x.n.test", "type": "A", "ttl": 1, "rdata": ["192.0.2.1"]}]},
            "/rrsets/0/name",
        ),
        ({"name": "n.test", "team": 77}, "/team"),
        ({"name": "n.test", "kind": "Native"}, "/kind"),
    ],
)
def test_what_a_new_zone_cannot_have_is_pointed_at(call: Caller, body: Any, pointer: str) -> None:
    assert call.problem(422, "POST", "/zones", body)["errors"][0]["pointer"] == pointer
    assert not Zone.objects.exists()


def test_settings_change_under_the_zones_tag(call: Caller, zone: Zone) -> None:
    tag = call.get("/zones/example.test.")["etag"]
    changed = call.good("PATCH", "/zones/example.test.", {"tags": ["b", "A", "a"]}, if_match=tag)
    assert (changed["tags"], changed["revision"]) == (["a", "b"], 1)
    problem = call.problem(412, "PATCH", "/zones/example.test.", {"tags": []}, if_match=tag)
    assert (problem["theirs"]["tags"], problem["mine"], problem["base"]) == (["a", "b"], {"tags": []}, {"revision": 1})
    assert call.problem(422, "PATCH", "/zones/example.test.", {"tags": ["ä"]})["errors"][0]["pointer"] == "/tags"


def test_the_default_ttl_is_a_setting_under_the_zones_tag(call: Caller, zone: Zone) -> None:
    tag = call.get("/zones/example.test.")["etag"]
    changed = call.good("PATCH", "/zones/example.test.", {"default_ttl": 300}, if_match=tag)
    assert (changed["default_ttl"], changed["revision"], changed["tags"]) == (300, 1, [])
    call.problem(412, "PATCH", "/zones/example.test.", {"default_ttl": 60}, if_match=tag)
    assert call.good("PATCH", "/zones/example.test.", {"tags": ["a"]})["default_ttl"] == 300
    assert call.get("/zones")["items"][0]["default_ttl"] == 300
    assert call.good("PATCH", "/zones/example.test.", {"default_ttl": None})["default_ttl"] is None
    problem = call.problem(422, "PATCH", "/zones/example.test.", {"default_ttl": -1})
    assert problem["errors"][0]["pointer"] == "/default_ttl"


def test_who_deletes_many_zones_within_minutes_is_asked_to_confirm(call: Caller, make_zone: MakeZone) -> None:
    few = deletion_guard.MASS_FEW
    names = [f"mass{number:02}.test." for number in range(few + 1)]
    for name in names:
        make_zone(name=name)
    for name in names[:few]:
        call.good("DELETE", f"/zones/{name}")
    problem = call.problem(409, "DELETE", f"/zones/{names[few]}")
    assert problem["type"].endswith("needs-confirmation")
    assert problem["deleted_lately"] == few
    assert '"confirm": true' in problem["detail"]
    assert call.get(f"/zones/{names[few]}")["name"] == names[few]
    call.good("DELETE", f"/zones/{names[few]}?confirm=true")
    call.problem(404, "GET", f"/zones/{names[few]}")


def test_many_zones_are_deleted_together_or_not_at_all(
    call: Caller, make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All zones are checked before the first one is deleted."""
    monkeypatch.setattr(deletion_guard, "MASS_FEW", 1)
    for name in ("a.test.", "b.test.", "c.test."):
        make_zone(name=name)
    zones = [{"zone": "a.test"}, {"zone": "B.test.", "at_revision": 1}]
    assert call.problem(409, "POST", "/bulk/deletions", {"zones": zones})["code"] == "needs-confirmation"
    wrong = [*zones, {"zone": "none.test"}, {"zone": "a..b"}, {"zone": "a.test"}]
    faults = call.problem(422, "POST", "/bulk/deletions", {"zones": wrong, "confirm": True})["errors"]
    assert [(fault["pointer"], fault["code"]) for fault in faults] == [
        ("/zones/2/zone", "not-found"),
        ("/zones/3/zone", "not-found"),
        ("/zones/4/zone", "twice"),
    ]
    moved = [*zones, {"zone": "c.test", "at_revision": 7}]
    call.problem(412, "POST", "/bulk/deletions", {"zones": moved, "confirm": True})
    assert Zone.objects.filter(deleted_at=None).count() == 3
    deleted = call.good("POST", "/bulk/deletions", {"zones": zones, "confirm": True, "reason": "moved away"})
    assert [zone["zone"] for zone in deleted["zones"]] == ["a.test.", "b.test."]
    assert Publication.objects.latest("sequence").reason == "moved away"
    assert Zone.objects.filter(deleted_at=None).count() == 1


def test_a_zone_is_deleted_and_restored(call: Caller, zone: Zone) -> None:
    stale = call.get("/zones/example.test.")["etag"]
    call.good("DELETE", "/zones/example.test./rrsets/shop/CNAME")
    call.problem(412, "DELETE", "/zones/example.test.", if_match=stale)
    tag = call.get("/zones/example.test.")["etag"]
    assert call.good("DELETE", "/zones/example.test.?reason=old", if_match=tag)["zones"][0]["revision"] == 3
    missing = call.problem(404, "GET", "/zones/example.test.")
    (trashed,) = call.all("/trash")
    assert missing["detail"].startswith("The zone example.test. was moved to the trash on ")
    assert missing["trash"] == {name: trashed[name] for name in ("deleted_at", "gone_at", "url")}
    assert call.problem(404, "GET", "/zones/example.test./rrsets")["trash"] == missing["trash"]
    assert (trashed["name"], trashed["id"]) == ("example.test.", zone.pk)
    restored = call.good("POST", trashed["url"] + "/restore")
    assert (restored["zone"]["name"], restored["zone"]["revision"]) == ("example.test.", 4)
    call.problem(404, "POST", trashed["url"] + "/restore")
    call.problem(404, "POST", f"/trash/{2**70}/restore")


def test_a_zone_with_a_slash_in_its_name_has_an_address(call: Caller, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1", name="0/25.2.0.192.test.")
    (listed,) = call.all("/zones")
    assert call.get(listed["url"]) == listed


def test_what_a_token_may_not_know_about_is_not_there(
    call: Caller, make_caller: MakeCaller, charlie: User, zone: Zone, zones: list[str]
) -> None:
    narrow = make_caller(Grant(frozenset({Right.READ}), zones=frozenset({zone.pk})))
    assert [item["name"] for item in narrow.all("/zones")] == ["example.test."]
    narrow.problem(404, "GET", "/zones/z01.test.")
    narrow.problem(403, "DELETE", "/zones/example.test.")
    narrow.problem(403, "PATCH", "/zones/example.test.", {"tags": []})
    narrow.problem(403, "POST", "/zones", {"name": "n.test"})
    call.good("DELETE", "/zones/z01.test.")
    assert narrow.all("/trash") == []
    assert "trash" not in narrow.problem(404, "GET", "/zones/z01.test.")
    reader = make_caller(Grant(frozenset({Right.READ}), everywhere=True), owner=charlie)
    assert len(reader.all("/zones")) == 10


def test_the_list_takes_the_same_queries_however_many_zones(
    call: Caller, zones: list[str], django_assert_num_queries: Any
) -> None:
    call.get("/zones")
    with django_assert_num_queries(3):  # the token, the zones, and the tokens of their last changes
        call.get("/zones")


def test_a_zone_is_cloned_into_many_or_none(call: Caller, zone: Zone) -> None:
    wrong = {"names": ["a.test", "..", "A.test."]}
    faults = call.problem(422, "POST", "/zones/example.test./clones", wrong)["errors"]
    assert [(fault["pointer"], fault["code"]) for fault in faults] == [("/names/1", "bad-name"), ("/names/2", "twice")]
    call.problem(409, "POST", "/zones/example.test./clones", {"names": ["a.test", "example.test"]})
    assert Zone.objects.count() == 1
    cloned = call.good("POST", "/zones/example.test./clones", {"names": ["a.test", "b.test"], "reason": "customers"})
    assert [(found["zone"], found["added"]) for found in cloned["zones"]] == [("a.test.", 6), ("b.test.", 6)]
    assert call.get("/zones/b.test./rrsets/www/A")["rdata"] == call.get("/zones/example.test./rrsets/www/A")["rdata"]
    call.problem(404, "POST", "/zones/nowhere.test./clones", {"names": ["c.test"]})


def test_a_token_that_sees_a_part_of_a_zone_cannot_clone_it(make_caller: MakeCaller, zone: Zone) -> None:
    rights = frozenset({Right.READ, Right.CREATE_ZONE})
    call = make_caller(Grant(rights, everywhere=True, names=("www",)))
    refused = call.problem(403, "POST", "/zones/example.test./clones", {"names": ["a.test"]})
    assert refused["detail"] == "You don’t have permission to view example.test."
    assert Zone.objects.count() == 1
