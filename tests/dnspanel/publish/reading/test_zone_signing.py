"""Tests of signing data in PowerDNS's files: rows and order, which depend on the log alone.

Tests `checks.expected_signing` and `keys.sealing_keys` too.
"""

import base64
import os
import shutil
from pathlib import Path

import pytest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.publish.checks.expected_state import expected_state
from dnspanel.publish.files.publisher import this_publisher
from dnspanel.publish.files.rebuild_files import rebuild_store
from dnspanel.publish.files.snapshots import make_snapshot, read_chunk, read_manifest
from dnspanel.publish.keys.sealing_keys import all_sealing_keys
from dnspanel.publish.models import SealingKey, Segment
from dnspanel.publish.reading.publisher_session import reading
from dnspanel.publish.storage.objects import open_object
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.models import SigningChange, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.signing import presigned, sign
from replication.codec.dnssec import Nsec3, decode_key, decode_metadata
from replication.codec.schema import Dbi
from replication.codec.sealed import is_sealed, open_content
from replication.dns import rdtypes
from replication.errors import BadBytes
from replication.wire.operations import Op, OpKind
from replication.wire.segment import open_segment
from tests.dnspanel.publish.encoding.test_encode import (
    assert_equal_to_postgresql,
    change,
    create,
    encode_all,
    rrset,
    store,
)
from tests.dnspanel.zones.conftest import presigned_zone
from tests.people import alice as alice

pytestmark = pytest.mark.django_db(transaction=True)

MODES = [
    None,
    Nsec3(),
    Nsec3(opt_out=True),
    Nsec3(narrow=True),
    Nsec3(2, b"\xab\xcd"),
    Nsec3(narrow=True, opt_out=True),
]


def acting() -> Acting:
    return Acting(author=None, channel="system", now=timezone.now())


def a_zone(name: str = "example.test.") -> Zone:
    return create(
        name,
        rrset(f"www.{name}", rdtypes.A, "192.0.2.1"),
        rrset(f"a.b.c.{name}", rdtypes.TXT, '"deep"'),
        rrset(f"sub.{name}", rdtypes.NS, "ns.elsewhere.test."),
        rrset(f"safe.{name}", rdtypes.NS, f"ns.safe.{name}"),
        rrset(f"safe.{name}", rdtypes.DS, f"12345 13 2 {'ab' * 32}"),
        rrset(f"ns.safe.{name}", rdtypes.A, "192.0.2.2"),
    )


def last_ops() -> list[Op]:
    segment = Segment.objects.filter(schema=4).order_by("-last")[0]
    with open_object(segment.object_name) as file:
        content = file.read()
    public = this_publisher().signing_key(now=timezone.now()).public_key().public_bytes_raw()
    return list(open_segment(content, [public]).ops())


def assert_right() -> None:
    """Check the files against a full compile, and against the state that separate code computes."""
    assert_equal_to_postgresql()
    with reading() as conn:
        found = expected_state(conn)
    assert found is not None
    assert (found.main_digest(4), found.records_digest) == store().digests()


def kinds(ops: list[Op]) -> list[tuple[OpKind, Dbi]]:
    return [(op.kind, op.dbi) for op in ops if op.dbi is not Dbi.RECORDS]


@pytest.mark.parametrize("mode", MODES)
def test_a_zone_is_signed_edited_and_unsigned_in_every_mode(mode: Nsec3 | None) -> None:
    zone = a_zone()
    encode_all()
    sign.sign(zones=[zone], acting=acting(), nsec3=mode)
    encode_all()
    assert_right()
    change(zone, rrset("new.x.example.test.", rdtypes.A, "192.0.2.9"), gone=(("a.b.c.example.test.", rdtypes.TXT),))
    change(zone, rrset("www.example.test.", rdtypes.NS, "ns.other.test."), gone=(("www.example.test.", rdtypes.A),))
    encode_all()
    assert_right()
    sign.unsign(zones=[zone], acting=acting())
    encode_all()
    assert_right()
    assert {op.kind for op in last_ops() if op.dbi is not Dbi.RECORDS} == {OpKind.DELETE}


@pytest.mark.parametrize("after", MODES)
def test_the_denial_of_a_signed_zone_changes_from_each_mode(after: Nsec3 | None) -> None:
    zone = a_zone()
    sign.sign(zones=[zone], acting=acting())
    for before in MODES:
        sign.set_denial(zone=zone, nsec3=before, acting=acting())
        sign.set_denial(zone=zone, nsec3=after, acting=acting())
        encode_all()
        assert_right()


@pytest.mark.parametrize("mode", [None, Nsec3(), Nsec3(opt_out=True)])
def test_a_zone_that_came_signed_is_served_so_until_its_signatures_are_dropped(alice: User, mode: Nsec3 | None) -> None:
    zone = presigned_zone(
        alice, "www 300 A 192.0.2.1", "a.b.c 300 TXT x", "sub 300 NS ns.elsewhere.test.", "w 300 CNAME www", nsec3=mode
    )
    encode_all()
    assert_right()
    [metadata, *more] = [op for op in last_ops() if op.dbi is Dbi.METADATA]
    assert [decode_metadata(op.body, 4).kind for op in (metadata, *more)] == [*["NSEC3PARAM"] * bool(mode), "PRESIGNED"]
    presigned.drop_signatures(zones=[zone], acting=acting())
    encode_all()
    assert_right()
    sign.sign(zones=[zone], acting=acting(), nsec3=mode)
    encode_all()
    assert_right()


def test_two_chains_of_other_hashes_never_meet() -> None:
    zone = a_zone()
    sign.sign(zones=[zone], acting=acting(), nsec3=Nsec3())
    publications = sign.set_denial(zone=zone, nsec3=Nsec3(1, b"\x01"), acting=acting())
    assert len(publications) == 2
    between, _ = SigningChange.objects.filter(zone=zone).order_by("-revision_number")[:2][::-1]
    assert "nsec3" not in (between.after or {})
    encode_all()
    ops = last_ops()  # in a segment of its own
    assert not [op for op in ops if op.kind is OpKind.DELETE and op.dbi is Dbi.RECORDS]
    assert_right()


def test_a_chain_goes_only_behind_the_settings_that_use_it() -> None:
    zone = a_zone()
    sign.sign(zones=[zone], acting=acting(), nsec3=Nsec3())
    encode_all()
    sign.set_denial(zone=zone, nsec3=None, acting=acting())
    encode_all()
    places = [(op.dbi is Dbi.RECORDS, op.kind) for op in last_ops()]
    of_main = [at for at, (is_record, _) in enumerate(places) if not is_record]
    helpers = [at for at, place in enumerate(places) if place == (True, OpKind.DELETE)]
    assert of_main
    assert helpers
    assert max(of_main) < min(helpers)


def test_settings_come_before_keys_and_keys_go_before_settings() -> None:
    zone = a_zone()
    encode_all()
    sign.sign(zones=[zone], acting=acting(), nsec3=Nsec3(narrow=True))
    encode_all()
    put, delete = OpKind.PUT, OpKind.DELETE
    meta, meta_index, key, key_index = Dbi.METADATA, Dbi.METADATA_INDEX, Dbi.KEYDATA, Dbi.KEYDATA_INDEX
    assert kinds(last_ops()) == [(put, meta), (put, meta), *[(put, meta_index)] * 2, (put, key), (put, key_index)]
    sign.unsign(zones=[zone], acting=acting())
    encode_all()
    expected = [(delete, key_index), (delete, key), *[(delete, meta_index)] * 2, *[(delete, meta)] * 2]
    assert kinds(last_ops()) == expected


def test_no_private_key_is_readable_in_a_segment_or_in_the_panels_files(publisher_directory: Path) -> None:
    zone = a_zone()
    sign.sign(zones=[zone], acting=acting(), split=True)
    encode_all()
    texts = [sign.queries.decrypt_secret(bytes(key.private_encrypted or b"")) for key in _keys(zone)]
    secrets = [line.split(b": ")[1] for text in texts for line in text.splitlines() if line.startswith(b"PrivateKey")]
    assert len(secrets) == 2
    for path in publisher_directory.rglob("*"):
        if path.is_file():
            assert not any(secret in path.read_bytes() for secret in secrets), path
    bodies = [op.body for op in last_ops() if op.dbi is Dbi.KEYDATA]
    assert all(is_sealed(decode_key(body, 4).content) for body in bodies)
    assert SealingKey.objects.count() == 1


def test_who_stole_the_store_has_no_key(publisher_directory: Path) -> None:
    """A thief has every object and all public data. They open segments and snapshots, and try keys of their own."""
    zone = a_zone()
    sign.sign(zones=[zone], acting=acting())
    encode_all()
    snapshot = make_snapshot(schema=4, now=timezone.now())
    assert snapshot is not None
    [row] = _keys(zone)
    text = sign.queries.decrypt_secret(bytes(row.private_encrypted or b"")).decode()
    secret = text.split("PrivateKey: ")[1].split()[0]
    forms = [secret.encode(), base64.b64decode(secret), base64.b64decode(secret).hex().encode()]
    _, manifest = read_manifest(snapshot)
    chunks = [chunk.open(read_chunk(snapshot, manifest, number)) for number, chunk in enumerate(manifest.chunks)]
    bodies = [op.body for op in last_ops()]
    assert any(zone.name.split(".")[0].encode() in chunk for chunk in chunks), "what is looked through is clear"
    assert not [form for form in forms for stolen in (*chunks, *bodies) if form in stolen]
    [body] = [op.body for op in last_ops() if op.dbi is Dbi.KEYDATA]
    content = decode_key(body, 4).content
    for guess in (bytes(64), os.urandom(64)):
        with pytest.raises(BadBytes):
            open_content(content, {SealingKey.objects.get().pk: guess}.get, zone=zone.name, row_id=row.pk)
    secrets = {key.id: key.secret for key in all_sealing_keys()}
    assert secret in open_content(content, secrets.get, zone=zone.name, row_id=row.pk), "who has the key opens it"


def _keys(zone: Zone) -> list[sign.ZoneKey]:
    return list(sign.ZoneKey.objects.filter(zone=zone))


def test_a_rebuild_at_an_earlier_sequence_signs_as_it_was_then(publisher_directory: Path) -> None:
    zone = a_zone()
    sign.sign(zones=[zone], acting=acting(), nsec3=Nsec3())
    encode_all()
    digests = store().digests()
    sign.set_denial(zone=zone, nsec3=None, acting=acting())
    sign.unsign(zones=[zone], acting=acting())
    this_publisher().close()
    shutil.rmtree(publisher_directory / "publisher")
    assert rebuild_store(schema=4, now=timezone.now()) is not None
    assert store().digests() == digests
    encode_all()
    assert_right()


def test_a_signed_zone_that_is_deleted_takes_its_keys_and_brings_them_back() -> None:
    zone = a_zone()
    sign.sign(zones=[zone], acting=acting(), nsec3=Nsec3(opt_out=True))
    encode_all()
    edit.delete_zone(zone=zone, acting=Acting(None, "system", timezone.now()))
    encode_all()
    assert_right()
    assert (OpKind.DELETE, Dbi.KEYDATA) in kinds(last_ops())
    edit.restore_zone(zone=zone, author=None, channel="system", now=timezone.now())
    encode_all()
    assert_right()
    assert (OpKind.PUT, Dbi.KEYDATA) in kinds(last_ops())
    assert queries.signing_of(zone).is_signed


def test_many_zones_are_signed_by_one_publication() -> None:
    zones = [a_zone(f"z{number}.test.") for number in range(12)]
    [publication] = sign.sign(zones=zones, acting=acting())
    encode_all()
    assert_right()
    assert publication.revisions.count() == 12  # type: ignore[attr-defined]
