"""Compare a zone's keys with the DS records at its parent. The result is a state and a message. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dnspanel.fleet.models import ParentState
from dnspanel.texts import gettext, join_list, joined, ngettext
from dnspanel.zones.dnssec import key_material

_SHA1 = 1
_MOST_NAMED = 3  # servers, in a message


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key that a DS can refer to: a key in the DNSKEY RRset that also signs this RRset."""

    flags: int
    algorithm: int
    public: bytes


@dataclass(frozen=True, slots=True)
class SignedBy:
    """The keys of a zone that DS records must match, and the algorithms of all keys that sign the zone."""

    zone_name: str
    entries: tuple[SigningKey, ...] = ()
    algorithms: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a parent check: a state with a message, or None with a sentence in `silent` that explains why.

    `root` is the verdict of the validation from the root (`trust_chain.Verdict`), or "" if there was no validation.
    """

    state: ParentState | None
    message: str = ""
    silent: str = ""
    root: str = ""


def compare(signed: SignedBy, parent: str, sets: Mapping[str, Sequence[str]]) -> Finding:
    """Compare the zone's keys with the DS records of each server in `sets`.

    The state is DIFFERS if the DS is wrong on any server. Otherwise, it is NO_DS if no server has a DS, PARTIAL if only
    some servers have one, or MATCHES.
    """
    faults = {server: fault for server, ds in sets.items() if ds and (fault := _fault(signed, ds))}
    if faults:
        message = joined(" ", (_at(parent, sets, list(faults)), next(iter(faults.values()))))
        return Finding(ParentState.DIFFERS, message)
    without = [server for server, ds in sets.items() if not ds]
    if len(without) == len(sets):
        return Finding(
            ParentState.NO_DS,
            gettext(
                "The parent {parent} doesn’t have a DS for the zone, so resolvers don’t check its signatures."
            ).format(parent=parent),
        )
    if without:
        message = gettext(
            "{count} of {total} servers for the parent {parent} don’t have a DS for the zone, but the others do."
        ).format(count=len(without), total=len(sets), parent=parent)
        return Finding(ParentState.PARTIAL, message)
    tags = sorted({int(text.split()[0]) for ds in sets.values() for text in ds if _is_key_named(signed, text)})
    message = ngettext(
        "The DS at the parent {parent} matches key {keys}.",
        "The DS at the parent {parent} matches keys {keys}.",
        len(tags),
    )
    if len(sets) > 1:
        message = ngettext(
            "The DS at the parent {parent} matches key {keys} on all {count} servers.",
            "The DS at the parent {parent} matches keys {keys} on all {count} servers.",
            len(tags),
        )
    keys = ", ".join(map(str, tags))
    return Finding(ParentState.MATCHES, message.format(parent=parent, keys=keys, count=len(sets)))


def _at(parent: str, sets: Mapping[str, Sequence[str]], servers: Sequence[str]) -> str:
    if len(servers) == len(sets):
        return gettext("The DS at the parent {parent} is wrong.").format(parent=parent)
    named: str = ", ".join(servers[:_MOST_NAMED])
    if len(servers) > _MOST_NAMED:
        named = gettext("{listed} and {count} more").format(listed=named, count=len(servers) - _MOST_NAMED)
    return gettext("The DS is wrong on {servers}, out of {count} servers for the parent {parent}.").format(
        servers=named, count=len(sets), parent=parent
    )


def _fault(signed: SignedBy, ds: Sequence[str]) -> str:
    """Return the reason why resolvers can't validate the zone with these DS records, or "" if they can.

    Every known digest type must match a key, because some resolvers use only the strongest type. SHA-1 counts only if
    no other known type is there. Every algorithm in the DS records must sign the zone (RFC 6840 section 5.11).
    """
    if not signed.algorithms:
        return gettext("The zone isn’t signed, so validating resolvers can’t resolve it.")
    types = {int(text.split()[2]) for text in ds} & key_material.EVERY_DIGEST.keys()
    if types - {_SHA1}:  # RFC 4509 section 3
        types -= {_SHA1}
    if not types:
        return gettext("The DS has only unknown digest types, so resolvers don’t check the signatures.")
    leading = {int(text.split()[2]) for text in ds if _is_key_named(signed, text)}
    if not types & leading:
        return gettext(
            "The DS doesn’t match any key that signs the zone, so validating resolvers can’t resolve the zone."
        )
    if not types <= leading:
        return gettext(
            "One of the DS digest types doesn’t match a signing key, so some resolvers can’t find a matching key."
        )
    lost = sorted({int(text.split()[1]) for text in ds} - signed.algorithms)
    if lost:
        return gettext(
            "The zone isn’t signed with {algorithms}, which the DS requires, so some validating resolvers "
            "can’t resolve it."
        ).format(algorithms=join_list([key_material.ALGORITHMS.get(number, str(number)) for number in lost]))
    return ""


def _is_key_named(signed: SignedBy, ds: str) -> bool:
    """Return True if this DS matches a key that signs the zone's DNSKEY RRset."""
    return any(
        key_material.is_named_by(signed.zone_name, key.flags, key.algorithm, key.public, [ds]) for key in signed.entries
    )
