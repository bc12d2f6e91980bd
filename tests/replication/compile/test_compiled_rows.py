"""Rows combined with changes, compared with the rows afterwards. Compiler tests cover `compile.denial`."""

from hypothesis import given
from hypothesis import strategies as st

from replication.codec import keys
from replication.compile import ChangedRows, compile_zone
from tests.replication.compile.zones import ZONE, DictRows, zone_of

RELS = st.sampled_from([keys.APEX, b"a\0", b"a\0b\0", b"a-\0", b"aa\0", b"a\0b\0c\0", b"b\0", b"\x01\0", b"a\0\xff\0"])
ROWS = st.dictionaries(st.tuples(RELS, st.sampled_from([0, 1, 50, 256])), st.binary(max_size=1))
CHANGES = st.dictionaries(st.tuples(RELS, st.sampled_from([0, 1, 50, 256])), st.none() | st.binary(max_size=1))


@given(before=ROWS, changes=CHANGES)
def test_changed_rows_are_the_rows_after_the_changes(
    before: dict[tuple[bytes, int], bytes], changes: dict[tuple[bytes, int], bytes | None]
) -> None:
    merged = {key: body for key, body in (before | changes).items() if body is not None}
    changed = ChangedRows(DictRows([(*key, body) for key, body in before.items()]), changes)
    expected = DictRows([(*key, body) for key, body in merged.items()])
    for rel in {rel for rel, _ in before | changes} | {keys.APEX, b"nothing\0"}:
        assert changed.at(rel) == expected.at(rel)
        assert list(changed.below(rel)) == list(expected.below(rel))
        assert [changed.get(rel, type) for type in (0, 1, 50)] == [expected.get(rel, type) for type in (0, 1, 50)]


def test_rows_without_changes_are_as_they_were() -> None:
    rows = DictRows(compile_zone(ZONE, zone_of("a.b A", "b TXT")))
    changed = ChangedRows(rows, {})
    assert list(changed.below(keys.APEX)) == list(rows.below(keys.APEX))
    assert changed.at(b"b\0") == rows.at(b"b\0")
