"""Suffixes that must not be zones, in the rules of the Public Suffix List (https://publicsuffix.org).

The holder of `com.` would answer for every name below it. A rule is a name (`co.uk`), a name below which every first
label counts (`*.ck`), or an exception of such a rule (`!www.ck`). A line that begins with `//` is a comment.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dnspanel.texts import gettext
from replication.dns import names
from replication.errors import BadName


@dataclass(frozen=True, slots=True)
class Suffixes:
    """Canonical names that must not be zones: exactly these, all directly below these, except these."""

    exact: frozenset[str]
    parents: frozenset[str]
    exceptions: frozenset[str]

    def __contains__(self, name: str) -> bool:
        if name in self.exceptions:
            return False
        return name in self.exact or names.parent(name) in self.parents


@lru_cache(maxsize=4)
def read_suffixes(rules: tuple[str, ...], path: str) -> Suffixes:
    """Return the suffixes of these rules and of the list in this file (if any), which is read once.

    Raise BadName for an invalid rule, and OSError or UnicodeError for an unreadable file.
    """
    listed = Path(path).read_text(encoding="utf-8").splitlines() if path else []
    return parse_suffixes([*listed, *rules])


def parse_suffixes(rules: Iterable[str]) -> Suffixes:
    """Parse the rules, in any order. Raise BadName for an invalid rule.

    As in the list, a rule ends at the first space. `.` is the root, which the list itself does not have.
    """
    exact, parents, exceptions = set(), set(), set()
    for line in rules:
        rule = line.split(maxsplit=1)[0] if line.strip() else ""
        if not rule or rule.startswith("//"):
            continue
        if rule.startswith("!"):
            exceptions.add(names.parse(rule[1:]))
        elif rule == "*":
            parents.add(names.ROOT)
        elif rule.startswith("*."):
            parents.add(names.parse(rule[2:]))
        elif "*" in rule:
            raise BadName(text=rule, reason=gettext("only the first label of a suffix can be a star"))
        else:
            exact.add(names.parse(rule))
    return Suffixes(frozenset(exact), frozenset(parents), frozenset(exceptions))
