"""Tests of the audit log in the API: entries and their actors, gapless pages, own entries without the permission."""

from dnspanel.zones.audit import audit_links
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.zones.conftest import MakeZone

AUDIT = "/api/v2/audit"


def test_acts_say_who_by_which_token_from_where_and_in_which_request(api: MakeApi) -> None:
    admin = api()
    made = admin.post("/api/v2/teams", {"name": "Web"})
    act = admin.get(AUDIT, action="team.").json()["items"][0]
    me = admin.get("/api/v2/me").json()
    assert (act["actor"]["user"], act["action"], act["target"]) == ("alice", "team.create", "Web")
    named = {name: me["token"][name] for name in ("id", "prefix", "purpose")}
    assert act["actor"] == {"kind": "token", "user": "alice", "token": named}
    assert act["address"] == "192.0.2.10"
    assert act["request_id"] == made.headers["X-Request-ID"]
    assert act["session"] is None
    assert admin.get(AUDIT, session="1f3a").json()["items"] == []


def test_publications_are_among_the_acts(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1")
    act = api().get(AUDIT, action="publish").json()["items"][0]
    assert (act["kind"], act["target"]) == ("publication", "example.test.")


def test_pages_join_though_more_is_written_meanwhile(api: MakeApi, make_zone: MakeZone) -> None:
    admin = api()
    for number in range(4):
        make_zone(name=f"z{number}.test.")
        admin.post("/api/v2/teams", {"name": f"Team {number}"})
    complete = [(act["kind"], act["id"]) for act in admin.get(AUDIT).json()["items"]]
    joined, url = [], f"{AUDIT}?limit=3"
    while url:
        page = admin.get(url.removeprefix("http://testserver")).json()
        joined += [(act["kind"], act["id"]) for act in page["items"]]
        admin.post("/api/v2/teams", {"name": f"Later {len(joined)}"})
        url = page["next"]
    assert joined == complete


def test_who_may_not_read_the_log_sees_the_tokens_own_acts(api: MakeApi) -> None:
    api().post("/api/v2/teams", {"name": "Web"})
    reading = [{"rights": ["read"], "everywhere": True}]
    api(Caller.EDITOR).post("/api/v2/tokens", {"purpose": "mine", "scope": reading})
    items = api(Caller.EDITOR).get(AUDIT).json()["items"]
    assert [(act["actor"]["user"], act["action"]) for act in items] == [("bob", "token.create")]
    assert api(Caller.MONITORING).get(AUDIT).json()["items"] == []


def test_a_time_that_is_none_is_refused(api: MakeApi) -> None:
    assert api().get(AUDIT, since="yesterday").json()["errors"][0]["parameter"] == "since"
    assert api().get(AUDIT, since="2030-01-01T00:00:00Z").json()["items"] == []


def test_an_act_is_found_by_what_it_says_and_has_its_place_in_the_chain(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone(name="shop.test.")
    make_zone(name="other.test.")
    [act] = api().get(AUDIT, q="shop").json()["items"]
    assert (act["target"], act["number"], act["hash"]) == ("shop.test.", None, None)
    audit_links.link_new_acts()
    [act] = api().get(AUDIT, q="shop").json()["items"]
    assert act["number"] >= 1
    assert len(act["hash"]) == 64
