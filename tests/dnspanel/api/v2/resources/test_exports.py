"""Tests of exports in the API: request, follow, download, cancel. A token sees only its own exports."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from dnspanel.api.models import RememberedAnswer
from dnspanel.transfer.exports import export_jobs
from dnspanel.transfer.models import ImportJob
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.signing import sign
from tests.dnspanel.api.callers import Caller, MakeApi
from tests.dnspanel.transfer.conftest import import_all
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

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
    export_jobs.run_export(int(url.rpartition("/")[2]))
    done = api().get(url).json()
    assert (done["state"], done["zones_done"]) == ("done", 1)
    file = api().get(done["file"])
    text = gzip.decompress(file.content)
    assert b"example.test." in text
    assert b"other.test." not in text
    part = api().get(done["file"], headers={"Range": "bytes=0-1"})
    assert (part.status_code, part.content) == (206, b"\x1f\x8b")
    for media in ("application/gzip", "application/octet-stream"):
        named = api().get(done["file"], headers={"Accept": media})
        assert (named["Content-Type"], named.content) == (media, file.content)
    assert file["Content-Type"] == "application/gzip"


def test_an_export_of_nothing_or_of_two_things_is_refused(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone()
    assert api().post(EXPORTS, {"format": "bind", "zones": ["nothing.test"]}).json()["errors"][0]["pointer"] == "/zones"
    both = {"format": "bind", "zones": ["example.test"], "q": "x"}
    assert api().post(EXPORTS, both).json()["errors"][0]["pointer"] == "/q"
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


PASSPHRASE = "a long passphrase"


@pytest.mark.django_db(transaction=True)
def test_keys_go_out_and_come_back_sealed(api: MakeApi, make_zone: MakeZone) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    sign.sign(zones=[zone], acting=Acting(None, Channel.API, NOW))
    [before] = queries.keys_of(zone)
    body = {"format": "json", "keys_passphrase": PASSPHRASE}
    refused = api(Caller.EDITOR).post(EXPORTS, body)
    assert (refused.status_code, "example.test" in refused.json()["detail"]) == (403, True)
    made = api().post(EXPORTS, body, headers={"Idempotency-Key": "k"})
    assert made.status_code == 202
    url = made.headers["Location"]
    assert api().post(EXPORTS, body, headers={"Idempotency-Key": "k"}).headers["Location"] == url
    assert "passphrase" not in made.content.decode()
    export_jobs.run_export(int(url.rpartition("/")[2]))
    done = api().get(url).json()
    assert (done["state"], done["keys"]) == ("done", 1)
    text = gzip.decompress(api().get(done["file"]).content)
    assert b"PrivateKey" not in text

    edit.delete_zone(zone=zone, acting=Acting(None, Channel.API, NOW))
    created = api().post("/api/v2/imports", {"source": "json", "keys_passphrase": PASSPHRASE})
    assert "passphrase" not in created.content.decode()
    back = created.headers["Location"]
    api().put(f"{back}/files/zones.jsonl", text, content_type="application/octet-stream", offset=0)
    api().post(f"{back}/scan")
    job = import_all(ImportJob.objects.get())
    assert (job.state, job.secret) == ("done", None)
    [after] = queries.keys_of(Zone.objects.get(name=zone.name, deleted_at=None))
    assert after.dnskey == before.dnskey


def test_whoever_reads_the_database_has_no_quick_way_to_try_passphrases(api: MakeApi, make_zone: MakeZone) -> None:
    """Idempotent requests are stored with a digest of the body. A plain digest would make passphrase guesses cheap."""
    make_zone()
    body = {"format": "json", "keys_passphrase": PASSPHRASE}
    api().post(EXPORTS, body, headers={"Idempotency-Key": "k"})
    head = "\0".join(("POST", EXPORTS, "", "", str(len(json.dumps(body)))))
    plain = hashlib.sha256(f"{head}\0{json.dumps(body)}".encode()).digest()
    assert bytes(RememberedAnswer.objects.get().request_sha256) != plain


def test_a_passphrase_is_for_json_and_long_enough(api: MakeApi, make_zone: MakeZone) -> None:
    make_zone()
    for body in (
        {"format": "bind", "keys_passphrase": PASSPHRASE},
        {"format": "json", "keys_passphrase": "too short"},
        {"format": "json", "keys_passphrase": ""},
    ):
        refused = api().post(EXPORTS, body)
        assert refused.status_code == 422, body
        assert refused.json()["errors"][0]["pointer"] == "/keys_passphrase"
        assert PASSPHRASE not in refused.content.decode()
    refused = api().post("/api/v2/imports", {"source": "files", "keys_passphrase": PASSPHRASE})
    assert refused.json()["errors"][0]["pointer"] == "/keys_passphrase"
