"""Tests of caches: a cache of user-written texts is bounded in bytes, not only in entries."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnspanel.small_cache import small_cache
from tests.syntax import nodes_of

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 64 << 20
# Caches that only count entries, with the kind of entry: no user-written text of unlimited length.
COUNTED = {
    "dnspanel/cli_file.py command_line": "settings of the panel",
    "dnspanel/suffixes.py read_suffixes": "settings of the panel",
    "dnspanel/web/templatetags/panel.py icon": "names in templates",
    "dnspanel/web/templatetags/acts.py _texts_in": "the names of two templates, and the code of a language",
    "dnspanel/web/frame/rows.py _addresses": "the name of a zone",
    "dnspanel/api/v2/http/etag.py _settings_digest": "at most 50 tags of a zone",
    "dnspanel/zones/search/terms.py _parse_text": "a search, at most LONGEST_SEARCH characters",
    "dnspanel/outbound.py _operators": "settings of the panel",
    "dnspanel/accounts/actors/name_patterns.py compile_patterns": "patterns of a grant",
    "dnspanel/accounts/providers/ldap/connection.py _context": "certificates of a sign-in provider",
    "dnspanel/time_zones.py offered_names": "nothing",
    "dnspanel/transfer/sources/registry.py _includes": "files of four uploads, in a process that is replaced",
    "replication/codec/keys.py relative_key": "two names",
    "replication/codec/values.py _tail": "numbers",
    "replication/message_texts.py _in_english": "messages of the panel",
    "replication/dns/names.py to_wire": "a name",
}


def test_long_texts_are_not_kept() -> None:
    calls: list[object] = []

    @small_cache(entries=10, longest=100)
    def count(*args: object) -> int:
        calls.append(args)
        return len(calls)

    assert count(1, "a") == count(1, "a") == 1
    assert count(1, "a" * 101) != count(1, "a" * 101)
    assert count(1, ("a", "b")) != count(1, ("a", "b"))
    assert count(1, ("a",)) == count(1, ("a",))


def _decorated() -> Iterator[tuple[str, ast.expr]]:
    for package in ("dnspanel", "replication"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in nodes_of(path):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    for each in node.decorator_list:
                        yield f"{path.relative_to(ROOT)} {node.name}", each


def test_every_cache_has_a_bound() -> None:
    """Regression test: the push worker cached 65,536 values of any length and grew to 434 MB."""
    found = {where for where, each in _decorated() if ast.unparse(each).startswith(("lru_cache", "functools.lru"))}
    assert found == COUNTED.keys()


def test_no_cache_of_texts_is_large() -> None:
    for where, each in _decorated():
        if ast.unparse(each).startswith("small_cache("):
            assert isinstance(each, ast.Call)
            terms = {keyword.arg: ast.literal_eval(keyword.value) for keyword in each.keywords}
            assert small_cache(**terms)(len).most_bytes <= MOST_BYTES, where


@pytest.mark.turn(4, reason="a cache under a million lookups")
def test_values_that_are_compared_once_are_not_kept() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.alone.compare_values"], check=True, capture_output=True, text=True, cwd=ROOT
    )
    before, after = (int(word) >> 20 for word in done.stdout.split())
    assert after - before < 16  # it would be 30 if they were kept
