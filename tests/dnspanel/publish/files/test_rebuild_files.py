"""Tests of the rebuild of the panel's LMDB from PostgreSQL, and of its check.

Tests `files.full_zone` too.
"""

import shutil
from io import StringIO
from pathlib import Path

import lmdb
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from dnspanel.publish.files.publisher import store_path, this_publisher
from dnspanel.publish.files.rebuild_files import rebuild_store
from dnspanel.publish.models import Segment
from dnspanel.publish.reading.publisher_session import Session
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import RRset as RRsetRow
from dnspanel.zones.publishing import edit
from replication.dns import rdtypes
from replication.errors import Busy, Diverged
from tests.dnspanel.publish.audited import audit_store
from tests.dnspanel.publish.encoding.test_encode import (
    assert_equal_to_postgresql,
    change,
    create,
    encode_all,
    rrset,
    store,
)

pytestmark = pytest.mark.django_db(transaction=True)


def some_history() -> None:
    zone = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    other = create("other.test.", rrset("a.b.c.other.test.", rdtypes.TXT, '"deep"'))
    change(zone, rrset("sub.example.test.", rdtypes.NS, "ns.elsewhere.test."))
    encode_all()
    edit.delete_zone(zone=other, acting=Acting(None, "system", timezone.now()))
    change(zone, gone=(("www.example.test.", rdtypes.A),))
    encode_all()


def test_without_a_log_there_is_nothing_to_rebuild() -> None:
    assert rebuild_store(schema=4, now=timezone.now()) is None


def test_a_rebuilt_store_has_the_digests_of_the_last_segment(publisher_directory: Path) -> None:
    some_history()
    before = store().digests()
    this_publisher().close()
    shutil.rmtree(publisher_directory / "publisher")
    position = rebuild_store(schema=4, now=timezone.now())
    assert position is not None
    assert position.sequence == 5
    assert store().digests() == before
    assert_equal_to_postgresql()


def test_a_rebuild_stops_at_the_last_segment_and_encoding_goes_on_from_there() -> None:
    some_history()
    zone = create("later.test.")
    change(zone, rrset("www.later.test.", rdtypes.A, "192.0.2.1"))
    position = rebuild_store(schema=4, now=timezone.now())
    assert position is not None
    assert position.sequence == 5
    assert encode_all() == 1
    assert_equal_to_postgresql()


def test_a_running_publisher_opens_the_files_that_a_rebuild_put_in_place() -> None:
    some_history()
    old = store()
    rebuild_store(schema=4, now=timezone.now())
    assert store() is not old
    create("later.test.")
    assert encode_all() == 1
    assert_equal_to_postgresql()


def test_the_audit_names_the_zone_that_another_hand_altered() -> None:
    some_history()
    path = store_path(this_publisher().directory, 4)
    this_publisher().close()
    with lmdb.open(f"{path}-0", subdir=False, max_dbs=16, map_size=1 << 30) as env:
        records = env.open_db(b"records", create=False)
        with env.begin(write=True, db=records) as txn, txn.cursor() as cursor:
            assert cursor.first()
            assert txn.delete(cursor.key())
    audit = audit_store(schema=4)
    assert audit is not None
    assert (audit.different, audit.equal) == (("example.test.",), False)
    with pytest.raises(CommandError, match="rebuild_lmdb"):
        call_command("audit", stdout=StringIO())
    call_command("rebuild_lmdb", stdout=StringIO())
    out = StringIO()
    call_command("audit", stdout=out)
    assert "the panel's LMDB of schema 4: equal" in out.getvalue()


def test_a_rebuild_that_does_not_give_the_segments_digests_changes_nothing() -> None:
    some_history()
    before = store().digests()
    RRsetRow.objects.filter(type=rdtypes.NS, name="sub.example.test.").update(ttl=1)
    with pytest.raises(Diverged):
        rebuild_store(schema=4, now=timezone.now())
    assert store().digests() == before


def test_nobody_rebuilds_while_another_publishes(monkeypatch: pytest.MonkeyPatch) -> None:
    from dnspanel.publish.files import rebuild_files

    monkeypatch.setattr(rebuild_files, "_WAIT_SECONDS", 0.05)
    some_history()
    other = Session()
    with other.publishing() as conn:
        assert conn is not None
        with pytest.raises(Busy):
            rebuild_store(schema=4, now=timezone.now())
    other.close()
    assert Segment.objects.count() == 2
