"""Every regular expression that reads external text needs at most twice the steps for twice the text.

The table in `docs/develop/regular-expressions.md` lists each expression and the text that it reads.
"""

import importlib
import random
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import dns.ipv6
import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from dns.rdtypes import svcbbase

from dnspanel.api import converters
from dnspanel.transfer.sources.sql_literals import RowReader
from tests.regex_places import ROOT, Place, calls_of, places
from tests.regex_steps import CountedPattern, TooManySteps, deep_recursion
from tests.regex_texts import Made, texts

DOCUMENT = ROOT / "docs" / "develop" / "regular-expressions.md"
# The start of the entry for a pattern that only gets our own texts and is not measured.
OURS = "Ours: "
# Modules of dnspython whose patterns get rdata.
OF_DNSPYTHON = (dns.ipv6, svcbbase)
# The patterns that are built at run time.
MADE_LATER = {
    "dnspanel/transfer/sources/sql_literals.py RowReader.__init__": [
        found
        for reader in (RowReader(backslashes=False), RowReader(backslashes=True))
        for found in ((reader._row, frozenset({"match"})), (reader._value, frozenset({"match"})))
    ]
}
SMALL, LARGEST = 32, 512
LIMIT = 150_000


@cache
def documented() -> dict[tuple[str, str], tuple[int, str]]:
    """Return the table's patterns, by file and name: their count and the kind of text that they read."""
    found = {}
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("| `"):
            file, names, meets = (cell.strip() for cell in line.strip("|").split("|"))
            for name, _, count in (entry.partition(" ×") for entry in names.split(", ")):
                found[file.strip("`"), name.strip("`")] = int(count or 1), meets
    return found


@cache
def all_places() -> list[Place]:
    found = places()
    for module in OF_DNSPYTHON:
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                found.append(Place(module.__name__, name, value, calls_of(module, name)))
    return found


def test_the_table_has_every_regular_expression() -> None:
    in_table = Counter({key: count for key, (count, _) in documented().items()})
    in_code = Counter((place.path, place.name) for place in all_places())
    missing, gone = in_code - in_table, in_table - in_code
    assert (missing, gone) == ({}, {}), f"{DOCUMENT.relative_to(ROOT)} needs a row for {missing}, and none for {gone}"


def test_the_table_says_what_each_one_meets() -> None:
    assert [key for key, (_, meets) in documented().items() if not meets] == []


def test_every_pattern_that_is_made_later_is_made_here() -> None:
    assert {str(place) for place in all_places() if place.pattern is None} == set(MADE_LATER)


def measured() -> Iterator[tuple[str, re.Pattern[Any], frozenset[str]]]:
    for place in all_places():
        if not documented().get((place.path, place.name), (0, ""))[1].startswith(OURS):
            for pattern, uses in (
                MADE_LATER.get(str(place), []) if place.pattern is None else [(place.pattern, place.uses)]
            ):
                yield str(place), pattern, uses


def test_twice_the_text_is_at_most_twice_the_steps() -> None:
    assert [f"{name}: {found}" for name, pattern, uses in measured() if (found := superlinear(pattern, uses))] == []


def superlinear(pattern: re.Pattern[Any], uses: frozenset[str]) -> str:
    """Return a description of a text with superlinear steps for this pattern, or an empty string if there is none."""
    counted = CountedPattern(pattern, LIMIT)
    is_bytes = isinstance(pattern.pattern, bytes)
    with deep_recursion():
        for use in sorted(uses):
            for made in texts(pattern):
                if found := _superlinear(counted, use, made, is_bytes):
                    return f"{use} {found}"
    return ""


def _superlinear(counted: CountedPattern, use: str, made: Made, is_bytes: bool) -> str:
    """Return a description if the steps for this text grow superlinearly, or an empty string.

    A bounded repeat looks quadratic up to its bound, so it is also measured with larger texts.
    """
    size = SMALL
    while True:
        once, twice = _steps(counted, use, made, size, is_bytes), _steps(counted, use, made, 2 * size, is_bytes)
        if twice <= 2.3 * once + 40 and twice < LIMIT:
            return ""
        if size >= LARGEST or twice >= LIMIT:
            return f"{once} steps for {made(16)!r}…, {twice} for twice that"
        size *= 2


def _steps(counted: CountedPattern, use: str, made: Made, size: int, is_bytes: bool) -> int:
    text = made(size).encode("latin-1") if is_bytes else made(size)
    counted.steps = 0
    try:
        getattr(counted, use)(text)
        if use == "match":
            counted.follow(text)
    except TooManySteps:
        return LIMIT
    return counted.steps


@pytest.mark.turn(2, reason="steps of the regular expressions of routes")
def test_routes_of_urls_are_linear_too() -> None:
    """Routes with two names are superlinear only for texts longer than a name. Routes are matched before sign-in."""
    shapes = {re.sub(r"\(\?P<\w+>", "(?:", pattern.pattern): pattern for pattern in _routes(get_resolver())}
    # Literal text between two parts makes no difference, so routes that differ only in it are tested once.
    shapes = {re.sub(r"[a-z0-9_.-]{2,}(?=/|\\)", "x", shape): each for shape, each in shapes.items() if "(?:" in shape}
    with_two = [
        pattern for pattern in shapes.values() if pattern.pattern.count(converters.NameInPathConverter.regex) > 1
    ]
    found = [superlinear(pattern, frozenset({"search"})) for pattern in shapes.values() if pattern not in with_two]
    assert [each for each in found if each] == []
    assert len(with_two) == 3
    for pattern in with_two:
        counted = CountedPattern(pattern, 2_000_000)
        before = pattern.pattern[1 : pattern.pattern.index("(")]
        with deep_recursion():
            counted.search(before + "/rrsets/" * 8192)


def _routes(resolver: URLResolver) -> Iterator[re.Pattern[str]]:
    for each in resolver.url_patterns:
        yield each.pattern.regex
        if not isinstance(each, URLPattern):
            yield from _routes(each)


# The first pattern was issue 14: a TXT record of an ACME client stopped the panel.
SUPERLINEAR = [
    (r"\s*(;[^\n]*)?\s*", "fullmatch"),
    (r"(a+)+b", "match"),
    (r"(?:a|a)*b", "match"),
    (r".*=.*=!", "match"),
    (r"^\s+|\s+$", "finditer"),
    (r"\s+$", "search"),
    (r"(\d+)([smhdw])", "finditer"),
    (r"(?:[a-z]+\.?)*!", "match"),
    (r"[^,]*,[^;]*;", "search"),
    # Patterns that were in our code.
    (r'(?m)^([ \t]*)(-[ \t]+)?([a-z]+)[ \t]*:(?:[ \t]+|$)("[^"\n]*"|[^\#\n]*?)[ \t]*(?:\#[^\n]*)?\r?$', "finditer"),
    (r'`(?:[^`]|``)+`|"(?:[^"]|"")+"|\[[^\]]+\]|[A-Za-z_][\w$]*', "finditer"),
    (r"--[^\n]*|/\*(?s:.*?)\*/|'(?:[^']|'')*'|[(),]", "finditer"),
    (r"\\.|\$\$|\$\{([^}]*)\}|\$(\{?)", "finditer"),
]


@pytest.mark.parametrize(("pattern", "use"), SUPERLINEAR)
def test_a_superlinear_pattern_is_seen(pattern: str, use: str) -> None:
    assert superlinear(re.compile(pattern), frozenset({use}))


def test_a_pattern_in_any_place_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import re
from django.core.validators import RegexValidator
from django.urls import re_path
PART = "b+"
ONE = re.compile(rf"a{PART}", re.IGNORECASE)
BOUND = re.compile("c").fullmatch
class Converter:
    regex = "d"
def used(text):
    ONE.search(text)
    return re.sub("e", "", text), RegexValidator("f"), [re.split("g", part) for part in text]
class Reader:
    def __init__(self, text):
        self.own = re.compile(text)
urlpatterns = [re_path("h", used)]
"""
    (tmp_path / "found_here").mkdir()
    (tmp_path / "found_here" / "patterns.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("tests.regex_places.ROOT", tmp_path)
    monkeypatch.setattr("tests.regex_places.PACKAGES", ("found_here",))
    found = {(each.name, each.pattern and each.pattern.pattern): each.uses for each in places()}
    assert found == {
        ("ONE", "ab+"): {"search"},
        ("BOUND", "c"): {"fullmatch"},
        ("Converter", "d"): {"fullmatch"},
        ("used", "e"): {"finditer"},
        ("used", "f"): {"search"},
        ("used", "g"): {"finditer"},
        ("Reader.__init__", None): {"match", "fullmatch", "search", "finditer"},
        ("urlpatterns", "h"): {"search"},
    }
    assert importlib.import_module("found_here.patterns").ONE.flags & re.IGNORECASE


# The counter itself

_ATOMS = ("a", "b", ".", "[ab]", "[^a]", r"\s", r"\\.", " ", r"\n", "^", "$", r"\b", ";", "a++", "[ab]*+", "(?i:A)")
_AROUND = ("(?=a)", "(?!b)", "(?<=a)", "(?<!b)", "(?=a*b)")
_REPEATS = ("*", "+", "?", "{1,3}", "{0,2}", "{2,}", "*?", "+?", "??", "{1,2}?")


def random_pattern(chance: random.Random, depth: int = 0) -> str:
    """Return a pattern with everything that the counter supports except possessive groups.

    Python 3.11.2 has a bug in possessive groups (python/cpython#106052).
    """
    kind = chance.random()
    if depth > 3 or kind < 0.4:
        return chance.choice(_ATOMS + _AROUND)
    if kind < 0.6:
        return random_pattern(chance, depth + 1) + random_pattern(chance, depth + 1)
    if kind < 0.7:
        return f"(?:{random_pattern(chance, depth + 1)}|{random_pattern(chance, depth + 1)})"
    if kind < 0.75:
        return f"(?>{random_pattern(chance, depth + 1)})"
    return chance.choice(("(?:%s)", "(%s)")) % random_pattern(chance, depth + 1) + chance.choice(_REPEATS)


def assert_same_matches(counted: CountedPattern, text: str | bytes) -> None:
    real = counted.real
    found = real.match(text), real.fullmatch(text)
    assert [match and match.end() for match in found] == [counted.match(text), counted.fullmatch(text)], (real, text)
    first = real.search(text)
    assert (first and first.span()) == counted.search(text), (real, text)


def test_the_counter_finds_what_re_finds() -> None:
    chance = random.Random(14)
    with warnings.catch_warnings(), deep_recursion():
        warnings.simplefilter("ignore", FutureWarning)
        for _ in range(1500):
            flags = chance.choice((0, re.DOTALL, re.MULTILINE, re.IGNORECASE))
            counted = CountedPattern(re.compile(random_pattern(chance), flags))
            for _ in range(3):
                assert_same_matches(counted, "".join(chance.choice("ab \n;\\A") for _ in range(chance.randrange(9))))


def test_the_counter_finds_what_re_finds_with_our_own_patterns() -> None:
    """The counter must match as `re` does, or its steps mean nothing. This would also reveal a bug in Python."""
    with deep_recursion():
        for _, pattern, _ in measured():
            counted = CountedPattern(pattern)
            for made in texts(pattern)[::12]:
                text = made(12).encode("latin-1") if isinstance(pattern.pattern, bytes) else made(12)
                assert_same_matches(counted, text)


def test_steps_are_counted() -> None:
    counted = CountedPattern(re.compile("a*b"))
    counted.match("a" * 10)
    # Reads eleven characters, tries `b` at eleven places, and reads one character for each try.
    assert counted.steps == 33
