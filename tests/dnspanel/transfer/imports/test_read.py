"""The reader of import sources stores pieces of a source, resumes after an interruption and reads nothing twice."""

import socket
from collections.abc import Callable, Iterator
from itertools import islice
from threading import Event
from urllib.parse import quote

import pytest
from django.db import connection

from dnspanel.transfer import import_limits
from dnspanel.transfer.allowed_servers import every_address
from dnspanel.transfer.documents import Document, Item, Kept, Source, SourceFault
from dnspanel.transfer.errors import SourceAway
from dnspanel.transfer.files import spool
from dnspanel.transfer.imports import import_jobs, read
from dnspanel.transfer.models import ImportFault, ImportJob, ImportPiece, KeptItem, KeptKind, SourceKind
from dnspanel.transfer.sources import powerdns_sql
from dnspanel.transfer.sources.over_dns.axfr_in import AxfrSource
from dnspanel.transfer.sources.powerdns_api import PowerdnsApiSource
from dnspanel.transfer.sources.powerdns_sql import PowerdnsSqlSource
from dnspanel.transfer.sources.sql_snapshot import Snapshot
from dnspanel.zones.rules.violations import Severity
from tests.people import NOW

pytestmark = pytest.mark.django_db


class Listed:
    """A source of these items. It fails before item number `breaks_at`."""

    unit = "zones"

    def __init__(self, items: list[Item], breaks_at: int | None = None) -> None:
        self._items, self._breaks_at = items, breaks_at
        self.total, self.done = len(items), 0

    def items(self, skip: int = 0) -> Iterator[Item]:
        for number, item in islice(enumerate(self._items), skip, None):
            if number == self._breaks_at:
                raise SourceAway("the server went away")
            self.done = number + 1
            yield item


@pytest.fixture
def job() -> ImportJob:
    return import_jobs.create_job(
        source=SourceKind.AXFR, title="a server", author=None, now=NOW, secret={"tsig_secret": "hush"}
    )


def documents(count: int) -> list[Item]:
    return [Document(f"{number}", b"x" * 10, f"z{number}.test.") for number in range(count)]


def spooled(job: ImportJob) -> list[str]:
    return [
        document.path
        for piece in ImportPiece.objects.filter(job=job).order_by("number")
        for _, document in spool.read_documents(spool.spool_path(job.pk, piece.number))
    ]


def test_every_document_is_in_one_piece(job: ImportJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "PIECE_DOCUMENTS", 4)
    assert read.read_source(job=job, source=Listed(documents(10)), goes_on=lambda: True)
    assert spooled(job) == [str(number) for number in range(10)]
    assert list(ImportPiece.objects.order_by("number").values_list("documents", "items")) == [(4, 4), (4, 8), (2, 10)]
    job.refresh_from_db()
    assert (job.read_ended, job.read_done, job.read_total, job.read_unit) == (True, 10, 10, "zones")
    assert job.secret is None


def test_reading_goes_on_where_it_broke_off(job: ImportJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "PIECE_DOCUMENTS", 4)
    with pytest.raises(SourceAway):
        read.read_source(job=job, source=Listed(documents(10), breaks_at=6), goes_on=lambda: True)
    assert spooled(job) == ["0", "1", "2", "3"]
    job.refresh_from_db()
    assert not job.read_ended
    assert job.secret is not None
    assert read.read_source(job=job, source=Listed(documents(10)), goes_on=lambda: True)
    assert spooled(job) == [str(number) for number in range(10)]


def test_reading_stops_when_the_job_does(job: ImportJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "PIECE_DOCUMENTS", 4)
    assert not read.read_source(job=job, source=Listed(documents(10)), goes_on=lambda: False)
    assert spooled(job) == ["0", "1", "2", "3"]


def test_what_a_source_says_and_keeps_aside_is_kept_with_its_piece(job: ImportJob) -> None:
    items: list[Item] = [
        SourceFault(
            "server", 0, 0, "a\0b", "the zone x.test. was refused", "refused", severity=Severity.ERROR, zone="x.test."
        ),
        Kept("z.test.", KeptKind.METADATA, "ALSO-NOTIFY", b"192.0.2.1"),
        Kept("z.test.", KeptKind.KEY, "257 13", b"Private-key-format: v1.2"),
    ]
    read.read_source(job=job, source=Listed(items), goes_on=lambda: True)
    fault = ImportFault.objects.get()
    assert (fault.code, fault.zone, fault.by_source, fault.source) == ("refused", "x.test.", True, "a␀b")
    metadata, key = KeptItem.objects.order_by("pk")
    assert bytes(metadata.value) == b"192.0.2.1"
    assert b"Private" not in bytes(key.value)


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Yield the port of a server that accepts connections and never sends anything."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(20)
        yield server.getsockname()[1]


SILENT: dict[str, Callable[[int], Source]] = {
    "axfr": lambda port: AxfrSource("127.0.0.1", port, ["a.test.", "b.test."]),
    "catalog": lambda port: AxfrSource("127.0.0.1", port, catalog="catalog.test."),
    "api": lambda port: PowerdnsApiSource(f"http://127.0.0.1:{port}", "key"),
    "mysql": lambda port: PowerdnsSqlSource(f"mysql://u:p@127.0.0.1:{port}/pdns", addresses=every_address),
}


@pytest.mark.parametrize("kind", SILENT)
def test_a_server_that_gives_nothing_is_left_after_its_time(
    job: ImportJob, silent_port: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_limits, "MOST_ITEM_SECONDS", 0.1)
    with pytest.raises(SourceAway, match="sent no usable data"):
        read.read_source(job=job, source=SILENT[kind](silent_port), goes_on=lambda: True)
    job.refresh_from_db()
    assert not job.read_ended


def test_a_postgresql_that_falls_silent_is_left_after_its_time(job: ImportJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_limits, "MOST_ITEM_SECONDS", 0.5)
    monkeypatch.setattr(powerdns_sql, "_Tables", Asleep)
    source = PowerdnsSqlSource(own_database_url())
    with pytest.raises(SourceAway, match="sent no usable data"):
        read.read_source(job=job, source=source, goes_on=lambda: True)


class Asleep:
    """A SQL source whose server never returns the first row."""

    def __init__(self, snapshot: Snapshot) -> None:
        list(snapshot.rows("SELECT pg_sleep(600)"))


def own_database_url() -> str:
    parameters = connection.get_connection_params()
    user, password = parameters["user"], quote(parameters["password"], safe="")
    return f"postgresql://{user}:{password}@{parameters['host']}:{parameters['port']}/{parameters['dbname']}"


def test_a_source_that_takes_all_day_is_left(job: ImportJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_limits, "MOST_READ_SECONDS", 0.0)
    with pytest.raises(SourceAway, match="wasn’t read completely"):
        read.read_source(job=job, source=Endless([]), goes_on=lambda: True)


class Endless(Listed):
    """A source that yields faults without end until it is cut."""

    def __init__(self, items: list[Item]) -> None:
        super().__init__(items)
        self._is_cut = Event()

    def cut(self) -> None:
        self._is_cut.set()

    def items(self, skip: int = 0) -> Iterator[Item]:
        self._is_cut.wait(10)
        yield SourceFault("server", 0, 0, "", "broken", "transfer-broken")
