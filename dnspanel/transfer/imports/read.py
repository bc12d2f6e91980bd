"""Read all items of a source, divide them into pieces, and spool them. Verbs.

A piece exists once its row is committed. If a reader dies, the next one continues after the last piece. This works
because sources are deterministic, and the row's `items` is the number of items to skip.
"""

import time
from collections.abc import Callable, Iterable
from threading import Event, Thread
from typing import Any, Self

from django.db import transaction
from django.utils import timezone

from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.texts import gettext
from dnspanel.transfer import import_limits, import_quotas, job_rights
from dnspanel.transfer.documents import Document, Kept, ServerSource, Source, SourceFault
from dnspanel.transfer.errors import SourceAway
from dnspanel.transfer.files import spool
from dnspanel.transfer.imports.scan import keep_faults
from dnspanel.transfer.models import ImportJob, ImportPiece, KeptItem, KeptKind

# The size of a piece is about that of a publication: an edit after it waits until ring 0 and the nodes have applied it.
# With 700,000 bytes imports were not faster, and the slowest edits waited half as long again.
PIECE_BYTES = 400_000
PIECE_DOCUMENTS = 1_200
# A piece is committed at least this often, so that slow servers show progress.
PIECE_SECONDS = 5.0


class _Piece:
    """The items of the piece that is being read."""

    def __init__(self, job: ImportJob, number: int, items: int) -> None:
        self.job, self.number, self.items = job, number, items
        self.faults: list[SourceFault] = []
        self.kept: list[Kept] = []
        self.began = timezone.now()
        self._writer = spool.SpoolWriter(spool.spool_path(job.pk, number))

    def add(self, item: Document | SourceFault | Kept) -> None:
        self.items += 1
        if isinstance(item, Document):
            self._writer.add(item)
        elif isinstance(item, SourceFault):
            self.faults.append(item)
        else:
            self.kept.append(item)

    @property
    def is_full(self) -> bool:
        return (
            self._writer.size >= PIECE_BYTES
            or self._writer.documents >= PIECE_DOCUMENTS
            or len(self.faults) + len(self.kept) >= PIECE_DOCUMENTS
            or (timezone.now() - self.began).total_seconds() >= PIECE_SECONDS
        )

    def commit(self, **progress: Any) -> None:
        """Store the piece on disk and in PostgreSQL with the job's progress. Raise QuotaExceeded beyond the quota."""
        self._writer.finish()
        with transaction.atomic(durable=True):
            import_quotas.refuse_bytes(job_rights.actor_of_job(self.job), self._writer.size, now=timezone.now())
            ImportPiece.objects.create(
                job=self.job,
                number=self.number,
                items=self.items,
                documents=self._writer.documents,
                spool_size=self._writer.size,
            )
            keep_faults(self.job.pk, self.number, self.faults, by_source=True)
            KeptItem.objects.bulk_create(map(self._kept_row, self.kept), batch_size=2_000)
            ImportJob.objects.filter(pk=self.job.pk).update(items=self.items, **progress)

    def abandon(self) -> None:
        self._writer.abandon()

    def _kept_row(self, kept: Kept) -> KeptItem:
        is_secret = kept.kind in (KeptKind.KEY, KeptKind.TSIG)
        value = encrypt_secret(kept.value) if is_secret else kept.value
        return KeptItem(job=self.job, zone=kept.zone, kind=kept.kind, name=kept.name, value=value)


class _Watch:
    """A watchdog that cuts off a server if an item or the whole source takes too long. Files have no time limit."""

    def __init__(self, source: Source) -> None:
        self._source = source if isinstance(source, ServerSource) else None
        self.complaint = ""  # the reason why the server was cut off
        self._ended = Event()
        self._until = self._last = 0.0
        self._thread = Thread(target=self._wait, name="deadline of a source", daemon=True)

    def __enter__(self) -> Self:
        if self._source is not None:
            now = time.monotonic()
            self._until, self._last = now + import_limits.MOST_ITEM_SECONDS, now + import_limits.MOST_READ_SECONDS
            self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._source is not None:
            self._ended.set()
            self._thread.join()
            self._source.cut()  # do not wait for prefetched items

    def saw_item(self) -> None:
        """Restart the timer for the next item. Raise SourceAway if the server has been cut off."""
        if self.complaint:
            raise SourceAway(self.complaint)
        self._until = time.monotonic() + import_limits.MOST_ITEM_SECONDS

    def _wait(self) -> None:
        assert self._source is not None
        while (now := time.monotonic()) < min(self._until, self._last):
            if self._ended.wait(min(self._until, self._last) - now):
                return
        if now < self._last:
            self.complaint = gettext("the server sent no usable data for {minutes:g} minutes").format(
                minutes=import_limits.MOST_ITEM_SECONDS / 60
            )
        else:
            self.complaint = gettext(
                "the source wasn’t read completely within {hours:g} hours: resume the import to continue"
            ).format(hours=import_limits.MOST_READ_SECONDS / 3600)
        self._source.cut()


def read_source(*, job: ImportJob, source: Source, goes_on: Callable[[], bool]) -> bool:
    """Spool all items of the source. Return True at its end, or False if `goes_on` returned False after a piece.

    Raise TransferError if the source can't be read, SourceAway if a server takes too long, and QuotaExceeded if the
    author's quota of file bytes is exceeded. Finished pieces stay, and reading can continue later.
    """
    last = ImportPiece.objects.filter(job=job).order_by("-number").first()
    number, items = (last.number, last.items) if last else (0, 0)
    piece = _Piece(job, number + 1, items)
    with _Watch(source) as watch:
        try:
            for item in source.items(skip=items):
                watch.saw_item()
                piece.add(item)
                if piece.is_full:
                    piece.commit(read_total=source.total, read_done=source.done, read_unit=source.unit)
                    if not goes_on():
                        return False
                    piece = _Piece(job, piece.number + 1, piece.items)
            watch.saw_item()
        except BaseException as exc:
            piece.abandon()
            if watch.complaint:  # regardless of the error that the cut connection raises
                raise SourceAway(watch.complaint) from exc
            raise
    total = source.total or source.done
    piece.commit(read_total=total, read_done=total, read_unit=source.unit, read_ended=True, secret=None)
    return True


def spool_documents(*, job: ImportJob, documents: Iterable[Document]) -> None:
    """Spool these documents as the job's complete source. Raise ValueError if a document is too large."""
    piece = _Piece(job, 1, 0)
    for document in documents:
        if len(document.text) > import_limits.MOST_DOCUMENT_BYTES:
            raise ValueError(import_limits.title("document"))
        piece.add(document)
    size = sum(len(document.text) for document in documents)
    piece.commit(read_total=size, read_done=size, read_ended=True)
