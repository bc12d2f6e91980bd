"""The source that each kind of job opens, from received files or from server parameters."""

import io
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.transfer.documents import Document
from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.files import upload
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import ImportJob, SourceKind
from dnspanel.transfer.sources import registry
from tests.dnspanel.transfer.conftest import import_all, lines_of, zone_text
from tests.people import NOW

pytestmark = pytest.mark.django_db


def job_of(source: str, alice: User, *files: tuple[str, str], **parameters: Any) -> ImportJob:
    job = import_jobs.create_job(source=source, title=source, author=alice, now=NOW, parameters=parameters)
    for name, text in files:
        upload.receive_file(job=job, name=name, stream=io.BytesIO(text.encode()))
    return job


def texts(job: ImportJob) -> list[str]:
    return [item.path for item in registry.open_source(job).items() if isinstance(item, Document)]


def test_uploaded_files_keep_the_names_that_people_know(alice: User) -> None:
    job = job_of(SourceKind.FILES, alice, ("a.test.zone", zone_text("a.test.")), ("b.test.zone", zone_text("b.test.")))
    assert texts(job) == ["a.test.zone", "b.test.zone"]


def test_a_file_of_the_same_upload_is_included(alice: User) -> None:
    job = job_of(
        SourceKind.FILES,
        alice,
        ("a.test.zone", zone_text("a.test.", "$INCLUDE shared/hosts")),
        ("shared/hosts", "www 300 IN A 192.0.2.7\n"),
    )
    import_jobs.start_scan(job=job, now=NOW)
    import_all(job)
    assert "www.a.test. 300 1 192.0.2.7" in lines_of("a.test.")


def test_csv_is_read_with_the_columns_that_were_chosen_or_guessed(alice: User) -> None:
    rows = "zone,name,type,ttl,value\na.test.,www,A,300,192.0.2.1\n"
    job = job_of(SourceKind.CSV, alice, ("hosts.csv", rows))
    import_jobs.start_scan(job=job, now=NOW)
    import_all(job)
    assert "www.a.test. 300 1 192.0.2.1" in lines_of("a.test.")


def test_kinds_that_read_one_file_say_so(alice: User) -> None:
    job = job_of(SourceKind.JSON, alice, ("a.json", "{}"), ("b.json", "{}"))
    with pytest.raises(SourceRefused, match="one file, but 2 files"):
        registry.open_source(job)
    with pytest.raises(SourceRefused, match="main file"):
        registry.open_source(job_of(SourceKind.POWERDNS_LMDB, alice, ("pdns.lmdb-0", "x")))


@pytest.mark.parametrize(
    ("parameters", "url"),
    [
        (
            {"kind": "postgresql", "host": "db.test", "port": 5433, "database": "pdns", "user": "a@b"},
            "postgresql://a%40b:p%2Fw%3A@db.test:5433/pdns",
        ),
        (
            {"kind": "mysql", "host": "2001:db8::1", "database": "p/d", "user": "x"},
            "mysql://x:p%2Fw%3A@[2001:db8::1]/p/d",
        ),
        ({"kind": "sqlite", "database": "/srv/pdns.db"}, "sqlite:///srv/pdns.db"),
    ],
)
def test_no_part_of_a_database_url_is_taken_for_another(parameters: dict[str, Any], url: str) -> None:
    assert registry.database_url(parameters, "p/w:") == url
