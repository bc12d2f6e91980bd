"""Tests of names that no user can own, by the rules of the Public Suffix List."""

from pathlib import Path

import pytest

from dnspanel.suffixes import parse_suffixes, read_suffixes
from replication.errors import BadName

LIST = """// ===BEGIN ICANN DOMAINS===
com
co.uk  anything that follows a space is a remark
*.ck
!www.ck
рф

"""


@pytest.mark.parametrize(
    ("name", "is_refused"),
    [
        ("com.", True),
        ("example.com.", False),
        ("co.uk.", True),
        ("uk.", False),  # in the list, the rule `*` is the default; here it is an additional rule
        ("any.ck.", True),
        ("a.any.ck.", False),
        ("www.ck.", False),
        ("xn--p1ai.", True),
    ],
)
def test_the_rules_of_the_list_hold(name: str, is_refused: bool) -> None:
    assert (name in parse_suffixes(LIST.splitlines())) is is_refused


def test_by_default_the_root_and_every_top_level_name_are_refused() -> None:
    suffixes = parse_suffixes([".", "*", "!lan"])
    assert [name in suffixes for name in (".", "com.", "test.", "lan.", "example.com.", r"a\.b.")] == [
        *(True, True, True),
        *(False, False, True),
    ]


def test_a_rule_that_is_none_is_refused() -> None:
    for rule in ("a..b", "www.*.ck", "!"):
        with pytest.raises(BadName):
            parse_suffixes([rule])


def test_a_list_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "list.dat"
    path.write_text(LIST, encoding="utf-8")
    suffixes = read_suffixes(("!co.uk",), str(path))
    assert "com." in suffixes
    assert "co.uk." not in suffixes, "a rule of the setting makes an exception of one in the list"
