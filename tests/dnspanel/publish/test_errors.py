"""Tests of error messages."""

from dnspanel.publish.errors import SegmentsAhead, StoreAhead, ZoneNotEncoded
from replication.errors import Permanent


def test_each_says_what_to_look_at() -> None:
    bad = ZoneNotEncoded(zone_name="example.test.", reason="bad rdata")
    assert "example.test." in str(bad)
    assert "backup" in str(SegmentsAhead(segments=9, head=7)) or "restored" in str(SegmentsAhead(segments=9, head=7))
    assert "rebuild_lmdb" in str(StoreAhead(store=9, segments=7))
    assert isinstance(bad, Permanent)
