"""A source is cut into pieces; reading goes on where it stopped, and nothing is read twice into them."""

from collections.abc import Iterator
from itertools import islice

import pytest

from dnspanel.accounts.models import User
from dnspanel.transfer.documents import Document, Item, Kept, SourceFault
from dnspanel.transfer.errors import SourceAway
from dnspanel.transfer.files import spool
from dnspanel.transfer.imports import jobs, read
from dnspanel.transfer.models import ImportFault, ImportJob, ImportPiece, KeptItem, KeptKind, SourceKind
from dnspanel.zones.rules import Severity
from tests.people import NOW

pytestmark = pytest.mark.django_db


class Listed:
    """A source of these items, which breaks off before the one with number `breaks_at`."""

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
def job(alice: User) -> ImportJob:
    return jobs.create_job(
        source=SourceKind.AXFR, title="a server", author=alice, now=NOW, secret={"tsig_secret": "hush"}
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
