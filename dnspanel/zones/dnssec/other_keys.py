"""Keys of a zone's other signers (RFC 8901 section 2.1.2, model 2). Pure.

The zone contains DNSKEY records for these keys. Nodes serve them together with the DNSKEY records of the panel's own
keys, which PowerDNS generates (`direct-dnskey`). The zone also contains CDS and CDNSKEY records for other signers' keys
with the SEP flag. Parents that follow CDS must find the same records at every name server (RFC 7344 section 5).
"""

import base64
import binascii
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from dnspanel.texts import gettext
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.key_material import ALGORITHMS, SEP
from dnspanel.zones.dnssec.signing_state import DELETE, KeyView, SigningState
from dnspanel.zones.errors import BadPublicKey
from replication.dns import rdtypes
from replication.dns.rrset import Change, Key, RRset, make

MOST_OTHER_KEYS = 20
OF_KEYS = frozenset((rdtypes.DNSKEY, rdtypes.CDS, rdtypes.CDNSKEY))
OF_SIGNER = OF_KEYS | {rdtypes.SIGNING_STATE}  # at the apex of a presigned zone


@dataclass(frozen=True, slots=True)
class OtherKey:
    """A key of another signer, as in its DNSKEY record."""

    flags: int
    algorithm: int
    public: bytes = field(repr=False)

    @property
    def tag(self) -> int:
        """The key tag in RRSIG and DS records. It isn't unique."""
        return key_material.key_tag(self.flags, self.algorithm, self.public)

    @property
    def is_sep(self) -> bool:
        """True if the parent's DS can name the key (the SEP flag)."""
        return bool(self.flags & SEP)

    @property
    def mnemonic(self) -> str:
        """The mnemonic of the key's algorithm, or its number if the algorithm is unknown."""
        known = ALGORITHMS.get(self.algorithm, "")
        return known or gettext("algorithm {number}").format(number=self.algorithm)

    @property
    def dnskey(self) -> str:
        """The rdata of the key's DNSKEY record."""
        return key_material.dnskey_text(self.flags, self.algorithm, self.public)

    def ds(self, zone_name: str) -> tuple[str, ...]:
        """Return the key's DS records, SHA-256 first. A key without the SEP flag has none."""
        return tuple(self.ds_of(zone_name, digest) for digest in key_material.DIGESTS) if self.is_sep else ()

    def ds_of(self, zone_name: str, digest: int) -> str:
        """Return the key's DS with the given digest type, one of EVERY_DIGEST."""
        return key_material.ds_text(zone_name, self.flags, self.algorithm, self.public, digest)


def read_dnskey(text: str) -> OtherKey:
    """Parse DNSKEY rdata. Raise BadPublicKey if the flags, the algorithm or the Base64 are invalid."""
    try:
        flags, _, algorithm, *parts = text.split()
        return OtherKey(int(flags), int(algorithm), base64.b64decode("".join(parts), validate=True))
    except (ValueError, binascii.Error) as exc:
        raise BadPublicKey(gettext("The value isn’t a valid DNSKEY record.")) from exc


def refusal_of(zone_name: str, key: OtherKey, others: Collection[OtherKey], own: Collection[KeyView]) -> str:
    """Return why another signer's key can't be added to the zone, or "" if it can.

    `others` are the keys of other signers that the zone already has. `own` are the panel's keys.
    """
    if any(each.dnskey == key.dnskey for each in own):
        return gettext("Key {tag} for {zone_name} is one of the panel’s own keys.").format(
            tag=key.tag, zone_name=zone_name
        )
    used = sorted({each.algorithm for each in own if each.active})
    if not used:
        return gettext("{zone_name} isn’t signed. Sign it before you add other signers’ keys.").format(
            zone_name=zone_name
        )
    if key.tag in {*(each.tag for each in own), *(each.tag for each in others)}:
        return gettext(
            "{zone_name} already has another key with the tag {tag}. DS records identify keys by their tags."
        ).format(zone_name=zone_name, tag=key.tag)
    if key.algorithm not in used:
        names = " and ".join(ALGORITHMS[number] for number in used)
        return gettext(
            "All signers of a zone must use the same algorithms. {zone_name} is signed with {names}, but this "
            "key uses {mnemonic}."
        ).format(zone_name=zone_name, names=names, mnemonic=key.mnemonic)
    if len(others) >= MOST_OTHER_KEYS:
        return gettext("{zone_name} already has {most_other_keys} keys from other signers.").format(
            zone_name=zone_name, most_other_keys=MOST_OTHER_KEYS
        )
    return ""


def in_one_piece(text: str) -> str:
    """Join the Base64 or hexadecimal parts of a canonical DNSKEY, CDNSKEY, DS or CDS into one field."""
    words = text.split()
    return " ".join((*words[:3], "".join(words[3:])))


def keys_in(dnskey: RRset | None) -> list[OtherKey]:
    """Return the keys in a DNSKEY RRset, keys with the SEP flag first. Disabled records are ignored."""
    found = [read_dnskey(text) for text in dnskey.served] if dnskey else []
    return sorted(found, key=lambda key: (not key.is_sep, key.tag, key.public))


def changes_in_step(
    zone_name: str, apex: Mapping[Key, RRset], state: SigningState, *, dnskey: RRset | None, ttl: int
) -> list[Change]:
    """Return the apex changes that set other signers' DNSKEY RRset, with matching CDS and CDNSKEY records.

    The CDS records use the digest types in `state`, like those for the panel's own keys. A zone that requests the
    deletion of its DS has no CDS for other signers (RFC 8078 section 4). CDS and CDNSKEY records for unknown keys stay.
    """
    keys = [key for key in keys_in(dnskey) if key.is_sep]
    before = [key for key in keys_in(apex.get((zone_name, rdtypes.DNSKEY))) if key.is_sep]
    if not keys and not before:
        wanted: dict[int, RRset | None] = {rdtypes.DNSKEY: dnskey}
    else:
        digests = [int(word) for word in state.cds.split(",") if word] if state.cds != DELETE else []
        known = {*keys, *before}
        of_known = {key.ds_of(zone_name, digest) for key in known for digest in key_material.EVERY_DIGEST}
        cds = [key.ds_of(zone_name, digest) for key in keys for digest in digests]
        cdnskey = [key.dnskey for key in keys] if state.cdnskey and state.cds != DELETE else []
        wanted = {
            rdtypes.DNSKEY: dnskey,
            rdtypes.CDS: _with(zone_name, rdtypes.CDS, apex, of_known, cds, ttl),
            rdtypes.CDNSKEY: _with(zone_name, rdtypes.CDNSKEY, apex, {key.dnskey for key in known}, cdnskey, ttl),
        }
    found = [Change(zone_name, type, apex.get((zone_name, type)), after) for type, after in wanted.items()]
    return [change for change in found if change.before != change.after]


def _with(
    zone_name: str, type: int, apex: Mapping[Key, RRset], gone: Collection[str], wanted: Iterable[str], ttl: int
) -> RRset | None:
    """Return the RRset without the records in `gone` and with those in `wanted`, or None if it would be empty."""
    current = apex.get((zone_name, type))
    stay = [text for text in current.rdata if in_one_piece(text) not in gone] if current else []
    texts = [*stay, *wanted]
    if not texts:
        return None
    if current is None:
        return make(zone_name, type, ttl, texts)
    disabled = tuple(text for text in current.disabled if text in stay)
    return make(zone_name, type, current.ttl, texts, disabled, current.comment, notes=current.notes)
