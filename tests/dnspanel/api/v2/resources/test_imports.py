"""Tests of imports in the API, from the upload in chunks to the undo, with the functions of the real worker.

Tests `resources.import_zones`, `resources.import_sources` and `resources.import_zones` too.
"""

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.transfer.models import ImportJob, State
from dnspanel.zones.models import Zone
from tests.dnspanel.api.callers import Api, Caller, MakeApi
from tests.dnspanel.transfer.conftest import work_through
from tests.dnspanel.zones.conftest import MakeZone

COLUMNS = {"zone": 0, "name": 1, "type": 2, "value": 3}
IMPORTS = "/api/v2/imports"
NEW = b"""$ORIGIN new.test.
@ 3600 SOA ns1.example.net. h.example.net. 1 2 3 4 5
@ 3600 NS ns1.example.net.
www 300 A 192.0.2.1
"""


@pytest.fixture(autouse=True)
def directory(settings: Any, tmp_path: Path) -> None:
    settings.TRANSFER_DIR = tmp_path
    settings.SOURCE_NETWORKS = ["192.0.2.0/24"]


def worked(api: Api, url: str) -> Any:
    """Do all the work of the import, as the workers would, and return the import."""
    work_through(ImportJob.objects.get(pk=int(url.rpartition("/")[2])))
    return api.get(url).json()


def upload(api: Api, url: str, name: str, text: bytes, **query: object) -> Any:
    return api.put(f"{url}/files/{name}", text, content_type="application/octet-stream", **query)


def test_files_in_chunks_become_zones_and_are_taken_back(api: MakeApi) -> None:
    admin = api()
    url = admin.post(IMPORTS, {"source": "files", "title": "Move"}).headers["Location"]
    assert upload(admin, url, "some/new.zone", NEW[:20], offset=0).json() == {"name": "some/new.zone", "size": 20}
    wrong = upload(admin, url, "some/new.zone", NEW[30:], offset=30)
    assert (wrong.status_code, wrong.json()["offset"]) == (409, 20)
    assert upload(admin, url, "some/new.zone", NEW[20:], offset=20).json()["size"] == len(NEW)
    assert admin.get(f"{url}/files").json()["items"] == [{"name": "some/new.zone", "size": len(NEW)}]
    admin.post(f"{url}/scan")
    assert worked(admin, url)["state"] == "choosing"
    admin.post(f"{url}/plan")
    planned = worked(admin, url)
    assert (planned["state"], planned["plan"]["creates"]) == ("planned", 1)
    admin.post(f"{url}/apply")
    assert worked(admin, url)["state"] == "done"
    assert admin.get("/api/v2/zones/new.test").status_code == 200
    [listed] = admin.get(IMPORTS).json()["items"]
    assert (listed["title"], listed["published"]) == ("Move", 1)
    admin.post(f"{url}/undo")
    assert worked(admin, url)["state"] == "undone"
    assert admin.get("/api/v2/zones/new.test").status_code == 404


def test_a_pasted_zone_with_a_fault_tells_its_line(api: MakeApi) -> None:
    admin = api()
    text = NEW.decode() + "bad 300 A not-an-address\n"
    url = admin.post(IMPORTS, {"source": "paste", "paste": {"text": text}}).headers["Location"]
    worked(admin, url)
    [fault] = admin.get(f"{url}/faults", severity="error").json()["items"]
    assert (fault["line"], fault["zone"]) == (5, "new.test.")
    answer = admin.get(f"{url}/faults.csv", headers={"Accept": "text/csv"})
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert b"not-an-address" in answer.content
    [zone] = admin.get(f"{url}/zones", action="failed").json()["items"]
    assert (zone["name"], zone["errors"]) == ("new.test.", 1)


def test_zones_are_chosen_by_name_and_options_changed_while_the_import_waits(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.9", name="new.test.")
    admin = api()
    url = admin.post(IMPORTS, {"source": "paste", "paste": {"text": NEW.decode()}}).headers["Location"]
    worked(admin, url)
    tag = admin.get(url).headers["ETag"]
    assert admin.patch(url, {"options": {"existing": "replace"}}, headers={"If-Match": tag}).status_code == 200
    assert admin.patch(url, {"options": {"existing": "skip"}}, headers={"If-Match": tag}).status_code == 412
    assert admin.post(f"{url}/choices", {"choice": "skip", "zones": ["new.test"]}).json() == {"changed": 1}
    admin.post(f"{url}/plan")
    assert worked(admin, url)["plan"]["skipped"] == 1
    assert admin.patch(url, {"options": {"ttl": 1, "ttl_most": 2}}).status_code == 422


@pytest.mark.parametrize(("source", "existing"), [("paste", "rrsets"), ("csv", "rrsets"), ("csv", "union")])
def test_a_part_of_a_zone_needs_neither_soa_nor_ns(
    api: MakeApi, make_zone: MakeZone, source: str, existing: str
) -> None:
    make_zone("www 300 A 192.0.2.9", "mail 300 A 192.0.2.8", name="new.test.")
    admin = api()

    def rdata() -> dict[tuple[str, str], list[str]]:
        items = admin.get("/api/v2/zones/new.test./rrsets").json()["items"]
        return {(each["name"], each["type"]): sorted(each["rdata"]) for each in items if each["type"] != "SOA"}

    before = rdata()
    of_source: dict[str, Any] = {"csv": {**COLUMNS, "ttl": 4}}
    if source == "paste":
        of_source = {"paste": {"text": "www 300 A 192.0.2.1\n", "zone": "new.test."}}
    body = {"source": source, "options": {"existing": existing}, **of_source}
    url = admin.post(IMPORTS, body).headers["Location"]
    if source == "csv":
        upload(admin, url, "part.csv", b"zone,name,type,value,ttl\nnew.test,www,A,192.0.2.1,300\n")
        admin.post(f"{url}/scan")
    worked(admin, url)
    assert admin.get(f"{url}/faults", severity="error").json()["items"] == []
    admin.post(f"{url}/plan")
    assert worked(admin, url)["plan"]["failed"] == 0
    admin.post(f"{url}/apply")
    worked(admin, url)
    values = ["192.0.2.1"] if existing == "rrsets" else ["192.0.2.1", "192.0.2.9"]
    assert rdata() == before | {("www.new.test.", "A"): values}


def test_what_would_lose_much_needs_a_confirmation(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone(*(f"host{number} 300 A 192.0.2.{number}" for number in range(1, 12)), name="new.test.")
    admin = api()
    body = {"source": "paste", "paste": {"text": NEW.decode()}, "options": {"existing": "replace"}}
    url = admin.post(IMPORTS, body).headers["Location"]
    worked(admin, url)
    admin.post(f"{url}/plan")
    assert worked(admin, url)["plan"]["guarded"] == 1
    refused = admin.post(f"{url}/apply")
    assert (refused.status_code, refused.json()["code"]) == (409, "needs-confirmation")
    admin.post(f"{url}/apply", {"confirm": True})
    worked(admin, url)
    assert Zone.objects.get(name="new.test.").rrset_count < 5


def test_pages_of_zones_join(api: MakeApi) -> None:
    admin = api()
    url = admin.post(IMPORTS, {"source": "files"}).headers["Location"]
    for number in range(5):
        upload(admin, url, f"z{number}.test.zone", NEW.replace(b"new.test", f"z{number}.test".encode()))
    admin.post(f"{url}/scan")
    worked(admin, url)
    names, page = [], f"{url}/zones?limit=2"
    while page:
        found = admin.get(page.removeprefix("http://testserver")).json()
        names += [zone["name"] for zone in found["items"]]
        page = found["next"]
    assert names == [f"z{number}.test." for number in range(5)]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"source": "smoke"}, "/source"),
        ({"source": "axfr"}, "/axfr"),
        ({"source": "files", "axfr": {"server": "192.0.2.1", "zones": ["a.test"]}}, "/axfr"),
        ({"source": "axfr", "axfr": {"server": "192.0.2.1"}}, "/axfr/zones"),
        ({"source": "axfr", "axfr": {"server": "192.0.2.1", "zones": ["a.test"], "tsig_name": "k"}}, "/axfr/tsig_name"),
        ({"source": "axfr", "axfr": {"server": "127.0.0.1", "zones": ["a.test"]}}, "/axfr/server"),
        ({"source": "powerdns-api", "powerdns_api": {"url": "http://[::1]:8081", "key": "k"}}, "/powerdns_api/url"),
        ({"source": "powerdns-sql", "powerdns_sql": {"kind": "mysql", "host": "10.0.0.1"}}, "/powerdns_sql/host"),
        ({"source": "powerdns-api", "powerdns_api": {"url": "ftp://x", "key": "k"}}, "/powerdns_api/url"),
        ({"source": "csv", "csv": {"name": 0, "type": 0, "value": 1}}, "/csv/name"),
        ({"source": "csv", "csv": {"name": 0, "type": 1, "value": 2}}, "/csv/zone"),
        ({"source": "csv", "csv": {**COLUMNS, "delimiter": "\t"}}, "/csv/delimiter"),
        ({"source": "files", "options": {"new": "destroy"}}, "/options/new"),
    ],
    ids=str,
)
def test_what_is_no_source_is_refused_where_it_stands(body: dict[str, Any], pointer: str, api: MakeApi) -> None:
    refused = api().post(IMPORTS, body)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == pointer
    assert not ImportJob.objects.exists()


@pytest.mark.parametrize(("word", "delimiter"), [("tab", "\t"), ("semicolon", ";"), (None, ",")])
def test_a_delimiter_is_a_word(word: str | None, delimiter: str, api: MakeApi) -> None:
    """Regression test: the tab character was an enumeration value, which Go code could not express."""
    csv = COLUMNS if word is None else {**COLUMNS, "delimiter": word}
    assert api().post(IMPORTS, {"source": "csv", "csv": csv}).status_code == 201
    assert ImportJob.objects.get().parameters["mapping"]["delimiter"] == delimiter


def test_the_secrets_of_a_source_are_not_told_again(api: MakeApi) -> None:
    body = {"source": "powerdns-api", "powerdns_api": {"url": "http://192.0.2.53:8081", "key": "hush-hush"}}
    made = api().post(IMPORTS, body)
    assert made.status_code == 201
    assert b"hush-hush" not in made.content
    job = ImportJob.objects.get()
    assert job.parameters == {"url": "http://192.0.2.53:8081", "server_id": "localhost", "zones": []}
    assert job.secret is not None
    assert b"hush-hush" not in bytes(job.secret)
    assert job.state == State.SCANNING
    assert job.created_at <= timezone.now()


def test_a_token_for_one_name_imports_nothing(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1")
    assert api(Caller.ACME).post(IMPORTS, {"source": "files"}).status_code == 403
