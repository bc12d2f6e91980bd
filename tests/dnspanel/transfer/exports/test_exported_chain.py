"""Exports of presigned zones. Other servers can serve the file unchanged, and an import restores the zone."""

from pathlib import Path

import pytest
from django.core.management import call_command

from dnspanel.accounts.models import User
from dnspanel.transfer.exports import file as export_file
from dnspanel.transfer.exports.exported_rows import snapshot
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import signing_of
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from replication.codec.dnssec import Nsec3
from tests.dnspanel.transfer.conftest import lines_of, zone_text
from tests.dnspanel.transfer.running import needed, run
from tests.people import NOW
from tests.people import alice as alice
from tests.signzone import DENIALS, LINES, signed_text, text_with_two_chains

pytestmark = pytest.mark.django_db(transaction=True)

ZONE = "signed.test."
# A dot and a space in a label, which the file and the chain escape.
ALL_LINES = (*LINES, r"odd\.name\032x A 192.0.2.2")


def import_kept(path: Path, *options: str) -> None:
    call_command("import", str(path), "--signatures", "keep", "--here", "--yes", *options)


@pytest.fixture(params=DENIALS)
def mode(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Import a presigned zone with each kind of denial of existence in turn, and return the kind's name."""
    name: str = request.param
    source = tmp_path / "source"
    source.write_text(signed_text(ZONE, zone_text(ZONE, *ALL_LINES), tmp_path, *DENIALS[name][1]))
    import_kept(source)
    return name


def came_back(mode: str, exported: Path, alice: User, *options: str) -> None:
    """Delete the zone, import the exported file, and check that zone and signing state are the same as before."""
    zone = Zone.objects.get(name=ZONE, deleted_at=None)
    before, state = lines_of(ZONE), signing_of(zone)
    edit.delete_zone(zone=zone, acting=Acting(alice, Channel.WEB, NOW))
    import_kept(exported, *options)
    again = Zone.objects.get(name=ZONE, deleted_at=None)
    found = signing_of(again)
    assert lines_of(ZONE) == before
    assert (found.presigned, found.denial, found.denial) == (True, state.denial, DENIALS[mode][0])
    assert again.serial == zone.serial


def test_a_zone_with_two_chains_has_both_in_its_file(tmp_path: Path, alice: User) -> None:
    # Previously one of two NSEC3PARAM records was lost, and the signature covers both. ldns and Knot support one chain
    # only.
    needed("dnssec-verify", "named-checkzone")
    source, path = tmp_path / "source", tmp_path / "exported"
    source.write_text(text_with_two_chains(ZONE, zone_text(ZONE, *ALL_LINES), (Nsec3(2, b"\xab\xcd"), Nsec3())))
    run("dnssec-verify", "-z", "-o", ZONE, source)
    import_kept(source)
    state = signing_of(Zone.objects.get(name=ZONE))
    assert (state.denial, state.other_nsec3) == (Nsec3(2, b"\xab\xcd"), (Nsec3(),))
    with path.open("wb") as file, snapshot() as moment:
        export_file.write_zone_file(moment, Zone.objects.filter(name=ZONE), file)
    assert path.read_text().count(" IN NSEC3PARAM ") == 2
    run("named-checkzone", "-i", "local", ZONE, path)
    run("dnssec-verify", "-z", "-o", ZONE, path)
    with path.open("wb") as file, snapshot() as moment:
        export_file.write_export(moment, Zone.objects.all(), file, export_format="json", mtime=1)
    edit.delete_zone(zone=Zone.objects.get(name=ZONE), acting=Acting(alice, Channel.WEB, NOW))
    import_kept(path, "--format", "json")
    again = signing_of(Zone.objects.get(name=ZONE, deleted_at=None))
    assert (again.denial, again.other_nsec3) == (state.denial, state.other_nsec3)


def test_the_zone_file_is_a_signed_zone(mode: str, tmp_path: Path, alice: User) -> None:
    needed("dnssec-verify", "named-checkzone", "ldns-verify-zone", "kzonecheck")
    path = tmp_path / "exported"
    with path.open("wb") as file, snapshot() as moment:
        export_file.write_zone_file(moment, Zone.objects.filter(name=ZONE), file)
    run("named-checkzone", "-i", "local", ZONE, path)
    run("dnssec-verify", "-z", "-o", ZONE, path)  # one key for all
    run("ldns-verify-zone", path)
    # RFC 4034 section 3: kzonecheck compares each RRSIG's TTL with its RRset's TTL.
    run("kzonecheck", "-o", ZONE, path)
    came_back(mode, path, alice)


def test_json_says_how_it_is_signed(mode: str, tmp_path: Path, alice: User) -> None:
    path = tmp_path / "zones.jsonl"
    with path.open("wb") as file, snapshot() as moment:
        export_file.write_export(moment, Zone.objects.all(), file, export_format="json", mtime=1)
    assert '"presigned":true' in path.read_text()
    came_back(mode, path, alice, "--format", "json")
