"""Names that must not be zones, in the format of the Public Suffix List (https://publicsuffix.org).

The holder of the zone `com.` would answer for every name below it. A rule is a name (`co.uk`), a wildcard for all names
directly below a name (`*.ck`), or an exception to a wildcard (`!www.ck`). A line that begins with `//` is a comment.
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
    """Canonical names that must not be zones.

    These are the names in `exact`, and all names directly below a name in `parents`. Names in `exceptions` are allowed.
    """

    exact: frozenset[str]
    parents: frozenset[str]
    exceptions: frozenset[str]

    def __contains__(self, name: str) -> bool:
        if name in self.exceptions:
            return False
        return name in self.exact or names.parent(name) in self.parents


@lru_cache(maxsize=4)
def read_suffixes(rules: tuple[str, ...], path: str) -> Suffixes:
    """Return the suffixes of these rules and of the file at `path`, if any. The file is read only once.

    Raise BadName for an invalid rule, and OSError or UnicodeError for an unreadable file.
    """
    listed = Path(path).read_text(encoding="utf-8").splitlines() if path else []
    return parse_suffixes([*listed, *rules])


def parse_suffixes(rules: Iterable[str]) -> Suffixes:
    """Parse the rules, in any order. Raise BadName for an invalid rule.

    As in the Public Suffix List, a rule ends at the first space. `.` is the root, which isn't in the Public Suffix
    List.
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
            raise BadName(text=rule, reason=gettext("only the first label of a suffix can be *"))
        else:
            exact.add(names.parse(rule))
    return Suffixes(frozenset(exact), frozenset(parents), frozenset(exceptions))
