"""Private keys in JSON exports: an import of deleted zones signs them with the same keys as before.

Imports of keys from PowerDNS are tested in test_worker.
"""

import gzip
import io
import json
import logging
from typing import Any

import pytest
from django.db import connection

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.transfer.documents import Options
from dnspanel.transfer.exports import export_jobs
from dnspanel.transfer.exports.exported_zones import EVERYTHING
from dnspanel.transfer.files import upload
from dnspanel.transfer.imports import import_jobs, queries
from dnspanel.transfer.imports.kept_keys import brought_signings
from dnspanel.transfer.models import Action, ImportJob, ImportZone, KeptItem, KeptKind, SourceKind, State
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec import queries as signing
from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.signing import sign
from replication.codec.dnssec import Nsec3
from tests.dnspanel.transfer.conftest import import_all, lines_of
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

PASSPHRASE = "correct horse battery"
NAMES = ("a.test.", "b.test.", "c.test.")


@pytest.fixture
def acting(alice: User) -> Acting:
    return Acting(author=alice, channel="web", now=NOW)


@pytest.fixture
def zones(make_zone: MakeZone, acting: Acting) -> list[Zone]:
    """Create zone a with one key, b with a KSK, a ZSK, an inactive ZSK, NSEC3 and CDS, and c unsigned."""
    a, b, c = (make_zone("www 300 A 192.0.2.1", name=name) for name in NAMES)
    sign.sign(zones=[a], acting=acting)
    sign.sign(zones=[b], acting=acting, algorithm=15, split=True, nsec3=Nsec3(0, b"\x01\xab", True, narrow=True))
    sign.set_cds(zone=b, cds="2,4", cdnskey=True, acting=acting)
    sign.add_key(zone=b, acting=acting, flags=256, algorithm=15, active=False, published=False)
    return [a, b, c]


def export(author: User | None, passphrase: str = PASSPHRASE) -> bytes:
    """Export all zones as JSON, and return the uncompressed file."""
    job = export_jobs.create_export(
        selection=EVERYTHING, export_format="json", author=author, now=NOW, keys_passphrase=passphrase
    )
    export_jobs.run_export(job.pk)
    job.refresh_from_db()
    assert job.state == "done", job.failure
    return gzip.decompress(export_jobs.export_path(job).read_bytes())


def begun(text: bytes, author: User | None, passphrase: str = PASSPHRASE) -> ImportJob:
    """Create an import of this JSON file. The import waits for its scan."""
    options = Options(nameservers="missing", soa="missing")
    secret = {"keys_passphrase": passphrase} if passphrase else None
    job = import_jobs.create_job(
        source=SourceKind.JSON, title="back", author=author, now=NOW, secret=secret, options=options
    )
    upload.receive_file(job=job, name="zones.jsonl", stream=io.BytesIO(text))
    import_jobs.start_scan(job=job, now=NOW)
    return job


def delete(zones: list[Zone], alice: User) -> None:
    for zone in zones:
        edit.delete_zone(zone=zone, acting=Acting(alice, "web", NOW), confirmed=True)


def signed_as(name: str) -> tuple[Any, ...]:
    """Return a zone's complete signing state except key ids, with keys in order."""
    zone = Zone.objects.get(name=name, deleted_at=None)
    state = signing.signing_of(zone)
    alice = User.objects.get(username="alice")
    keys = [
        (key.dnskey, key.active, key.published, key.role, signing.private_text(zone=zone, key_id=key.id, person=alice))
        for key in signing.keys_of(zone)
    ]
    return state.metadata, state.nsec3, keys


def warnings(job: ImportJob) -> dict[str, str]:
    return {fault.zone: fault.reason for fault in queries.faults_page(job, severity="warning")}


def stored() -> str:
    """Return all rows of export jobs, import jobs, import faults and the audit log, as text."""
    found = []
    with connection.cursor() as cursor:
        for table in ("transfer_exportjob", "transfer_importjob", "accounts_auditentry", "transfer_importfault"):
            cursor.execute(f"SELECT t::text FROM {table} t")
            found += [row[0] for row in cursor.fetchall()]
    return "\n".join(found)


def test_zones_come_back_with_the_same_keys_and_modes(
    zones: list[Zone], alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    before = [signed_as(name) for name in NAMES]
    lines = [lines_of(name) for name in NAMES]
    text = export(alice)
    private = [line.split(": ")[1] for state in before for key in state[2] for line in key[4].splitlines()[2:]]
    assert len(private) == 4
    assert [each for each in [PASSPHRASE, "PrivateKey", *private] if each in text.decode()] == []
    delete(zones, alice)
    job = begun(text, alice)
    assert [each for each in (PASSPHRASE, PASSPHRASE.encode().hex()) if each in stored()] == []
    assert job.secret is not None
    import_all(job)
    assert job.state == State.DONE
    assert set(ImportZone.objects.filter(job=job).values_list("action", flat=True)) == {Action.CREATE}
    assert [signed_as(name) for name in NAMES] == before
    assert [lines_of(name) for name in NAMES] == lines
    assert warnings(job) == {}
    job.refresh_from_db()
    assert job.secret is None
    logged = caplog.text + stored()
    assert [each for each in [PASSPHRASE, *private] if each in logged] == []


def test_an_import_of_it_beside_the_zones_changes_nothing(
    zones: list[Zone], make_zone: MakeZone, alice: User, acting: Acting
) -> None:
    """This also holds if the parent zone in the panel has the DS, and with no passphrase or a wrong one."""
    child = make_zone(name="child.parent.test.")
    sign.sign(zones=[child], acting=acting)
    [key] = signing.keys_of(child)
    make_zone("child 3600 NS ns1.example.net.", f"child 3600 DS {key.ds[0]}", name="parent.test.")
    text = export(alice)
    published = Publication.objects.count()
    for passphrase in (PASSPHRASE, "", "quite another one"):
        job = import_all(begun(text, alice, passphrase))
        assert set(ImportZone.objects.filter(job=job).values_list("action", flat=True)) == {Action.NOTHING}
        assert warnings(job) == {}
        notes = {fault.zone: fault.reason for fault in queries.faults_page(job, severity="note")}
        assert notes[child.name] == "The zone already exists. Its signing settings aren’t changed."
    assert Publication.objects.count() == published
    assert signing.keys_of(child) == [key]


@pytest.mark.parametrize(
    ("exported_with", "imported_with", "because"),
    [
        (PASSPHRASE, "", "the keys are encrypted: enter the passphrase"),
        (PASSPHRASE, "quite another one", "the passphrase is wrong, or the file was changed"),
        ("", PASSPHRASE, "the file doesn’t contain the private keys"),
    ],
)
def test_without_the_keys_records_come_back_with_a_warning(
    zones: list[Zone], alice: User, exported_with: str, imported_with: str, because: str
) -> None:
    text = export(alice, exported_with)
    delete(zones, alice)
    job = import_all(begun(text, alice, imported_with))
    assert job.state == State.DONE
    found = warnings(job)
    assert sorted(found) == ["a.test.", "b.test."]
    assert all(because in reason and "served unsigned" in reason for reason in found.values())
    for name in NAMES:
        assert f"www.{name} 300 1 192.0.2.1" in lines_of(name)
        assert not signing.signing_of(Zone.objects.get(name=name, deleted_at=None)).keys


def test_one_key_that_is_not_its_dnskeys_keeps_the_zone_unsigned(zones: list[Zone], alice: User) -> None:
    """A zone that is signed by only some of its keys would not validate."""
    zone = json.loads(export(alice).splitlines()[1])
    keys = zone["dnssec"]["keys"]
    keys[0]["sealed"] = keys[1]["sealed"]
    delete(zones, alice)
    job = import_all(begun(json.dumps(zone).encode(), alice))
    assert "the file was changed" in warnings(job)["b.test."]
    assert not signing.signing_of(Zone.objects.get(name="b.test.", deleted_at=None)).keys


def test_a_zone_goes_on_with_a_key_once(alice: User) -> None:
    pair = key_material.generate(13)
    job = import_jobs.create_job(source=SourceKind.JSON, title="two", author=alice, now=NOW)
    value = encrypt_secret(pair.private_text.encode())
    for name in ("257 ECDSAP256SHA256", "256 ECDSAP256SHA256"):
        KeptItem.objects.create(job=job, zone="a.test.", kind=KeptKind.KEY, name=name, value=value)
    assert brought_signings(job, ["a.test."]) == {"a.test.": "the zone has the same key twice"}


def test_who_may_sign_brings_back_keys_that_they_may_not_export(zones: list[Zone], alice: User, bob: User) -> None:
    text = export(alice)
    delete(zones, alice)
    import_all(begun(text, bob))
    assert AuditEntry.objects.get(action="dnssec.import").user == bob
    assert len(signing.keys_of(Zone.objects.get(name="b.test.", deleted_at=None))) == 3


@pytest.mark.parametrize("is_signed", [False, True])
def test_ns_at_a_wildcard_are_not_imported_into_a_zone_that_is_signed_here(
    make_zone: MakeZone, alice: User, acting: Acting, is_signed: bool
) -> None:
    """Previously such a zone was published, and validating resolvers resolved no name below the wildcard."""
    zone = make_zone("*.sub 300 NS ns1.example.net.")
    text = export(alice, "")
    delete([zone], alice)
    zone = make_zone()
    if is_signed:
        sign.sign(zones=[zone], acting=acting)
    job = import_all(begun(text, alice, ""))
    errors = {(fault.code, fault.zone) for fault in queries.faults_page(job, severity="error")}
    assert errors == ({("wildcard-ns", zone.name)} if is_signed else set())
