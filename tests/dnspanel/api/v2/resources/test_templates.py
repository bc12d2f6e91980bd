"""Tests of templates in the API: create, new versions, and a dry run before zones get a template.

Tests `resources.template_runs` and `resources.run_progress` too.
"""

from typing import Any

import pytest

from dnspanel.transfer.zone_templates import runs
from dnspanel.zones.models import Publication, TemplateLink, TemplateVersion, Zone, ZoneTemplate
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.zones.conftest import MakeZone

pytestmark = pytest.mark.django_db(transaction=True)
TEMPLATES, RUNS = "/api/v2/templates", "/api/v2/template-runs"
IP = {"name": "ip", "label": "Address", "kind": "ipv4", "default": ""}
WEB = {"name": "Web", "text": "$TTL 300\n@ A {{ ip }}\nblog CNAME @\n", "variables": [IP]}


def create(api: MakeApi, **members: object) -> str:
    made = api().post(TEMPLATES, {**WEB, **members})
    assert made.status_code == 201, made.content
    return str(made.headers["Location"])


def apply(api: MakeApi, url: str, zone: Zone, **members: Any) -> Any:
    dry = members.pop("dry_run", False)
    body = {"template": int(url.rpartition("/")[2]), "values": {"ip": "192.0.2.80"}, **members}
    return api().post(f"/api/v2/zones/{zone.name}/apply-template", body, **({"dry_run": "true"} if dry else {}))


def test_a_template_is_read_as_it_was_written_and_changed(api: MakeApi) -> None:
    url = create(api, description="For shops")
    found = api().get(url)
    assert (found.json()["kind"], found.json()["team"], found.json()["version"]) == ("zone", None, 1)
    assert api().get(TEMPLATES).json()["items"] == [found.json()]
    version = api().get(f"{url}/versions/1").json()
    assert (version["text"], version["variables"]) == (WEB["text"], [IP])
    changed = api().patch(url, {"name": "Site"}, headers={"If-Match": found.headers["ETag"]})
    assert (changed.json()["name"], changed.json()["description"]) == ("Site", "For shops")
    assert api().patch(url, {"name": "x"}, headers={"If-Match": found.headers["ETag"]}).status_code == 412
    assert api().delete(url).status_code == 204
    assert api().get(url).status_code == 404
    assert not ZoneTemplate.objects.exists()


def test_versions_are_published_and_listed(api: MakeApi) -> None:
    url = create(api)
    made = api().post(f"{url}/versions", {"text": "@ A {{ ip }}", "variables": [IP], "note": "less"})
    assert (made.status_code, made.headers["Location"]) == (201, f"{url}/versions/2")
    assert api().post(f"{url}/versions", {"text": "@ A {{ ip }}", "variables": [IP]}).json() == made.json()
    assert [each["number"] for each in api().get(f"{url}/versions").json()["items"]] == [1, 2]
    assert api().get(f"{url}/versions/3").status_code == 404
    assert TemplateVersion.objects.count() == 2


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"text": "@ A nonsense", "variables": []}, "/text"),
        ({"variables": []}, "/variables/ip"),
        ({"variables": [{**IP, "name": "Ip"}]}, "/variables/0/name"),
        ({"team": 99_999}, "/team"),
        ({"kind": "both"}, "/kind"),
    ],
)
def test_what_is_wrong_is_pointed_at(api: MakeApi, members: dict[str, Any], pointer: str) -> None:
    refused = api().post(TEMPLATES, {**WEB, **members})
    assert refused.status_code == 422
    assert pointer in [fault["pointer"] for fault in refused.json()["errors"]]


def test_a_dry_run_writes_nothing_and_the_same_without_it_publishes(api: MakeApi, make_zone: MakeZone) -> None:
    zone, url = make_zone("blog 300 CNAME elsewhere.test."), create(api)
    before = Publication.objects.count()
    steps = apply(api, url, zone, dry_run=True).json()["steps"]
    assert {(step["name"], step["type"], step["act"]) for step in steps} == {
        ("example.test.", "A", "add"),
        ("blog.example.test.", "CNAME", "conflict"),
    }
    assert Publication.objects.count() == before
    done = apply(api, url, zone, keep=True, reason="new site")
    assert done.status_code in {200, 202}
    assert done.json()["steps"] == steps
    assert Publication.objects.latest("sequence").reason == "new site"
    link = TemplateLink.objects.get()
    assert (link.version, link.values, link.before) == (1, {"ip": "192.0.2.80"}, None)
    assert apply(api, url, zone, overwrite=True).json()["publication"] is not None
    assert apply(api, url, zone).json()["steps"] == []
    assert apply(api, url, zone, keep=False).json()["publication"] is None
    assert not TemplateLink.objects.exists()


def test_a_snippet_goes_to_a_name_inside_of_the_zone(api: MakeApi, make_zone: MakeZone) -> None:
    zone, url = make_zone(), create(api, kind="snippet", text="_v TXT {{ name }}", variables=[])
    steps = apply(api, url, zone, name="sub", values={}).json()["steps"]
    assert [step["name"] for step in steps] == ["_v.sub.example.test."]
    for name in ("other.test.", "a..b"):
        refused = apply(api, url, zone, name=name)
        assert [fault["pointer"] for fault in refused.json()["errors"]] == ["/name"]


def test_wrong_values_and_what_there_is_not_are_pointed_at(api: MakeApi, make_zone: MakeZone) -> None:
    zone, url = make_zone(), create(api)
    for members, pointer in (
        ({"values": {}}, "/values/ip"),
        ({"template": 99_999}, "/template"),
        ({"version": 2}, "/version"),
    ):
        refused = apply(api, url, zone, **members)
        assert [fault["pointer"] for fault in refused.json()["errors"]] == [pointer]
    assert not TemplateLink.objects.exists()


def test_a_reader_applies_and_makes_none(api: MakeApi, make_zone: MakeZone) -> None:
    zone, url = make_zone(), create(api)
    body = {"template": int(url.rpartition("/")[2])}
    assert api(Caller.READER).post(f"/api/v2/zones/{zone.name}/apply-template", body).status_code == 403
    assert api(Caller.READER).post(TEMPLATES, WEB).status_code == 403
    assert api(Caller.READER).get(url).status_code == 200


def test_a_run_is_a_dry_run_first_and_then_carried_out(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone()
    template_id = int(create(api).rpartition("/")[2])
    terms = {"template": template_id, "q": "example", "values": {"ip": "192.0.2.80"}, "keep": True}
    dry = api().post(RUNS, terms)
    assert (dry.status_code, dry.json()["dry_run"], dry.json()["state"]) == (202, True, "waiting")
    runs.work_on_run(dry.json()["id"])
    url = dry.headers["Location"]
    assert api().get(url).json()["counts"] == {"change": 1}
    assert [row["outcome"] for row in api().get(f"{url}/zones").json()["items"]] == ["change"]
    assert api().get(f"{url}/zones", outcome="refused").json()["items"] == []
    begun = api().post(RUNS, {"dry_run_of": dry.json()["id"], "overwrite": True})
    runs.work_on_run(begun.json()["id"])
    done = api().get(begun.headers["Location"]).json()
    assert (done["dry_run"], done["overwrite"], done["state"], done["counts"]) == (False, True, "done", {"change": 1})
    assert [run["id"] for run in api().get(RUNS).json()["items"]] == [done["id"], dry.json()["id"]]
    assert TemplateLink.objects.get().values == {"ip": "192.0.2.80"}
    assert api().delete(url).status_code == 409
    waiting = api().post(RUNS, {"template": template_id})
    assert api().delete(waiting.headers["Location"]).status_code == 204


def test_what_no_run_can_be_is_pointed_at(api: MakeApi) -> None:
    url = create(api)
    for body, pointer in (
        ({}, "/template"),
        ({"template": 99_999}, "/template"),
        ({"dry_run_of": 99_999}, "/dry_run_of"),
        ({"dry_run_of": 1, "q": "x"}, "/dry_run_of"),
        ({"template": int(url.rpartition("/")[2]), "overwrite": True}, "/overwrite"),
        ({"template": int(url.rpartition("/")[2]), "q": "", "values": {"ip": "x"}}, "/ip"),
    ):
        refused = api().post(RUNS, body)
        assert (refused.status_code, [fault["pointer"] for fault in refused.json()["errors"]]) == (422, [pointer])
