"""Tests of a publisher process that is killed at each step of encoding."""

import signal
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from django.utils import timezone

from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.models import PreparedRows, Segment
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit
from replication.dns import rdtypes
from tests.dnspanel.publish.audited import audit_store
from tests.dnspanel.publish.encoding.test_encode import change, create, encode_all, rrset
from tests.dnspanel.publish.reading.test_prepared import NAMES, prepare, publish_zones
from tests.interpreter import Interpreter

pytestmark = pytest.mark.django_db(transaction=True)

EncodeAndDie = Callable[[Path, str], None]


@pytest.fixture
def encode_and_die(interpreter: Interpreter) -> EncodeAndDie:
    def encode(directory: Path, point: str) -> None:
        ended = interpreter.run("crashes.encode_and_die", str(directory), point)
        assert ended.status == -signal.SIGKILL, ended.err

    return encode


@pytest.mark.parametrize(
    "point", ["before the object", "after the object", "after the row", "before apply", "after apply"]
)
def test_after_a_kill_the_next_publisher_goes_on_without_gap_or_duplicate(
    publisher_directory: Path, encode_and_die: EncodeAndDie, point: str
) -> None:
    zone = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    gone = create("gone.test.")
    encode_all()
    change(zone, rrset("www.example.test.", rdtypes.A, "192.0.2.2"))
    edit.delete_zone(zone=gone, acting=Acting(None, "system", timezone.now()))
    encode_and_die(publisher_directory, point)
    change(zone, rrset("new.example.test.", rdtypes.A, "192.0.2.3"))
    encode_all()
    ranges = list(Segment.objects.order_by("first").values_list("first", "last"))
    assert ranges[0][0] == 1
    assert ranges[-1][1] == 5
    assert all(before[1] + 1 == after[0] for before, after in pairwise(ranges))
    audit = audit_store(schema=4)
    assert audit is not None
    assert audit.equal
    assert encode_step(now=timezone.now()) is None


@pytest.mark.parametrize(
    "point",
    ["before the object", "after the object", "after the row", "before apply", "after apply", "before the drop"],
)
def test_what_was_prepared_is_published_once_and_gone_after_a_kill(
    publisher_directory: Path, encode_and_die: EncodeAndDie, point: str
) -> None:
    create("example.test.")
    encode_all()
    prepare(publish_zones())
    encode_and_die(publisher_directory, point)
    change(Zone.objects.get(name=NAMES[0]), rrset(f"new.{NAMES[0]}", rdtypes.A, "192.0.2.3"))
    encode_all()
    assert list(Segment.objects.order_by("first").values_list("first", "last")) == [(1, 1), (2, 2), (3, 3)]
    audit = audit_store(schema=4)
    assert audit is not None
    assert audit.equal
    assert not PreparedRows.objects.exists()


def test_the_same_range_sealed_again_is_the_same_object(
    publisher_directory: Path, encode_and_die: EncodeAndDie
) -> None:
    create("example.test.")
    encode_and_die(publisher_directory, "after the object")
    encode_all()
    assert len([path for path in (publisher_directory / "segments").rglob("*") if path.is_file()]) == 1
