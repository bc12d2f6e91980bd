"""Find values that a PowerDNS release can't read back from its own database rows. Pure.

If such a row exists, all queries for its name get SERVFAIL, and all transfers of the zone fail. The kinds were found by
`tests/oracle/test_boundary_values.py`, which writes boundary values of every type as rows and reads them with each
release. docs/develop/boundary-values.md has the results, and explains how to add a release.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum

from dnspanel.texts import gettext, gettext_noop, joined
from replication.dns import rdtypes

_ABOVE_TYPES = 1 << 16
_MOST_QUOTED = 60


class Kind(IntEnum):
    """A kind of unreadable values. The numbers are above all type numbers, so that a mapping can use both as keys."""

    EMPTY_CAA = _ABOVE_TYPES
    APL_FAMILY = _ABOVE_TYPES + 1
    CERT_TYPE = _ABOVE_TYPES + 2
    IPSECKEY_KEY = _ABOVE_TYPES + 3


# The first release that can read each kind. No release can read the other kinds.
READ_SINCE: dict[int, tuple[int, int]] = {Kind.EMPTY_CAA: (4, 9)}
# Types with a kind of values that only some releases can read.
_DEPENDING: dict[int, Kind] = {rdtypes.CAA: Kind.EMPTY_CAA}
TYPES = frozenset((rdtypes.CAA, rdtypes.APL, rdtypes.CERT, rdtypes.IPSECKEY))

_REASONS = {
    Kind.EMPTY_CAA: gettext_noop('use ";" instead of the empty value to allow no authority'),
    Kind.APL_FAMILY: gettext_noop("PowerDNS only supports the address families 1 (IPv4) and 2 (IPv6) in APL records"),
    Kind.CERT_TYPE: gettext_noop("CERT type 0 is reserved (RFC 4398), and PowerDNS doesn’t support it"),
    Kind.IPSECKEY_KEY: gettext_noop("PowerDNS only supports the algorithms 1 (DSA) and 2 (RSA) in IPSECKEY records"),
}


def kind_of(type: int, text: str) -> Kind | None:
    """Return the kind of unreadable values that a canonical value belongs to, or None if every release can read it."""
    if type not in TYPES:
        return None
    fields = text.split(" ")
    if type == rdtypes.CAA:
        return Kind.EMPTY_CAA if text.endswith(' ""') else None
    if type == rdtypes.APL:
        families = {word.removeprefix("!").partition(":")[0] for word in fields}
        return None if families <= {"1", "2"} else Kind.APL_FAMILY
    if type == rdtypes.CERT:
        return Kind.CERT_TYPE if fields[0] == "0" else None
    has_key = len(fields) > 4
    return Kind.IPSECKEY_KEY if has_key and fields[2] not in ("1", "2") else None


def depending_kinds(types: Iterable[int]) -> frozenset[int]:
    """Return the kinds of values of these types that only some PowerDNS releases can read."""
    return frozenset(_DEPENDING[type] for type in types if type in _DEPENDING)


def reason_against(type: int, text: str, unanswered: Mapping[int, str]) -> str:
    """Return the reason to reject a canonical value, or an empty string if all nodes can read it.

    `unanswered` has the reasons against kinds that some node can't read (`computed_types.reasons_against`).
    """
    kind = kind_of(type, text)
    if kind is None or (kind in READ_SINCE and kind not in unanswered):
        return ""
    quoted = text if len(text) <= _MOST_QUOTED else text[: _MOST_QUOTED - 1] + "…"
    reason = gettext(_REASONS[kind])
    if of_nodes := unanswered.get(kind):
        reason = joined("; ", (of_nodes, reason))
    return gettext("nodes would answer SERVFAIL for this name because of “{value}”: {reason}").format(
        value=quoted, reason=reason
    )
