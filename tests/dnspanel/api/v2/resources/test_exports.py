"""Exports over the API: asked for, followed, downloaded, cancelled; a token sees those that it made."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from dnspanel.transfer.exports import jobs
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.zones.conftest import MakeZone

EXPORTS = "/api/v2/exports"


@pytest.fixture(autouse=True)
def directory(settings: Any, tmp_path: Path) -> None:
    settings.TRANSFER_DIR = tmp_path


def test_an_unfinished_export_has_no_file_and_can_be_cancelled_once(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1")
    made = api().post(EXPORTS, {"format": "bind", "zones": ["example.test"]})
    assert (made.status_code, made.json()["state"]) == (202, "waiting")
    url = made.headers["Location"]
    assert api().get(f"{url}/file").status_code == 404
    assert api().delete(url).status_code == 204
    assert api().delete(url).status_code == 409
    assert api().get(url).json()["state"] == "cancelled"


@pytest.mark.django_db(transaction=True)
def test_a_worker_writes_it_and_the_file_holds_the_zone(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1")
    make_zone("www 300 A 192.0.2.2", name="other.test.")
    url = api().post(EXPORTS, {"format": "json", "zones": ["example.test"]}).headers["Location"]
    jobs.run_export(int(url.rpartition("/")[2]))
    done = api().get(url).json()
    assert (done["state"], done["zones_done"]) == ("done", 1)
    file = api().get(done["file"])
    text = gzip.decompress(file.content)
    assert b"example.test." in text
    assert b"other.test." not in text
    part = api().get(done["file"], headers={"Range": "bytes=0-1"})
    assert (part.status_code, part.content) == (206, b"\x1f\x8b")


def test_an_export_of_nothing_or_of_two_things_is_refused(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone()
    assert api().post(EXPORTS, {"format": "bind", "zones": ["nothing.test"]}).json()["errors"][0]["pointer"] == "/zones"
    both = {"format": "bind", "zones": ["example.test"], "search": "x"}
    assert api().post(EXPORTS, both).json()["errors"][0]["pointer"] == "/search"
    assert api().post(EXPORTS, {"format": "bind", "queries": {}}).json()["errors"][0]["pointer"] == "/queries"
    assert api().post(EXPORTS, {"format": "queries", "queries": {"sample": 5}}).status_code == 202


def test_a_token_that_sees_parts_of_zones_exports_none_and_nobody_sees_anothers(
    api: MakeApi, make_zone: MakeZone
) -> None:
    make_zone("www 300 A 192.0.2.1")
    assert api(Caller.ACME).post(EXPORTS, {"format": "bind"}).status_code == 403
    url = api(Caller.CI).post(EXPORTS, {"format": "bind"}).headers["Location"]
    assert api(Caller.MONITORING).get(url).status_code == 404
    assert api(Caller.MONITORING).get(EXPORTS).json()["items"] == []
