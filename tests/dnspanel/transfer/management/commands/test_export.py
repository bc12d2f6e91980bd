"""The command `manage.py export`.

Tests `management.passphrase_file` too.
"""

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dnspanel.accounts.models import AuditEntry
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.signing import sign
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def zones(make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.1", name="a.test.")
    make_zone("www 300 A 192.0.2.2", name="b.test.")


def run(path: Path, *arguments: str, **options: Any) -> bytes:
    call_command("export", *arguments, output=str(path), quiet=True, stderr=io.StringIO(), **options)
    return path.read_bytes()


def test_everything_goes_into_an_archive(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(run(tmp_path / "all.tar.gz")), mode="r:gz") as tar:
        assert tar.getnames()[-2:] == ["zones/a.test.zone", "zones/b.test.zone"]


def test_zones_are_chosen_by_name_in_any_spelling_or_by_a_search(tmp_path: Path) -> None:
    named = run(tmp_path / "named.json", "A.Test", format="json")
    found = run(tmp_path / "found.json.gz", search="has:192.0.2.2", format="json")
    assert json.loads(named)["zone"] == "a.test."
    assert json.loads(gzip.decompress(found))["zone"] == "b.test."


def test_standard_output_gets_the_file_and_nothing_else(capfdbinary: Any) -> None:
    call_command("export", "a.test", format="csv")
    out, err = capfdbinary.readouterr()
    assert out.startswith(b"zone,name,type,ttl,value,disabled,comment,value_comment,tags\r\n")
    assert out.count(b"\r\n") == 5
    assert err.endswith(b"1 zones, 4 records\n")


def test_query_files_have_their_options(tmp_path: Path) -> None:
    lines = run(tmp_path / "q.txt", format="queries", sample=4, random=50, seed=3).decode().splitlines()
    assert len([line for line in lines if not line.startswith("x-")]) == 4
    assert len(lines) > 4


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (["c.test"], {}, "There is no such zone."),
        (["a.test", "c.test"], {}, "One of these zones does not exist."),
        (["a..test"], {}, "empty label"),
        (["a.test"], {"search": "b"}, "not both"),
        ([], {"random": 99}, "must not exceed 95 %"),
    ],
)
def test_what_cannot_be_is_explained_and_leaves_no_file(
    tmp_path: Path, arguments: list[str], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        run(tmp_path / "file", *arguments, **options)
    assert list(tmp_path.glob("file*")) == []


def test_a_place_where_no_file_can_be_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file or directory"):
        run(tmp_path / "nowhere" / "file")


PASSPHRASE = "a long passphrase"


@pytest.fixture
def passphrase(tmp_path: Path) -> str:
    """Return the path of a file with the passphrase."""
    path = tmp_path / "passphrase"
    path.write_text(PASSPHRASE + "\n")
    return str(path)


def test_private_keys_go_along_sealed_and_come_back(tmp_path: Path, passphrase: str) -> None:
    zone = Zone.objects.get(name="b.test.")
    sign.sign(zones=[zone], acting=Acting(None, "import", NOW))
    [before] = queries.keys_of(zone)
    path = tmp_path / "all.jsonl"
    assert b"PrivateKey" not in run(path, format="json", keys_passphrase_file=passphrase)
    assert AuditEntry.objects.get(action="dnssec.keys_export").details == {"keys": 1}
    edit.delete_zone(zone=zone, acting=Acting(None, "import", NOW))
    out = io.StringIO()
    told = {"format": "json", "keys_passphrase_file": passphrase, "here": True, "yes": True}
    call_command("import", str(path), stdout=out, stderr=io.StringIO(), **told)
    assert "stays signed with 1 imported key" in out.getvalue()
    [after] = queries.keys_of(Zone.objects.get(name="b.test.", deleted_at=None))
    assert after.dnskey == before.dnskey


@pytest.mark.parametrize(
    ("content", "format", "message"),
    [
        (PASSPHRASE, "bind", "only --format json"),
        ("too short", "json", "12 to 1,000 characters"),
        ("", "json", "one line"),
        ("two lines of\nit", "json", "one line"),
        (None, "json", "No such file"),
        (b"\xff" * 20, "json", "not UTF-8"),
    ],
)
def test_a_passphrase_that_cannot_be_used_is_refused(
    tmp_path: Path, content: str | bytes | None, format: str, message: str
) -> None:
    path = tmp_path / "passphrase"
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(CommandError, match=message) as refused:
        run(tmp_path / "file", format=format, keys_passphrase_file=str(path))
    assert PASSPHRASE not in str(refused.value)
    assert list(tmp_path.glob("file*")) == []


def test_only_json_has_sealed_keys_to_open(tmp_path: Path, passphrase: str) -> None:
    with pytest.raises(CommandError, match="only --format json"):
        call_command("import", str(tmp_path), keys_passphrase_file=passphrase)
