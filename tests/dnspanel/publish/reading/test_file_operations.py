"""Tests of the file operations for a range of the log, without real files."""

import pytest

from dnspanel.publish.errors import ZoneNotEncoded
from dnspanel.publish.reading.file_operations import (
    mark_of,
    new_zone_operations,
    removed_zone_operations,
    zone_list_operations,
)
from dnspanel.publish.reading.publication_log import ZoneStep
from replication.codec.schema import Dbi, schema_for
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from replication.wire.operations import OpKind

COMING = ZoneStep(9, "example.test.", 1, served_before=False, is_full=True)
STAYING = ZoneStep(8, "stays.test.", 5, served_before=True, is_full=False)
GOING = ZoneStep(5, "example.test.", None, served_before=True, is_full=False)


@pytest.mark.parametrize("schema", [4, 5, 6])
def test_a_zone_goes_before_another_of_its_name_comes(schema: int) -> None:
    gone, come = zone_list_operations([COMING, GOING, STAYING], schema_for(schema))
    ops = [*gone, *come]
    assert [(op.kind, op.dbi) for op in ops] == [
        (OpKind.DELETE, Dbi.DOMAINS),
        (OpKind.DELETE, Dbi.DOMAINS_INDEX),
        (OpKind.PUT, Dbi.DOMAINS),
        (OpKind.PUT, Dbi.DOMAINS_INDEX),
    ]
    # Only schema 4 has several ids for one name, so only its deletion needs the id.
    assert bool(ops[1].body) == (schema == 4)


def test_a_removed_zone_takes_all_its_records_along() -> None:
    [op] = removed_zone_operations(GOING)
    assert (op.kind, op.dbi, op.key) == (OpKind.DELETE_PREFIX, Dbi.RECORDS, b"\0\0\0\x05")
    assert mark_of(GOING).serial is None


def test_a_zone_that_cannot_be_compiled_is_named() -> None:
    bad = RRset("www.example.test.", rdtypes.A, 300, ("not an address",))
    with pytest.raises(ZoneNotEncoded) as refused:
        list(new_zone_operations(COMING, [bad]))
    assert refused.value.zone_name == "example.test."
