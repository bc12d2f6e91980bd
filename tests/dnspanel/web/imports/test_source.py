"""The sources of an import: each kind has a form, and a form that is sent twice creates one import."""

import json
from io import BytesIO
from typing import Any
from uuid import uuid4

import pytest

from dnspanel.accounts.models import User
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.transfer.files import upload
from dnspanel.transfer.models import ImportJob, ImportZone, State
from dnspanel.web.imports.source import SOURCES
from dnspanel.web.imports.source_forms import SOURCE_FORMS
from tests.dnspanel.transfer.conftest import directories, work_through, zone_text
from tests.dnspanel.web.conftest import Browser

__all__ = ["directories"]


@pytest.fixture(autouse=True)
def allowed(settings: Any) -> None:
    settings.SOURCE_NETWORKS = ["192.0.2.0/24"]


NEW = "/imports/new/"
AXFR = {"server": "192.0.2.53", "port": "53", "tsig_algorithm": "hmac-sha256", "zones": "a.test"}

SQL = {"database_kind": "postgresql", "database": "d", "user": "u", "password": "p"}


def file_of(name: str, text: str) -> BytesIO:
    file = BytesIO(text.encode())
    file.name = name
    return file


def test_every_kind_of_source_is_offered_and_has_its_form(browser: Browser, bob: User) -> None:
    offered = [display.kind for _, group in SOURCES for display in group]
    assert sorted(offered) == sorted(SOURCE_FORMS)
    for kind in offered:
        page = browser(bob).get(f"{NEW}{kind}/").content.decode()
        assert 'aria-current="page"' in page
        assert f'action="{NEW}{kind}/"' in page


def test_an_unknown_kind_is_no_page(browser: Browser, bob: User) -> None:
    assert browser(bob).get(f"{NEW}floppy/").status_code == 404


def test_a_pasted_zone_is_scanned_at_once(browser: Browser, bob: User) -> None:
    sent = {"form_id": uuid4(), "text": zone_text("pasted.test.", "www 300 A 192.0.2.1")}
    response = browser(bob).post(f"{NEW}paste/", sent)
    job = ImportJob.objects.get()
    assert response["Location"] == f"/imports/{job.pk}/"
    assert work_through(job).state == State.CHOOSING
    assert ImportZone.objects.get(job=job).name == "pasted.test."


def test_a_form_sent_twice_makes_one_import(browser: Browser, bob: User) -> None:
    sent = {"form_id": str(uuid4()), "text": zone_text("pasted.test.")}
    first = browser(bob).post(f"{NEW}paste/", sent)["Location"]
    assert browser(bob).post(f"{NEW}paste/", sent)["Location"] == first
    assert ImportJob.objects.count() == 1


def test_files_in_a_plain_form_are_taken_without_a_script(browser: Browser, bob: User) -> None:
    files = [file_of("a.test.zone", zone_text("a.test.")), file_of("b.test.zone", zone_text("b.test."))]
    browser(bob).post(NEW, {"form_id": uuid4(), "files": files})
    job = ImportJob.objects.get()
    assert job.state == State.SCANNING
    assert job.title == "a.test.zone"
    assert {file.name for file in upload.uploaded_files(job)} == {"a.test.zone", "b.test.zone"}
    work_through(job)
    assert set(ImportZone.objects.filter(job=job).values_list("name", flat=True)) == {"a.test.", "b.test."}


def test_without_a_file_the_form_says_so(browser: Browser, bob: User) -> None:
    response = browser(bob).post(NEW, {"form_id": uuid4()})
    assert response.status_code == 422
    assert b"Choose at least one file." in response.content
    assert not ImportJob.objects.exists()


def test_the_script_gets_addresses_for_its_chunks(browser: Browser, bob: User) -> None:
    sent = {"form_id": uuid4(), "by": "script", "title": "estate"}
    answer = browser(bob).post(NEW, sent).json()
    job = ImportJob.objects.get(title="estate")
    page = f"/imports/{job.pk}/"
    assert answer == {"page": page, "upload": f"{page}upload/", "finish": f"{page}uploaded/"}
    assert job.state == State.UPLOADING


def test_the_passphrase_of_an_export_is_encrypted_and_not_shown_again(browser: Browser, bob: User) -> None:
    sent = {"form_id": uuid4(), "keys_passphrase": "a long passphrase "}
    page = browser(bob).post(f"{NEW}json/", {**sent, "files": [file_of("zones.jsonl", "{}")]})["Location"]
    job = ImportJob.objects.get()
    assert job.secret is not None
    assert json.loads(decrypt_secret(job.secret)) == {"keys_passphrase": "a long passphrase "}
    assert b"long passphrase" not in bytes(job.secret)
    assert b"long passphrase" not in browser(bob).get(page).content
    assert b"long passphrase" not in browser(bob).post(f"{NEW}json/", sent).content
    work_through(job)
    job.refresh_from_db()
    assert job.secret is None


def test_a_server_is_read_at_once_and_its_secret_is_encrypted(browser: Browser, bob: User) -> None:
    secret = {"tsig_name": "key.test", "tsig_secret": "c2VjcmV0"}
    browser(bob).post(f"{NEW}axfr/", {"form_id": uuid4(), **AXFR, **secret})
    job = ImportJob.objects.get()
    assert job.state == State.SCANNING
    assert job.parameters["zones"] == ["a.test."]
    assert "c2VjcmV0" not in str(job.parameters)
    assert b"c2VjcmV0" not in bytes(job.secret or b"")
    assert b"c2VjcmV0" not in browser(bob).get(f"/imports/{job.pk}/").content


@pytest.mark.parametrize(
    ("kind", "sent", "at"),
    [
        ("axfr", {**AXFR, "zones": "a..test"}, "id_zones_error"),
        ("axfr", {**AXFR, "server": "127.0.0.1", "tsig_name": "key.test"}, "id_server_error"),
        ("axfr", {**AXFR, "port": "22", "tsig_name": "key.test"}, "id_port_error"),
        ("powerdns-api", {"url": "http://localhost:6379", "key": "k", "server_id": "localhost"}, "id_url_error"),
        ("powerdns-sql", {**SQL, "host": "127.0.0.1"}, "id_host_error"),
        ("powerdns-sql", {**SQL, "host": "/run/postgresql"}, "id_host_error"),
        ("powerdns-api", {"url": "nowhere", "key": "k", "server_id": "localhost"}, "id_url_error"),
        ("powerdns-sql", {"database_kind": "mysql", "database": "d", "user": "u", "password": "p"}, "id_host_error"),
    ],
)
def test_a_mistake_is_said_at_its_field_and_secrets_are_not_shown_again(
    browser: Browser, bob: User, kind: str, sent: dict[str, Any], at: str
) -> None:
    response = browser(bob).post(f"{NEW}{kind}/", {"form_id": uuid4(), **sent, "tsig_secret": "dG9wc2VjcmV0"})
    assert response.status_code == 422
    assert f'id="{at}"' in response.content.decode()
    assert b"dG9wc2VjcmV0" not in response.content
    assert not ImportJob.objects.exists()
