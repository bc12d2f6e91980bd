"""Convert rdata between canonical presentation text and wire form. Pure.

Canonical text is dnspython's output, with absolute names. `parse` creates it from typed text; all other code trusts it.
Names in it keep their capital letters (RFC 4343 4.1), but letter case makes no difference: comparisons of values use
`fold`. Common types are handled by `rdata_forms`, the rest by dnspython. dnspython is imported only when needed, to
save memory in agents without such types.
"""

import binascii
import struct
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from replication.dns import names, rdtypes
from replication.dns.rdata_forms import FORMS, shorten_text
from replication.dns.rdtypes import refusal
from replication.dns.rdtypes import type_from_text as type_from_text
from replication.dns.rdtypes import type_to_text as type_to_text
from replication.errors import BadName, BadRdata
from replication.message_texts import Text, gettext

MAX_RDATA = 65535
# The maximum length of one rdata as text. An octet takes at most four characters: `\DDD`, or three digits and a space.
# The quotes and the space of a string take less than its length octet can. Only a list of 10,000 types (CSYNC)
# is longer. Parsing a long text can be slow, so the length is always checked first.
MAX_TEXT = 4 * MAX_RDATA


def check_type(type: int) -> None:
    """Raise BadRdata with the reason if zones can't contain this type."""
    reason = refusal(type)
    if reason is not None:
        raise BadRdata(type=type, text="", reason=reason)


def parse(type: int, text: str, origin: str | None = None) -> str:
    """Convert typed rdata to canonical text. Relative names are below `origin`. Raise BadRdata if it is invalid."""
    check_type(type)
    return from_wire(type, _encode(type, names.escape_spaces(text).strip(), origin))


def parse_signature(text: str, origin: str | None = None) -> str:
    """Convert a presigned zone's RRSIG, which `parse` rejects, to canonical text. Raise BadRdata if it is invalid."""
    return from_wire(rdtypes.RRSIG, _encode(rdtypes.RRSIG, text.strip(), origin))


def to_wire(type: int, text: str) -> bytes:
    """Convert canonical text to uncompressed wire form."""
    return _encode(type, text, None)


def from_wire(type: int, wire: bytes) -> str:
    """Convert uncompressed wire form to canonical text. Raise BadRdata unless it is exactly one rdata of the type."""
    form = FORMS.get(type)
    try:
        text = form.decode(wire) if form is not None else _decode_by_dnspython(type, wire)
    except (ValueError, BadName) as exc:
        reason = gettext("invalid {type} record: {reason}").format(type=type_to_text(type), reason=exc)
        raise BadRdata(type=type, text=wire.hex(), reason=reason) from exc
    _check_length(type, text)
    return text


def to_node_wires(type: int, texts: Iterable[str], *, comes_signed: bool) -> list[bytes]:
    """Convert an RRset's canonical values to the wire forms for nodes.

    Capital letters in names are kept, with one exception. PowerDNS signs names of all types in lowercase, but
    validators check names of some types unchanged. If PowerDNS has to sign values of such a type, they are sent in
    lowercase, and values that differ only in capitals are sent once. `comes_signed` means that the RRset was signed
    elsewhere, in exactly this form.
    """
    if type not in SIGNED_IN_LOWER_CASE:
        return [to_wire(type, text) for text in texts]
    return sorted({to_wire(type, text if comes_signed else fold(type, text)) for text in texts})


def targets(type: int, text: str) -> tuple[str, ...]:
    """Return the host names in canonical rdata that must exist for the record to work."""
    field = _TARGET_FIELD.get(type)
    if field is None:
        return ()
    parts = text.split(" ")
    if type == rdtypes.IPSECKEY and parts[1] != "3":
        return ()
    # Types newer than RFC 4034 keep letter case in their rdata; it is the same host.
    return (parts[field].lower(),)


def fold(type: int, text: str) -> str:
    """Convert names in canonical rdata to lowercase. Values that are equal in DNS have equal results."""
    if type not in _NAMES_AT:
        return text
    lowered, words = text.lower(), _NAMES_AT[type]
    if words is None or lowered == text:
        return lowered
    parts = text.split(" ")
    parts[words] = [part.lower() for part in parts[words]]
    return " ".join(parts)


def fold_all(type: int, texts: Iterable[str]) -> tuple[str, ...]:
    """Convert names in several canonical values of one type to lowercase, as in `fold`."""
    if type not in _NAMES_AT:
        return tuple(texts)
    return tuple([fold(type, text) for text in texts])


def in_both(type: int, texts: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    """Return the canonical values in `texts` that are also in `others`, ignoring the case of names."""
    known = set(fold_all(type, others))
    return tuple([text for text in texts if fold(type, text) in known])


def not_among(type: int, texts: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    """Return the canonical values in `texts` that are not in `others`, ignoring the case of names."""
    known = set(fold_all(type, others))
    return tuple([text for text in texts if fold(type, text) not in known])


# The index of the field in the canonical text that contains the name that must resolve.
_TARGET_FIELD = {
    **dict.fromkeys((rdtypes.NS, rdtypes.CNAME, rdtypes.PTR, rdtypes.DNAME, rdtypes.ALIAS), 0),
    **dict.fromkeys((rdtypes.MB, rdtypes.MG, rdtypes.MR), 0),
    **dict.fromkeys((rdtypes.MX, rdtypes.AFSDB, rdtypes.KX, rdtypes.LP, rdtypes.SVCB, rdtypes.HTTPS), 1),
    rdtypes.SRV: 3,
    rdtypes.IPSECKEY: 3,  # if its gateway is a name
    rdtypes.NAPTR: -1,
}
# Types whose rdata consists only of that name.
NAME_ONLY = frozenset(type for type, field in _TARGET_FIELD.items() if field == 0)
# Types with names that need not resolve, and the fields that contain them.
_OTHER_NAMES = dict.fromkeys((rdtypes.SOA, rdtypes.RP, rdtypes.MINFO), (0, 1))
# Types whose rdata can point at a name.
POINTING = frozenset(_TARGET_FIELD)
_NSAP_PTR, _RT, _PX, _HIP, _DSYNC, _AMTRELAY = 23, 21, 26, 55, 66, 260
# Types with names in their rdata, and the fields that contain them. None: letter case matters in no other field.
_NAMES_AT: dict[int, slice | None] = {
    **dict.fromkeys((*_TARGET_FIELD, *_OTHER_NAMES, _NSAP_PTR, _RT, _PX, _AMTRELAY)),
    **dict.fromkeys((rdtypes.SVCB, rdtypes.HTTPS), slice(1, 2)),
    **dict.fromkeys((rdtypes.IPSECKEY, _DSYNC), slice(3, 4)),
    rdtypes.NAPTR: slice(-1, None),
    _HIP: slice(3, None),
}
# PowerDNS signs the names of all types in lower case. Validators take names of these types unchanged (RFC 4034 6.2
# lists the others, RFC 6840 5.1), so that a signature over names with capitals would be bogus.
SIGNED_IN_LOWER_CASE = frozenset((rdtypes.IPSECKEY, rdtypes.SVCB, rdtypes.HTTPS, rdtypes.LP, _HIP, _DSYNC, _AMTRELAY))
# Types whose values can be spelled in several ways with the same meaning.
WITH_NAMES = frozenset(_NAMES_AT)


def with_names(type: int, text: str, rename: Callable[[str], str]) -> str:
    """Apply `rename` to the target, or to both names of an SOA, RP or MINFO. The caller must parse the result again."""
    fields: tuple[int, ...] = _OTHER_NAMES.get(type, ())
    if targets(type, text):
        fields = (_TARGET_FIELD[type],)
    parts = text.split(" ")
    for field in fields:
        parts[field] = rename(parts[field])
    return " ".join(parts)


def _check_length(type: int, text: str) -> None:
    if len(text) > MAX_TEXT:
        reason = gettext("the value has {count} characters, but at most {max_text} are allowed").format(
            count=len(text), max_text=MAX_TEXT
        )
        raise BadRdata(type=type, text=text, reason=reason)


def _encode(type: int, text: str, origin: str | None) -> bytes:
    _check_length(type, text)
    if text == "":
        reason = gettext("the {type} record has an empty value").format(type=type_to_text(type))
        raise BadRdata(type=type, text=text, reason=reason)
    if text.startswith("\\#"):
        return _encode_generic(type, text)
    form = FORMS.get(type)
    try:
        wire = form.encode(text, origin) if form is not None else _encode_by_dnspython(type, text, origin)
    except (ValueError, BadName) as exc:
        reason = _describe(type, text, str(exc))
        raise BadRdata(type=type, text=text, reason=reason, detail=str(exc)) from exc
    if len(wire) > MAX_RDATA:
        raise BadRdata(
            type=type,
            text=text,
            reason=gettext("the value has {count} bytes, but at most {max_rdata} are allowed").format(
                count=len(wire), max_rdata=MAX_RDATA
            ),
        )
    return wire


def _describe(type: int, text: str, reason: str) -> str:
    if type in (rdtypes.A, rdtypes.AAAA):
        return reason
    return gettext("“{text}” isn’t a valid {type} value: {reason}").format(
        text=shorten_text(text), type=type_to_text(type), reason=reason
    )


def _encode_generic(type: int, text: str) -> bytes:
    r"""Encode RFC 3597's generic form, `\# length hex`. Raise BadRdata if it is invalid.

    Rdata of known types is also decoded, to reject malformed rdata.
    """
    fields = text.split()
    try:
        wire = binascii.unhexlify("".join(fields[2:]))
        length = int(fields[1])
    except (IndexError, ValueError) as exc:
        raise BadRdata(
            type=type, text=text, reason=gettext("“\\#” must be followed by a length and hexadecimal bytes")
        ) from exc
    if fields[0] != "\\#" or len(wire) != length:
        raise BadRdata(
            type=type,
            text=text,
            reason=gettext("“\\# {fields}” is followed by {count} bytes").format(fields=fields[1], count=len(wire)),
        )
    if length > MAX_RDATA:
        raise BadRdata(
            type=type,
            text=text,
            reason=gettext("the value has {length} bytes, but at most {max_rdata} are allowed").format(
                length=length, max_rdata=MAX_RDATA
            ),
        )
    canonical = from_wire(type, wire)
    return wire if canonical.startswith("\\#") else _encode(type, canonical, None)


@cache
def _take_any_ech() -> None:
    """Make dnspython accept any bytes as `ech` (RFC 9848), as PowerDNS does, because only clients interpret them.

    Otherwise dnspython rejects bytes with a wrong length prefix, and some zones that PowerDNS serves can't be imported.
    """
    import dns.immutable
    import dns.rdata
    from dns.rdtypes import svcbbase

    @dns.immutable.immutable
    class AnyEch(svcbbase.ECHParam):
        def __init__(self, ech: bytes) -> None:
            self.ech = dns.rdata.Rdata._as_bytes(ech, encode=True)

    svcbbase._class_for_key[svcbbase.ParamKey.ECH] = AnyEch


def _encode_by_dnspython(type: int, text: str, origin: str | None) -> bytes:
    import dns.exception
    import dns.name
    import dns.rdata
    import dns.rdataclass
    import dns.rdatatype
    import dns.tokenizer

    _take_any_ech()
    tokens = dns.tokenizer.Tokenizer(text, idna_codec=dns.name.IDNA_2008_UTS_46)
    base = dns.name.from_text(origin) if origin is not None else dns.name.root
    try:
        found: Any = dns.rdata.from_text(
            dns.rdataclass.IN, dns.rdatatype.RdataType.make(type), tokens, origin=base, relativize=False
        )
        _check_comment(text[: tokens.file.tell()], found.rdcomment)
        # A foreign signature was made with the signer's name in lowercase, and is found by that name.
        return bytes(found.to_digestable() if type == rdtypes.RRSIG else found.to_wire())
    except struct.error as exc:  # dnspython notices a bad altitude of a LOC only when it packs the rdata
        raise ValueError(gettext("a number is out of range")) from exc
    except (dns.exception.DNSException, ValueError, OverflowError) as exc:
        raise ValueError(_plain(exc)) from exc


def _check_comment(line: str, comment: str | None) -> None:
    """Raise ValueError for a comment without a space before it: `0 issue ca.test;policy=x` would lose its end."""
    if comment is not None and not line.rstrip("\r\n").removesuffix(";" + comment)[-1:].isspace():
        raise ValueError(gettext("an unquoted “;” starts a comment, so put the text in double quotes"))


def _decode_by_dnspython(type: int, wire: bytes) -> str:
    import dns.exception
    import dns.rdata
    import dns.rdataclass
    import dns.rdatatype

    _take_any_ech()
    try:
        found: Any = dns.rdata.from_wire(dns.rdataclass.IN, dns.rdatatype.RdataType.make(type), wire, 0, len(wire))
        text = str(found.to_text())
        # dnspython prints some rdata that it can't read (a KEY without a key), which must not be stored. Nor must an
        # APL without items, which is legal, but can't be typed.
        if text == "" or dns.rdata.from_text(dns.rdataclass.IN, found.rdtype, text).to_wire() != wire:
            raise ValueError(gettext("the data isn’t in the required form for this type"))
        return text
    except (dns.exception.DNSException, OverflowError) as exc:
        raise ValueError(_plain(exc)) from exc


def _plain(exc: Exception) -> str:
    if isinstance(own := str(exc), Text):
        return own
    text = own.strip().removesuffix(".")
    if text == "" or text.startswith(("Text input is malformed", "Text input ended")):
        return gettext("the text is invalid or incomplete")
    return text
