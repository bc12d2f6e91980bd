"""The natural sort order of names."""

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from dnspanel.zones.values.natural_order import natural_key, natural_text
from replication.codec.keys import relative_key

labels = st.text("ab-_0129", min_size=1, max_size=8)
owners = st.lists(labels, min_size=1, max_size=3).map(".".join)
ZONE = "zone.test."


def key_of(owner: str) -> bytes:
    return relative_key(f"{owner}.{ZONE}", ZONE)


def placed(owner: str) -> tuple[bytes, bytes]:
    return natural_key(key_of(owner)), key_of(owner)


def as_people_read(owner: str) -> tuple[list[tuple[int, int]], ...]:
    """Return the labels from right to left, each as a list of characters and whole numbers."""
    return tuple(
        [
            part
            for is_number, chars in groupby(label, str.isdigit)
            for part in ([(ord("0"), int("".join(chars)))] if is_number else [(ord(char), 0) for char in chars])
        ]
        for label in reversed(owner.split("."))
    )


def without_leading_zeros(owner: str) -> bool:
    runs = ("".join(chars) for is_number, chars in groupby(owner, str.isdigit) if is_number)
    return all(run == "0" or not run.startswith("0") for run in runs)


def test_numbers_are_sorted_by_their_value() -> None:
    names = ["h", "h0", "h1", "h2", "h9", "h10", "h11", "h99", "h100", "h100-a", "h101", "h-1", "ha", "z"]
    expected = sorted(names, key=as_people_read)
    assert sorted(names, key=placed) == expected
    assert expected.index("h9") + 1 == expected.index("h10")
    assert sorted(["zone10.test.", "zone2.test.", "zone1.test."], key=natural_text) == [
        "zone1.test.",
        "zone2.test.",
        "zone10.test.",
    ]


def test_zeros_in_front_change_nothing_but_the_order_of_equals() -> None:
    assert sorted(["h3", "h002", "h2", "h10", "h02", "h010"], key=placed) == ["h2", "h02", "h002", "h3", "h10", "h010"]


def test_a_number_of_sixty_digits_is_one() -> None:
    long = "9" * 60
    assert sorted([f"a{long}", f"a1{'0' * 60}", f"a{long[1:]}", "a8"], key=placed) == [
        "a8",
        f"a{long[1:]}",
        f"a{long}",
        f"a1{'0' * 60}",
    ]


@given(st.lists(owners.filter(without_leading_zeros), unique=True, max_size=12))
def test_names_are_sorted_as_people_read_them(found: list[str]) -> None:
    assert sorted(found, key=placed) == sorted(found, key=as_people_read)


@given(st.lists(owners, unique=True, max_size=12))
def test_the_order_is_total_and_keeps_a_subtree_together(found: list[str]) -> None:
    keys = {natural_key(key_of(owner)) for owner in found}
    assert len(keys) == len({natural_text(f"{owner}.{ZONE}") for owner in found}) == len(found)
    ordered = sorted(found, key=placed)
    for top in found:
        below = [owner == top or owner.endswith(f".{top}") for owner in ordered]
        first = below.index(True)
        assert ordered[first] == top
        assert below == [False] * first + [True] * sum(below) + [False] * (len(below) - first - sum(below))


@given(st.lists(st.binary(min_size=1, max_size=6).filter(lambda label: 0 not in label), unique=True, max_size=8))
def test_labels_of_any_bytes_have_one_place_each(found: list[bytes]) -> None:
    assert len({(natural_key(label + b"\0"), label) for label in found}) == len(found)


@given(st.lists(labels.filter(lambda label: not any(map(str.isdigit, label))), unique=True))
def test_names_without_numbers_stay_in_canonical_order(found: list[str]) -> None:
    assert sorted(found, key=placed) == sorted(found, key=key_of)
