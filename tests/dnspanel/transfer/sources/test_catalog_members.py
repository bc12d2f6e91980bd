import pytest

from dnspanel.transfer.sources.catalog_members import BadCatalog, Member, Record, members

PTR, TXT = 12, 16
VERSION = Record("version.cat.test.", TXT, '"2"')


_COO_TWICE = [Record("coo.x.zones.cat.test.", PTR, name) for name in ("one.test.", "two.test.")]


def ptr(label: str, zone: str) -> Record:
    return Record(f"{label}.zones.cat.test.", PTR, zone)


def test_members_come_by_name_with_their_groups_labels_and_where_they_may_go() -> None:
    records = [
        ptr("x", "z.test."),
        VERSION,
        Record("group.y.zones.cat.test.", TXT, '"silver"'),
        Record("group.y.zones.cat.test.", TXT, '"gold"'),
        ptr("y", "a.test."),
        Record("coo.y.zones.cat.test.", PTR, "other.test."),
        Record("zones.cat.test.", PTR, "not-a-member.test."),
    ]
    assert members("cat.test.", records) == [
        Member("a.test.", ("gold", "silver"), "y", "other.test."),
        Member("z.test.", (), "x"),
    ]


def test_a_catalog_without_members_is_empty() -> None:
    assert members("cat.test.", [VERSION]) == []


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "no version"),
        ([Record("version.cat.test.", TXT, '"1"')], 'it states "1"'),
        ([VERSION, Record("version.cat.test.", TXT, '"3"')], 'it states "2", "3"'),
        ([VERSION, ptr("x", "a.test."), ptr("x", "b.test.")], "x.zones.cat.test. points to 2 zones"),
        ([VERSION, ptr("x", "a.test."), ptr("y", "a.test.")], "lists a.test. twice"),
        ([VERSION, ptr("x", "a.test."), ptr("y", "A.test.")], "lists a.test. twice"),
        ([VERSION, ptr("x", "a..test.")], "x.zones.cat.test.: "),
        ([VERSION, ptr("x", "a.test."), *_COO_TWICE], "coo.x.zones.cat.test. points to 2 zones"),
    ],
)
def test_a_broken_catalog_is_refused(records: list[Record], message: str) -> None:
    with pytest.raises(BadCatalog, match=message):
        members("cat.test.", records)
