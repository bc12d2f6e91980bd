"""Suffixes that nobody may hold as a zone, in the rules of the Public Suffix List (https://publicsuffix.org).

Who holds `com.` answers for everybody below it. A rule is a name (`co.uk`), a
name below which every first label counts (`*.ck`), or an exception of such a
rule (`!www.ck`); a line that begins with `//` is a remark.
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
    """Canonical names that nobody may hold: exactly these, all directly below these, except these."""

    exact: frozenset[str]
    parents: frozenset[str]
    exceptions: frozenset[str]

    def __contains__(self, name: str) -> bool:
        if name in self.exceptions:
            return False
        return name in self.exact or names.parent(name) in self.parents


@lru_cache(maxsize=4)
def read_suffixes(rules: tuple[str, ...], path: str) -> Suffixes:
    """The suffixes of these rules and of the list in this file (or none), which is read once.

    Raises BadName for a rule that is none, and OSError or UnicodeError for a file that cannot be read.
    """
    listed = Path(path).read_text(encoding="utf-8").splitlines() if path else []
    return parse_suffixes([*listed, *rules])


def parse_suffixes(rules: Iterable[str]) -> Suffixes:
    """The suffixes that these rules name, whatever order they stand in; raises BadName for what is none.

    As the list has it, a rule ends at the first space. `.` is the root, which the list itself does not know.
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
