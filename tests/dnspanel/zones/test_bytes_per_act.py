"""The bytes that each act leaves in PostgreSQL, with indexes, compared with the table of sizing.md."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import User
from dnspanel.transfer.documents import Document
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import SourceKind
from dnspanel.zones.audit import audit_links
from dnspanel.zones.models import Channel
from tests.dnspanel.transfer.conftest import directories as directories
from tests.dnspanel.transfer.conftest import work_through, zone_text
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.docs.documents import ROOT
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db(transaction=True)

TABLES = {
    "revision": ["zones_revision"],
    "changes": ["zones_change"],
    "publication": ["zones_publication"],
    "audit link": ["zones_auditlink"],
    "audit entry": ["accounts_auditentry"],
    "report": ["transfer_importzone", "transfer_importfault", "transfer_importpiece"],
}
ACTS = 400
NAMES = ("an edit", "a dynamic update", "an action without a publication", "a zone in an import's report")
ROW = re.compile(rf"^\| ({'|'.join(NAMES)}) \|(.*)\|$", re.MULTILINE)
SIZE = "SELECT coalesce(sum(pg_total_relation_size(to_regclass(t))), 0) FROM unnest(%s::text[]) AS t"


def sizes() -> dict[str, int]:
    with connection.cursor() as cursor:
        found = {}
        for name, tables in TABLES.items():
            cursor.execute(SIZE, [tables])
            found[name] = int(cursor.fetchone()[0])
    return found


@contextmanager
def measured(found: dict[str, int]) -> Iterator[None]:
    """Put the bytes per act that the block adds into `found`. The tables are compact before it."""
    with connection.cursor() as cursor:
        for tables in TABLES.values():
            for table in tables:
                cursor.execute("SELECT to_regclass(%s)", [table])
                if cursor.fetchone()[0]:
                    cursor.execute(f"VACUUM FULL {table}")
    before = sizes()
    yield
    audit_links.link_new_acts()
    found.update({name: round((size - before[name]) / ACTS) for name, size in sizes().items()})


def edits(make_zone: MakeZone, author: User, channel: str) -> Callable[[], None]:
    zone = make_zone(name=f"{channel}.test.")

    def publish() -> None:
        for number in range(ACTS):
            zone.refresh_from_db()
            rrset = rr(f"www 300 A 192.0.{number // 250}.{number % 250 + 1}", origin=zone.name)
            changes = {(rrset.name, rrset.type): rrset}
            change_rrsets(zone=zone, changes=changes, author=author, channel=channel, now=NOW)

    return publish


def entries(author: User) -> None:
    for number in range(ACTS):
        audit.record(action="zone.settings", by=author, now=NOW, target=f"zone{number}.test.", tags=["shop"])


def report(author: User) -> None:
    texts = [(f"z{number}.zone", zone_text(f"z{number}.test.", "www 300 A 192.0.2.1")) for number in range(ACTS)]
    documents = [Document(path=path, text=text.encode()) for path, text in texts]
    work_through(
        import_jobs.create_of_documents(
            documents=documents, source=SourceKind.PASTE, title="test", author=author, now=NOW, options=None
        )
    )


@pytest.mark.usefixtures("directories")
def test_the_table_of_sizing_has_the_bytes_of_each_act(make_zone: MakeZone, alice: User) -> None:
    of_acts = (
        edits(make_zone, alice, Channel.API),
        edits(make_zone, alice, Channel.DYNAMIC_UPDATE),
        lambda: entries(alice),
        lambda: report(alice),
    )
    found: dict[str, dict[str, int]] = {}
    for act, carry_out in zip(NAMES, of_acts, strict=True):
        with measured(found.setdefault(act, {})):
            carry_out()
    text = (ROOT / "docs/operate/sizing.md").read_text()
    table = {act: [int(cell or 0) for cell in cells.replace(" ", "").split("|")] for act, cells in ROW.findall(text)}
    expected = {act: [*bytes_of.values(), sum(bytes_of.values())] for act, bytes_of in found.items()}
    assert table.keys() == expected.keys(), expected
    for act, documented in table.items():
        for documented_bytes, measured_bytes in zip(documented, expected[act], strict=True):
            difference = abs(documented_bytes - measured_bytes)
            assert difference <= max(130, measured_bytes // 3), (act, documented, expected[act])
