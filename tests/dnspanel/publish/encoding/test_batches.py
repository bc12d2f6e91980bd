"""Tests of batches: ranges of the log that are compiled before the LMDB reaches their start. See `test_encode`, too."""

from dataclasses import replace

import pytest
from django.utils import timezone

from dnspanel.publish.encoding import batches
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.files.publisher import this_publisher
from dnspanel.publish.reading import publication_log
from dnspanel.publish.reading.publisher_session import snapshot
from replication.dns import rdtypes
from tests.dnspanel.publish.encoding.test_encode import change, create, encode_all, rrset, store

pytestmark = pytest.mark.django_db(transaction=True)


def test_against_digests_that_are_to_come_a_batch_is_the_same() -> None:
    """A batch that was compiled ahead, against expected digests, equals the batch that is encoded later."""
    one, two = create("one.test."), create("two.test.")
    encode_all()
    change(one, rrset("www.one.test.", rdtypes.A, "192.0.2.1"))
    change(two, rrset("www.two.test.", rdtypes.A, "192.0.2.2"))
    now = timezone.now()
    with this_publisher().session.publishing() as conn:
        assert conn is not None
        with snapshot(conn):
            head = publication_log.read_head(conn)
            assert head is not None
            between = replace(head, position=replace(head.position, sequence=3))
            encoded = publication_log.Encoded(2, store().digests(), stalled=False)
            first = batches.next_batch(conn, store(), between, encoded, now)
            assert first is not None
            found = batches.next_sound(conn, head, publication_log.Encoded(3, first.digests, stalled=False))
            assert found is not None
            ahead = batches.compile_found(conn, store(), head, found, now, before=first.digests)
            assert batches.compile_found(conn, store(), head, found, now).digests != ahead.digests
    assert encode_step(now=now) is not None
    assert store().digests() == ahead.digests
