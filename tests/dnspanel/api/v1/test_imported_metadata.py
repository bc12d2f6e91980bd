"""The metadata and TSIG keys of a PowerDNS database take effect in the zones that an import creates."""

import io
from typing import Any

import pytest

from dnspanel.accounts.models import Role, Token, TokenKind, User
from dnspanel.accounts.tokens.tokens import tsig_secret
from dnspanel.api.v1 import kept_metadata
from dnspanel.secondaries import keyless
from dnspanel.transfer.documents import Options
from dnspanel.transfer.files import upload
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import ImportFault, ImportJob, SourceKind
from dnspanel.zones.models import TsigAct, Zone
from dnspanel.zones.rights import tsig_permissions
from tests.dnspanel.transfer.conftest import directories as directories
from tests.dnspanel.transfer.conftest import import_all
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db

DUMP = """
CREATE TABLE domains (id INTEGER, name TEXT, type TEXT);
CREATE TABLE records (id INTEGER, domain_id INTEGER, name TEXT, type TEXT, content TEXT, ttl INTEGER, disabled TEXT);
CREATE TABLE domainmetadata (id INTEGER, domain_id INTEGER, kind TEXT, content TEXT);
CREATE TABLE tsigkeys (id INTEGER, name TEXT, algorithm TEXT, secret TEXT);
INSERT INTO domains VALUES (1,'a.test','NATIVE'),(2,'b.test','NATIVE');
INSERT INTO records VALUES (1,1,'a.test','TXT','"one"',60,'f'),(2,2,'b.test','TXT','"two"',60,'f');
INSERT INTO tsigkeys VALUES (1,'house','hmac-sha256','aG91c2UgaG91c2UgaG91c2UgaG91c2UgaG91c2U=');
INSERT INTO tsigkeys VALUES (2,'unused','hmac-sha256','dW51c2VkIHVudXNlZCB1bnVzZWQgdW51c2VkIHU=');
INSERT INTO domainmetadata VALUES (1,1,'SOA-EDIT-API','EPOCH'),(2,1,'SOA-EDIT','INCEPTION-EPOCH');
INSERT INTO domainmetadata VALUES (3,1,'TSIG-ALLOW-AXFR','house'),(4,1,'TSIG-ALLOW-DNSUPDATE','house');
INSERT INTO domainmetadata VALUES (5,1,'ALLOW-AXFR-FROM','192.0.2.0/24'),(6,1,'ALSO-NOTIFY','192.0.2.53');
INSERT INTO domainmetadata VALUES (7,2,'SOA-EDIT-API','OTHER'),(8,2,'X-OWN','kept'),(9,2,'ALLOW-AXFR-FROM','AUTO-NS');
"""


def imported(author: User) -> ImportJob:
    """Import the dump as this person, and return the job."""
    options = Options(nameservers="missing", soa="missing")
    job = import_jobs.create_job(
        source=SourceKind.POWERDNS_DUMP, title="dump", author=author, now=NOW, secret=None, options=options
    )
    upload.receive_file(job=job, name="dump.sql", stream=io.BytesIO(DUMP.encode()))
    import_jobs.start_scan(job=job, now=NOW)
    import_all(job)
    return job


def test_metadata_and_the_keys_that_it_names_take_effect(alice: User, settings: Any) -> None:
    settings.SECONDARY_NETWORKS = ["192.0.2.0/24"]
    imported(alice)
    zone = Zone.objects.get(name="a.test.")
    assert (zone.soa_edit_api, zone.soa_edit) == ("EPOCH", "INCEPTION-EPOCH")
    assert tsig_permissions.key_names(zone, TsigAct.TRANSFER) == ["house."]
    assert tsig_permissions.key_names(zone, TsigAct.UPDATE) == ["house."]
    open_zone = keyless.keyless_of(zone)
    assert (open_zone.networks, open_zone.addresses) == (["192.0.2.0/24"], ["192.0.2.53"])
    [key] = Token.objects.filter(kind=TokenKind.TSIG)  # not the key that no zone names
    assert (key.owner, key.tsig_name, key.needs_permission) == (alice, "house.", True)
    assert tsig_secret(key) == b"house house house house house"


def test_values_that_cannot_take_effect_are_warnings(alice: User) -> None:
    job = imported(alice)
    zone = Zone.objects.get(name="b.test.")
    assert zone.soa_edit_api == "INCREASE"
    assert keyless.keyless_of(zone).networks == []
    assert kept_metadata.metadata_of(zone)["X-OWN"] == ["kept"]
    faults = ImportFault.objects.filter(job=job, code="metadata-refused", zone="b.test.", severity="warning")
    assert sorted(fault.reason.partition(":")[0] for fault in faults) == ["ALLOW-AXFR-FROM", "SOA-EDIT-API"]


def test_a_second_import_brings_no_second_key(alice: User) -> None:
    imported(alice)
    imported(alice)
    assert Token.objects.filter(kind=TokenKind.TSIG).count() == 1


def test_keys_act_with_the_rights_of_the_author(alice: User) -> None:
    editor = make_person("eve", Role.EDITOR)
    imported(editor)
    assert Token.objects.get(kind=TokenKind.TSIG).owner == editor
