"""`$GENERATE` as in BIND's manual and in BIND itself."""

import pytest

from dnspanel.transfer.zonefile.generate import expand, numbers, template
from dnspanel.transfer.zonefile.zonefile_tokens import Token, Unreadable, read_entry


def token(text: str) -> Token:
    return Token(text, False, 0, 1)


def made(text: str, first: int = 1, last: int = 2) -> list[str]:
    return list(expand(text, range(first, last + 1), token(text)))


def test_ranges_have_a_step() -> None:
    assert list(numbers(token("1-3"))) == [1, 2, 3]
    assert list(numbers(token("0-20/7"))) == [0, 7, 14]
    assert list(numbers(token("5-5"))) == [5]


@pytest.mark.parametrize("text", ["3-1", "1-3/0", "1", "a-b", "-1-3", "1-2147483648", "1-3/", "1-99999999999"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="isn’t a valid range"):
        numbers(token(text))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("h$", "h1"),
        ("$-$", "1-1"),
        ("h", "h"),
        ("$$", "\\$"),
        ("\\$$", "\\$1"),
        ("$${0}", "\\${0}"),
        ("${0}", "1"),
        ("${10}", "11"),
        ("${-1}", "0"),
        ("${0,3}", "001"),
        ("${9,3,d}", "010"),
        ("${9,0,x}", "a"),
        ("${9,4,X}", "000A"),
        ("${7,0,o}", "10"),
        ("${0,0,n}", "1"),
        ("${0,2,n}", "1."),
        ("${0,3,n}", "1.0"),
        ("${10,7,n}", "b.0.0.0"),
        ("${10,5,N}", "B.0.0"),
        ("${254,3,n}", "f.f"),
        ("${4094,1,n}", "f.f.f"),
    ],
)
def test_each_dollar_is_replaced(text: str, first: str) -> None:
    assert made(text)[0] == first


@pytest.mark.parametrize("text", ["${", "${}", "${a}", "${0,x}", "${0,1,q}", "${0,1,d", "${0,1,d,1}"])
def test_modifiers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="isn’t valid"):
        made(text)


def test_an_offset_below_zero_is_refused() -> None:
    with pytest.raises(Unreadable, match="changes 1 to -1"):
        made("${-2}")


def test_one_quoted_string_stands_for_what_is_in_it() -> None:
    assert template(read_entry(['"10 mail$ \\"x\\""']).tokens) == '10 mail$ "x"'
    assert template(read_entry(['10  mail$ "x y"']).tokens) == '10 mail$ "x y"'
