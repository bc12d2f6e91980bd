"""Compare a signed zone's NSEC or NSEC3 chain with the chain that PowerDNS will create. Pure.

PowerDNS serves a zone with the source's signatures, but creates the chain itself from the zone's rows. The signatures
are only valid for identical records: with the same owner, next name, types and flags.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from dnspanel.small_cache import small_cache
from dnspanel.texts import gettext, gettext_noop, joined, ngettext
from dnspanel.transfer.documents import ReadyRRset
from replication.codec.dnssec import Nsec3
from replication.codec.keys import APEX, name_from_relative_key, relative_key
from replication.compile.nsec_chain import ChainMaker, Link
from replication.dns import names, rdata, rdtypes
from replication.errors import BadName, BadRdata

_LONGEST_NUMBER = 5  # digits
# A difference between the chains: how important it is (lowest first), its owner, and a function that describes it. Only
# one of up to a million differences is reported.
_Difference = tuple[int, bytes, Callable[[], str]]
_SIGNED_ALONE = gettext_noop("the zone has a signed record at {name}, but PowerDNS doesn’t create one")
_ALONE = gettext_noop("the zone has a record at {name}, but PowerDNS doesn’t create one")
_CAPITALS = gettext_noop(
    "the record at {name} is signed with capital letters in its next name, which PowerDNS doesn’t support"
)
_OTHER_FLAGS = gettext_noop(
    "the flags in the record at {name} differ, but PowerDNS uses the same flags for all records"
)
_OTHER_NEXT = gettext_noop("the record at {name} has a different next name")


class SourceLink(NamedTuple):
    """One record of a source's chain: the relative key of the next name, and the listed types.

    `has_capitals` is True if the next name has capitals, which the signature covers. `flags` are those of an NSEC3.
    """

    next: bytes
    types: frozenset[int]
    has_capitals: bool = False
    flags: int = 0


@dataclass(slots=True)
class SourceChain:
    """A source's NSEC and NSEC3 records, keyed by owner key. NSEC3 records are also grouped by iterations and salt.

    `parameters` has the iterations and salt (in lowercase) of each NSEC3PARAM record, in the source's order.
    """

    nsec: dict[bytes, SourceLink] = field(default_factory=dict)
    nsec3: dict[tuple[str, str], dict[bytes, SourceLink]] = field(default_factory=dict)
    parameters: list[tuple[str, str]] = field(default_factory=list)

    def add(self, zone: str, owner: str, type: int, words: Sequence[str], origin: str | None) -> None:
        """Add a record, with its rdata split into fields. Ignore invalid records."""
        if type == rdtypes.NSEC3PARAM:
            if len(words) == 4 and words[0] == "1":
                self.parameters.append((words[2], words[3].lower()))
            return
        try:
            key = relative_key(owner, zone)
            if type == rdtypes.NSEC:
                after = names.parse(words[0], origin)
                if names.is_within(after, zone):
                    capitals = words[0] != words[0].lower()
                    self.nsec[key] = SourceLink(relative_key(after, zone), _types(tuple(words[1:])), capitals)
            elif words[0] == "1" and len(words[1]) <= _LONGEST_NUMBER:
                after_hash = words[4].lower().encode("ascii") + b"\0"
                of_parameters = self.nsec3.setdefault((words[2], words[3].lower()), {})
                of_parameters[key] = SourceLink(after_hash, _types(tuple(words[5:])), flags=int(words[1]))
        except (IndexError, ValueError, BadName, BadRdata):
            return

    def candidates(self) -> Iterator[tuple[str, str, bool] | None]:
        """Yield the chains to serve the zone with, most likely first: (iterations, salt, opt-out), or None for NSEC."""
        for iterations, salt in dict.fromkeys(self.parameters):
            links = self.nsec3.get((iterations, salt), {})
            yield iterations, salt, any(link.flags & 1 for link in links.values())
        if self.nsec or not self.parameters:
            yield None

    def of(self, nsec3: Nsec3 | None) -> dict[bytes, SourceLink]:
        """Return the records of the NSEC3 chain with these parameters, or of the NSEC chain if `nsec3` is None."""
        if nsec3 is None:
            return self.nsec
        return self.nsec3.get((str(nsec3.iterations), nsec3.salt.hex() or "-"), {})


def chain_fault(
    zone: str,
    rrsets: Sequence[ReadyRRset],
    nsec3: Nsec3 | None,
    source: SourceChain | None = None,
    others: Sequence[Nsec3] = (),
) -> str:
    """Return "" if the signatures cover exactly the chain records that PowerDNS will create, otherwise the reason.

    The chain records are NSEC or NSEC3. PowerDNS computes the chain when it answers, so its databases have no chain
    records. For such a source, only names with a signature over a chain record are compared. Names that occur only in
    `others`, the zone's other chains, are not compared.
    """
    type = "NSEC" if nsec3 is None else "NSEC3"
    made = _chain_of(zone, rrsets, nsec3)
    signed = _keys_signed(rrsets, type + " ")
    found = source.of(nsec3) if source is not None else {}
    if found:
        odd = list(_differences(zone, made, found, signed, nsec3))
    else:
        for other in others:
            signed -= _chain_of(zone, rrsets, other).keys() - made.keys()
        odd = [
            (0, owner, partial(_lacks, zone, made[owner].name, type))
            if owner in made
            else (1, owner, partial(_message_about, zone, owner, _SIGNED_ALONE))
            for owner in made.keys() ^ signed
        ]
    if not odd:
        return ""
    _, _, reason = min(odd, key=lambda each: each[:2])
    hint = _hint(zone, rrsets, nsec3, [made[owner].name for _, owner, _ in odd if owner in made])
    fault = ngettext(
        "The zone can’t be served with its signatures because PowerDNS creates different {type} records "
        "for one name: {reason}",
        "The zone can’t be served with its signatures because PowerDNS creates different {type} records "
        "for {count:,} names: {reason}",
        len(odd),
    ).format(type=type, count=len(odd), reason=reason())
    return joined(". ", (fault, hint)) if hint else fault


def _chain_of(zone: str, rrsets: Sequence[ReadyRRset], nsec3: Nsec3 | None) -> dict[bytes, Link]:
    """Return the chain that PowerDNS creates from enabled records, keyed by owner. `rrsets` must be sorted by owner."""
    maker = ChainMaker(zone, nsec3)
    for rrset in rrsets:
        if len(rrset.disabled) < len(rrset.texts):
            maker.add(rrset.key, rrset.type)
    return {link.owner: link for link in maker.links()}


def _differences(
    zone: str, made: dict[bytes, Link], found: dict[bytes, SourceLink], signed: set[bytes], nsec3: Nsec3 | None
) -> Iterator[_Difference]:
    """Yield (rank, owner, function that returns the reason) for each owner where the two chains differ.

    Owners that occur only in the source's chain are compared only for NSEC.
    """
    type = "NSEC" if nsec3 is None else "NSEC3"
    for owner, link in made.items():
        theirs = found.get(owner)
        if theirs is None or owner not in signed:
            yield 0, owner, partial(_lacks, zone, link.name, type)
        elif theirs.types != link.types:
            yield 2, owner, partial(_other_types, zone, link, theirs)
        elif theirs.has_capitals:
            yield 3, owner, partial(_message_about, zone, link.name, _CAPITALS)
        elif nsec3 is not None and theirs.flags != int(nsec3.opt_out):
            yield 3, owner, partial(_message_about, zone, link.name, _OTHER_FLAGS)
        elif theirs.next != link.next:
            yield 4, owner, partial(_message_about, zone, link.name, _OTHER_NEXT)
    if nsec3 is None:
        for owner in found.keys() - made.keys():
            yield 1, owner, partial(_message_about, zone, owner, _ALONE)


def _message_about(zone: str, name: bytes, message: str) -> str:
    return gettext(message).format(name=_name(zone, name))


def _other_types(zone: str, link: Link, theirs: SourceLink) -> str:
    return gettext("the record at {name} lists {theirs}, but PowerDNS lists {ours}").format(
        name=_name(zone, link.name), theirs=_type_texts(theirs.types), ours=_type_texts(link.types)
    )


def _lacks(zone: str, name: bytes, type: str) -> str:
    return gettext("PowerDNS creates a record at {name}, but the zone has no signed {type} for that name").format(
        name=_name(zone, name), type=type
    )


def _hint(zone: str, rrsets: Sequence[ReadyRRset], nsec3: Nsec3 | None, odd: Sequence[bytes]) -> str:
    """Return a hint if opt-out chains differ at empty non-terminals, which few signers hash. Otherwise, return ""."""
    if nsec3 is None or not nsec3.opt_out:
        return ""
    if set(odd) - {rrset.key for rrset in rrsets} - {APEX}:
        return gettext(
            "With opt-out, PowerDNS hashes empty names above an insecure delegation that also has addresses. "
            "Few signers do this. Rename the name server, or sign without opt-out."
        )
    return ""


def _keys_signed(rrsets: Sequence[ReadyRRset], covers: str) -> set[bytes]:
    """Return the relative keys of the names that have a signature over the type `covers`."""
    signatures = (rrset for rrset in rrsets if rrset.type == rdtypes.RRSIG)
    return {rrset.key for rrset in signatures if any(text.startswith(covers) for text in rrset.texts)}


def _name(zone: str, key: bytes) -> str:
    return name_from_relative_key(key, zone)


@small_cache(entries=1024, longest=4096)
def _types(mnemonics: tuple[str, ...]) -> frozenset[int]:
    """Return the numbers of these types. Results are cached, because the same few lists occur millions of times."""
    return frozenset(map(rdata.type_from_text, mnemonics))


def _type_texts(types: Iterable[int]) -> str:
    return " ".join(map(rdata.type_to_text, sorted(types))) or gettext("nothing")
