"""Tests of DNSSEC policies and their runs in the API. Tests `resources.dnssec_policy_runs` too."""

import pytest

from dnspanel.accounts.models import Team
from dnspanel.accounts.people import teams
from dnspanel.zones.dnssec import queries
from dnspanel.zones.models import PolicyRun, Zone
from dnspanel.zones.runs import policy_runs
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

POLICIES, RUNS = "/api/v2/dnssec/policies", "/api/v2/dnssec/policy-runs"
FULL = {
    "name": "Full",
    "algorithm": 8,
    "bits": 3072,
    "split": True,
    "denial": {"method": "nsec3", "opt_out": True, "narrow": False, "iterations": 0, "salt": "ab"},
    "cds": [2, 4],
    "cdnskey": True,
    "zsk_days": 90,
    "ksk_days": 365,
    "automatic": True,
    "signs_new_zones": True,
    "first_ds": True,
    "default": True,
    "tags": ["web"],
    "teams": [],
}
pytestmark = pytest.mark.django_db(transaction=True)


def create(api: MakeApi, **members: object) -> str:
    made = api().post(POLICIES, {"name": "Standard", **members})
    assert made.status_code == 201, made.content
    return str(made.headers["Location"])


def test_a_policy_is_read_as_it_was_written(api: MakeApi) -> None:
    url = create(api, **FULL)
    found = api().get(url)
    assert {name: found.json()[name] for name in FULL} == FULL
    assert api().get(POLICIES).json()["items"] == [found.json()]
    changed = api().patch(url, {"tags": [], "automatic": False}, headers={"If-Match": found.headers["ETag"]})
    assert changed.json() == found.json() | {
        "tags": [],
        "automatic": False,
        "changed_at": changed.json()["changed_at"],
    }
    stale = api().patch(url, {"name": "x"}, headers={"If-Match": found.headers["ETag"]})
    assert stale.status_code == 412


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"algorithm": 5}, "/algorithm"),
        ({"cds": [3]}, "/cds"),
        ({"zsk_days": 3}, "/zsk_days"),
        ({"ksk_days": 0}, "/ksk_days"),
        ({"denial": {"method": "nsec", "narrow": True}}, "/denial"),
        ({"denial": {"method": "nsec3", "salt": "a"}}, "/denial/salt"),
        ({"tags": ["two words"]}, "/tag"),
        ({"teams": [4711]}, "/teams"),
        ({"surprise": 1}, "/surprise"),
    ],
)
def test_what_no_policy_can_say_is_pointed_at(members: dict[str, object], pointer: str, api: MakeApi) -> None:
    refused = api().post(POLICIES, {"name": "Standard", **members})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, pointer)


def test_a_policy_in_use_goes_for_another_one(api: MakeApi) -> None:
    team = teams.create_team(name="Web", by=None, now=NOW)
    url, heir = create(api, teams=[team.pk]), create(api, name="Heir")
    for refused in (api().delete(url), api().delete(f"{url}?replaced_by=4711")):
        assert (refused.status_code, refused.json()["errors"][0]["parameter"]) == (422, "replaced_by")
    assert api().delete(f"{url}?replaced_by={heir.rpartition('/')[2]}").status_code == 204
    assert api().get(heir).json()["teams"] == [team.pk]
    assert api().get(url).status_code == 404


def test_a_zone_says_its_policy_from_where_and_what_it_lacks(api: MakeApi, zone: Zone) -> None:
    url = f"/api/v2/zones/{zone.name}/dnssec/policy"
    assert api().get(url).json() == {"policy": None, "source": "", "own": False, "differences": [], "due": []}
    default = create(api, default=True)
    found = api().get(url).json()
    assert (found["policy"], found["own"]) == (api().get(default).json(), False)
    assert found["differences"] == [
        {"act": "sign", "rollover": None, "message": "Sign: ECDSAP256SHA256, one key (CSK), NSEC."}
    ]
    own = create(api, name="Own", ksk_days=1)
    attached = api().put(url, {"policy": int(own.rpartition("/")[2])}).json()
    assert (attached["policy"]["name"], attached["source"], attached["own"]) == ("Own", "set for this zone", True)
    assert api().put(url, {"policy": 4711}).status_code == 422
    assert api().delete(url).status_code == 204
    assert api().get(url).json()["source"] == "the panel’s default"


def test_who_may_not_change_policies_does_not_learn_of_tags_and_teams(api: MakeApi, zone: Zone) -> None:
    url = create(api, tags=["web"])
    found = api(Caller.READER).get(url).json()
    assert (found["name"], found["tags"], found["teams"]) == ("Standard", None, None)


def test_a_member_reads_and_names_policies_of_zones_that_they_see(api: MakeApi, zone: Zone) -> None:
    standard, hidden = create(api, default=True), create(api, name="Of a customer")
    member = api(Caller.OTHER_TEAM)
    assert [each["name"] for each in api().get(f"{POLICIES}?limit=2").json()["items"]] == ["Standard", "Of a customer"]
    assert "Of a customer" not in member.get(POLICIES).content.decode()
    assert member.get(hidden).status_code == 404
    refused = member.post(RUNS, {"policy": int(hidden.rpartition("/")[2])})
    assert refused.status_code in {403, 404, 422}
    assert "Of a customer" not in refused.content.decode()
    assert api(Caller.READER).get(standard).status_code == 200


def test_a_dry_run_is_carried_out_and_followed(api: MakeApi, make_zone: MakeZone) -> None:
    zones = [make_zone(name=f"{name}.test.") for name in ("first", "second")]
    policy = int(create(api, default=True).rpartition("/")[2])
    begun = api().post(RUNS, {"policy": policy, "q": "first"})
    assert (begun.status_code, begun.json()["state"], begun.json()["dry_run"]) == (202, "waiting", True)
    dry = finished(api, begun.headers["Location"])
    assert (dry["state"], dry["counts"], dry["zones_total"]) == ("done", {"sign": 1}, 1)
    real = api().post(RUNS, {"dry_run_of": dry["id"]})
    done = finished(api, real.headers["Location"])
    assert (done["dry_run_of"], done["policy"], done["q"]) == (dry["id"], policy, "first")
    assert done["last_sequence"] > 0
    assert [queries.signing_of(zone).is_signed for zone in zones] == [True, False]
    listed = api().get(f"{real.headers['Location']}/zones?act=sign").json()["items"]
    assert listed == [{"zone": "first.test.", "act": "sign", "message": "Sign: ECDSAP256SHA256, one key (CSK), NSEC."}]
    assert api().get(f"{real.headers['Location']}/zones?act=refused").json()["items"] == []
    assert api().get(f"{real.headers['Location']}/zones?act=x").status_code == 422
    assert [run["id"] for run in api().get(RUNS).json()["items"]] == [done["id"], dry["id"]]


def finished(api: MakeApi, url: str) -> dict[str, object]:
    policy_runs.work_on_run(int(url.rpartition("/")[2]))
    found: dict[str, object] = api().get(url).json()
    return found


def test_a_run_is_cancelled_once_and_refused_with_what_is_none(api: MakeApi, zone: Zone) -> None:
    url = api().post(RUNS, {}).headers["Location"]
    assert api().post(RUNS, {"dry_run_of": int(url.rpartition("/")[2])}).status_code == 409
    assert api().delete(url).status_code == 204
    assert api().delete(url).status_code == 409
    for body, pointer in (
        ({"policy": 4711}, "/policy"),
        ({"dry_run_of": 4711}, "/dry_run_of"),
        ({"dry_run_of": 1, "q": "x"}, "/dry_run_of"),
    ):
        assert api().post(RUNS, body).json()["errors"][0]["pointer"] == pointer
    assert PolicyRun.objects.count() == 1
    assert not Team.objects.exists()
