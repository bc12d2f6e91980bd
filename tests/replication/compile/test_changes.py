"""The compiler of changes, with every kind of denial of existence."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication.codec import values
from replication.codec.dnssec import Nsec3, nsec3_hash
from replication.codec.keys import name_from_relative_key
from replication.compile import compile_changes, compile_zone
from replication.dns import rdata, rrset
from replication.dns.rdtypes import DS, HTTPS, NS, RRSIG, SOA, TXT, A
from replication.dns.rrset import RRset
from tests.full import Sample, examples
from tests.replication.compile.zones import (
    CONTENT,
    DENIALS,
    EDITS,
    RDATA,
    ZONE,
    DictRows,
    Key,
    difference,
    one,
    zone_of,
)

Content = dict[Key, RRset]


class Compared:
    """A zone whose rows are compiled only from changes, and compared with a full compilation each time."""

    def __init__(self, content: Content, nsec3: Nsec3 | None) -> None:
        self.content, self.nsec3 = content, nsec3
        self.rows = DictRows(compile_zone(ZONE, content.values(), nsec3))

    def change(self, changed: dict[Key, RRset | None]) -> None:
        for key, after in changed.items():
            self.content.pop(key, None)
            if after is not None:
                self.content[key] = after
        expected = difference(self.rows.content, compile_zone(ZONE, self.content.values(), self.nsec3))
        changes = compile_changes(ZONE, self.rows, changed, self.nsec3)
        assert changes == expected
        for row, body in changes.items():
            if body is None:
                del self.rows.content[row]
            else:
                self.rows.content[row] = body


@pytest.mark.parametrize("mode", DENIALS)
@settings(max_examples=examples(50, 1000), deadline=None)
@given(content=CONTENT, edits=st.lists(EDITS, max_size=4), data=st.data())
def test_compiling_changes_equals_the_difference_of_two_full_compiles(
    mode: str, content: dict[Key, int], edits: list[dict[Key, int | None]], data: st.DataObject
) -> None:
    zone = Compared({key: one(*key, ttl) for key, ttl in content.items()}, DENIALS[mode])
    for edit in edits:
        # Random deletions rarely hit existing RRsets, so delete some of those too.
        if zone.content:
            existing = st.sampled_from(sorted(zone.content))
            edit = edit | dict.fromkeys(data.draw(st.lists(existing, max_size=4)), None)
        zone.change({key: None if ttl is None else one(*key, ttl) for key, ttl in edit.items()})


class Person:
    """A simulated person who makes random edits, with everything that a zone can contain."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def name(self) -> str:
        labels = self.random.choices("aab*", k=self.random.choice((0, 1, 1, 2, 2, 3, 4, 5)))
        return ".".join([*labels, ZONE])

    def near(self, content: Content) -> str:
        """Return a name of the zone, its parent, or a name below it."""
        name = self.random.choice(sorted(content))[0]
        chosen = self.random.random()
        if chosen < 0.6 or name == ZONE:
            return name
        return name.partition(".")[2] if chosen < 0.8 else f"{self.random.choice('ab')}.{name}"

    def start(self) -> Content:
        keys = [(ZONE, SOA), (ZONE, NS)]
        keys += [(self.name(), self.type()) for _ in range(self.random.choice((0, 5, 20)))]
        return {key: one(*key) for key in keys}

    def type(self) -> int:
        return self.random.choice((A, A, TXT, NS, NS, NS, DS, RRSIG))

    def edit(self, content: Content) -> dict[Key, RRset | None]:
        if not content:
            return {(ZONE, SOA): one(ZONE, SOA)}
        kind = self.random.choice(("some", "some", "delegate", "sign", "subtree", "name", "apex"))
        name = self.near(content)
        if kind == "delegate":
            return {(name, NS): None if (name, NS) in content else one(name, NS)}
        if kind == "sign":
            cuts = [name for name, type in sorted(content) if type == NS and name != ZONE] or [name]
            name = self.random.choice(cuts)
            return {(name, DS): None if (name, DS) in content else one(name, DS)}
        if kind in ("subtree", "name"):
            return {
                key: None for key in content if key[0] == name or (kind == "subtree" and key[0].endswith("." + name))
            }
        if kind == "apex":
            return {(ZONE, SOA): one(ZONE, SOA, self.random.randrange(9))}
        edit: dict[Key, RRset | None] = {}
        for _ in range(self.random.choice((1, 1, 2, 6))):
            key = (self.near(content) if self.random.random() < 0.7 else self.name(), self.type())
            edit[key] = None if self.random.random() < 0.5 else one(*key, self.random.randrange(3))
        return edit


@pytest.mark.parametrize("mode", DENIALS)
def test_rows_never_leave_the_full_compile_over_many_edits(mode: str, sample: Sample) -> None:
    count = sample.few(40, 600, reason="long sequences of edits of a zone")
    for number in range(count):
        person = Person(sample.seed * 10_000 + number)
        zone = Compared(person.start(), DENIALS[mode])
        for _ in range(12):
            try:
                zone.change(person.edit(zone.content))
            except AssertionError as exc:
                exc.add_note(f"person {sample.seed * 10_000 + number}")
                raise


CASES = {
    "an insecure delegation is signed": (["sub NS", "ns.sub A"], ["sub DS"], []),
    "a secure delegation loses its DS": (["sub NS", "sub DS", "sub TXT"], [], ["sub DS"]),
    "an address appears at an insecure delegation": (["sub NS"], ["sub A"], []),
    "a text appears at an insecure delegation with an address": (["a.sub NS", "a.sub A"], ["a.sub TXT"], []),
    "an insecure delegation with an address is signed": (["a.sub NS", "a.sub AAAA"], ["a.sub DS"], []),
    "a name with an address is delegated": (["a.sub A", "a.sub AAAA"], ["a.sub NS"], []),
    "the text at an insecure delegation goes": (["x.sub NS", "x.sub TXT"], [], ["x.sub TXT"]),
    "the last signed delegation below an empty name goes": (["a.b NS", "a.b DS", "c.b NS"], [], ["a.b NS", "a.b DS"]),
    "one of two signed delegations below an empty name goes": (
        ["a.b NS", "a.b DS", "c.b NS", "c.b DS"],
        [],
        ["a.b DS"],
    ),
    "an empty name above insecure delegations gets a name": (["a.b.c NS", "d.b.c NS"], ["e.b.c A"], []),
    "a name with a zone's worth below it is delegated": (["a.b.c A", "d.c NS", "d.c DS", "e.d.c A"], ["c NS"], []),
    "a delegation above another goes": (["c NS", "d.c NS", "d.c TXT", "e.d.c A", "f.g.c A"], [], ["c NS"]),
    "a wildcard is delegated": (["*.a A", "b.*.a A"], ["*.a NS"], ["*.a A"]),
    "an alias goes from below an empty name": (["www.a CNAME", "b.a NS"], [], ["www.a CNAME"]),
}


@pytest.mark.parametrize("mode", DENIALS)
@pytest.mark.parametrize("case", CASES)
def test_named_cases(case: str, mode: str) -> None:
    before, put, deleted = CASES[case]
    zone = Compared({(item.name, item.type): item for item in zone_of(*before)}, DENIALS[mode])
    content = dict(zone.content)
    changed: dict[Key, RRset | None] = {(item.name, item.type): item for item in zone_of(*put)[2:]}
    changed |= {(item.name, item.type): None for item in zone_of(*deleted)[2:]}
    zone.change(changed)
    zone.change({key: content.get(key) for key in changed})


def test_a_name_that_is_the_hash_of_another_comes_and_goes() -> None:
    nsec3 = Nsec3(opt_out=True)
    hashed = nsec3_hash("www." + ZONE, b"", 0).decode() + "." + ZONE
    for order in ([hashed, "www." + ZONE], ["www." + ZONE, hashed]):
        zone = Compared({(item.name, item.type): item for item in zone_of("x A")}, nsec3)
        for below in ("", "a.b."):
            for name in order:
                zone.change({(below + name, A): one(below + name, A)})
            for name in order:
                zone.change({(below + name, A): None})


@pytest.mark.parametrize("mode", DENIALS)
def test_a_name_that_owns_nothing_but_signatures_is_none(mode: str) -> None:
    """The RRSIGs of NSEC3 records are at hashes, which must not become existing names."""
    plain = zone_of("a.b A", "sub NS")
    hashed = [f"{nsec3_hash(name, b'', 0).decode()}.{ZONE}" for name in (ZONE, f"b.{ZONE}")]
    signatures = [one(name, RRSIG) for name in (*hashed, ZONE, f"b.{ZONE}", f"sub.{ZONE}", f"x.y.{ZONE}")]
    rows = {row[:2]: row[2] for row in compile_zone(ZONE, [*plain, *signatures], DENIALS[mode])}
    assert {key: body for key, body in rows.items() if key[1] != RRSIG} == {
        row[:2]: row[2] for row in compile_zone(ZONE, plain, DENIALS[mode])
    }
    flags = {name_from_relative_key(rel, ZONE): values.first_flags(rows[rel, type]) for rel, type in rows if type == 46}
    assert flags == {each.name: (each.name != f"sub.{ZONE}", False) for each in signatures}


def test_what_is_disabled_leaves_the_rows() -> None:
    zone = Compared({(item.name, item.type): item for item in zone_of("a.b A")}, Nsec3())
    off = rrset.make("a.b", A, 300, [RDATA[A]], disabled=[RDATA[A]], origin=ZONE)
    zone.change({("a.b." + ZONE, A): off})
    assert (b"b\0a\0", A) not in zone.rows.content


EDITS_THAT_READ_LITTLE: list[tuple[str, int, bool]] = [
    ("h50.deep.", A, True),
    ("new.deep.", A, True),
    ("h50.deep.", A, False),
    ("new.empty.deep.", A, True),
    ("cut.deep.", NS, True),
    ("c50.cuts.", DS, True),
    ("c50.cuts.", DS, False),
    ("c50.cuts.", TXT, True),
    ("s50.signed.", DS, False),
    ("s50.signed.", NS, False),
    ("", TXT, True),
]


def reads(mode: str, size: int) -> list[int]:
    """Return the number of rows that each edit reads in a zone of this size."""
    lines = [f"h{n}.deep A" for n in range(size)] + [f"c{n}.cuts NS" for n in range(size)]
    lines += [f"s{n}.signed {type}" for n in range(size) for type in ("NS", "DS")]
    rows = DictRows(compile_zone(ZONE, zone_of(*lines), DENIALS[mode]))
    found = []
    for name, type, comes in EDITS_THAT_READ_LITTLE:
        rows.read = 0
        compile_changes(ZONE, rows, {(name + ZONE, type): one(name + ZONE, type) if comes else None}, DENIALS[mode])
        found.append(rows.read)
    return found


@pytest.mark.parametrize("mode", DENIALS)
def test_the_reads_of_one_change_do_not_grow_with_the_zone(mode: str) -> None:
    few = reads(mode, 60)
    assert few == reads(mode, 400)
    assert max(few) < 16


@pytest.mark.parametrize("mode", DENIALS)
def test_below_a_delegation_no_more_is_read_than_must_be(mode: str) -> None:
    lines = ["c NS", "d.c NS", "e.c TXT", *(f"h{n}.d.c A" for n in range(100)), *(f"h{n}.e.c A" for n in range(100))]
    rows = DictRows(compile_zone(ZONE, zone_of(*lines), DENIALS[mode]))
    # Below a delegation that is occluded by another one, no name changes.
    compile_changes(ZONE, rows, {("d.c." + ZONE, NS): None}, DENIALS[mode])
    # Any name can be the empty name that is occluded.
    compile_changes(ZONE, rows, {("e.c." + ZONE, TXT): None}, DENIALS[mode])
    assert rows.read < 20
    # Each row is read once if both change.
    rows.read = 0
    compile_changes(ZONE, rows, {("c." + ZONE, NS): None, ("d.c." + ZONE, NS): None}, DENIALS[mode])
    below = sum(rel.startswith(b"c\0") for rel, _ in rows.content)
    added = 200 if any(type == 50 for _, type in rows.content) else 0  # rows at the hash labels, which are compared
    assert rows.read < below + added + 20


def test_a_name_that_loses_its_signatures_gets_names_as_powerdns_signs_them() -> None:
    name, signature = f"www.{ZONE}", f"HTTPS 13 3 300 20261224000000 20261101000000 1 {ZONE} {'q80x' * 21}qw=="
    https = rrset.make(name, HTTPS, 300, ["1 Web.Other.test.", "2 web2.other.test."])
    rrsig = RRset(name, RRSIG, 300, (rdata.parse_signature(signature),))
    compared = Compared({(name, HTTPS): https, (name, RRSIG): rrsig}, None)
    compared.change({(name, RRSIG): None})
    compared.change({(name, HTTPS): rrset.make(name, HTTPS, 60, ["1 Web.Other.test."])})
    compared.change({(name, HTTPS): https, (name, RRSIG): rrsig})
