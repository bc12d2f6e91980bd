"""A switch from one denial of existence to another, which only reads rows."""

import tracemalloc
from collections.abc import Iterator
from itertools import permutations

import pytest
from hypothesis import given, settings

from replication.codec.dnssec import Nsec3, nsec3_hash
from replication.compile import ChangedRows, Row, compile_changes, compile_zone, switch_denial
from replication.dns.rdtypes import A
from tests.full import Sample, examples
from tests.replication.compile.test_changes import Person
from tests.replication.compile.zones import (
    CONTENT,
    DENIALS,
    EDITS,
    ZONE,
    DictRows,
    Key,
    difference,
    one,
    zone_of,
)

PAIRS = list(permutations(DENIALS, 2))


def assert_switched(content: list[Row], before: Nsec3 | None, after: Nsec3 | None, compiled: list[Row]) -> None:
    rows = DictRows(content)
    changes = list(switch_denial(ZONE, rows, before, after))
    expected = difference(rows.content, compiled)
    assert {(rel, type): body for rel, type, body in changes} == expected
    assert len(changes) == len(expected)
    puts = list(switch_denial(ZONE, rows, before, after, deletes=False))
    deletes = list(switch_denial(ZONE, rows, before, after, puts=False))
    assert puts == [change for change in changes if change[2] is not None]
    assert deletes == [change for change in changes if change[2] is None]


@settings(max_examples=examples(60, 600), deadline=None)
@given(content=CONTENT)
def test_a_switch_equals_the_difference_of_two_full_compiles(content: dict[Key, int]) -> None:
    rrsets = [one(*key, ttl) for key, ttl in content.items()]
    compiled = {mode: compile_zone(ZONE, rrsets, nsec3) for mode, nsec3 in DENIALS.items()}
    for before, after in PAIRS:
        assert_switched(compiled[before], DENIALS[before], DENIALS[after], compiled[after])


def test_a_switch_of_large_zones_equals_it_too(sample: Sample) -> None:
    for number in range(sample.few(20, 200, reason="zones that another denial is given to")):
        person = Person(sample.seed * 10_000 + number)
        content = person.start() | person.start() | person.start()
        compiled = {mode: compile_zone(ZONE, content.values(), nsec3) for mode, nsec3 in DENIALS.items()}
        for before, after in PAIRS:
            assert_switched(compiled[before], DENIALS[before], DENIALS[after], compiled[after])


@pytest.mark.parametrize("mode", DENIALS)
def test_the_same_denial_changes_nothing(mode: str) -> None:
    rows = DictRows(compile_zone(ZONE, zone_of("a.b A"), DENIALS[mode]))
    assert list(switch_denial(ZONE, rows, DENIALS[mode], DENIALS[mode])) == []
    assert rows.read == 0


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_names_that_are_hashes_of_others_switch_too(before: str, after: str) -> None:
    rrsets = zone_of("www A")
    for nsec3 in DENIALS.values():
        if nsec3:
            hashed = nsec3_hash("www." + ZONE, nsec3.salt, nsec3.iterations).decode()
            rrsets += [one(hashed, A), one(f"a.b.{hashed}", A)]
    rrsets = list({(item.name, item.type): item for item in rrsets}.values())
    one_way, other_way = (compile_zone(ZONE, rrsets, DENIALS[mode]) for mode in (before, after))
    assert_switched(one_way, DENIALS[before], DENIALS[after], other_way)


@settings(max_examples=examples(60, 600), deadline=None)
@given(content=CONTENT, edit=EDITS)
def test_changes_and_a_switch_in_one_range(content: dict[Key, int], edit: dict[Key, int | None]) -> None:
    """Changes are compiled with the old denial, and then the switch. Rows of the switch replace earlier rows."""
    zone = {key: one(*key, ttl) for key, ttl in content.items()}
    changed = {key: None if ttl is None else one(*key, ttl) for key, ttl in edit.items()}
    new = {key: item for key, item in (zone | changed).items() if item is not None}
    for before, after in PAIRS[:: len(PAIRS) // 8]:
        rows = DictRows(compile_zone(ZONE, zone.values(), DENIALS[before]))
        changes = compile_changes(ZONE, rows, changed, DENIALS[before])
        switched = switch_denial(ZONE, ChangedRows(rows, changes), DENIALS[before], DENIALS[after])
        result = rows.content | changes | {(rel, type): body for rel, type, body in switched}
        expected = {(rel, type): body for rel, type, body in compile_zone(ZONE, new.values(), DENIALS[after])}
        assert {key: body for key, body in result.items() if body is not None} == expected


class GeneratedRows:
    """The rows of an NSEC zone of any size, generated on demand and never all in memory."""

    def __init__(self, size: int) -> None:
        self.apex, self.name = compile_zone(ZONE, zone_of("x A"))[:2], compile_zone(ZONE, zone_of("x A"))[2]
        self.ent = next(row for row in compile_zone(ZONE, zone_of("x.y A")) if row[1] == 0)
        self.size = size

    def get(self, rel: bytes, type: int) -> bytes | None:
        raise AssertionError

    def at(self, rel: bytes) -> list[tuple[int, bytes]]:
        return [row[1:] for row in self.apex]

    def below(self, rel: bytes) -> Iterator[Row]:
        for number in range(self.size):
            above = b"%08d\0" % number
            yield above, *self.ent[1:]
            yield above + b"a\0", *self.name[1:]


def peak(size: int) -> int:
    rows = GeneratedRows(size)
    tracemalloc.start()
    try:
        count = sum(1 for _ in switch_denial(ZONE, rows, None, Nsec3(opt_out=True)))
        assert count == 2 + 2 + 6 * size
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.turn(4, reason="the memory of a large zone's switch")
def test_the_memory_of_a_switch_does_not_grow_with_the_zone() -> None:
    peak(5000)  # fills the caches of names
    assert peak(8000) < peak(4000) + 50_000
