"""Convert record content between PowerDNS's form and the panel's canonical rdata, which differ for a few types.

Clients must send unambiguous content: absolute names, TXT in quotes, and no zone-file syntax.
"""

import re
from collections.abc import Callable

from dns.dnssectypes import Algorithm

from dnspanel.api.v1.view import Refusal, shorten_text
from dnspanel.api.zone_syntax import REFUSAL, has_zone_file_syntax
from dnspanel.zones.values.absolute_values import RELATIVE
from replication.dns import rdata, rdtypes
from replication.errors import BadRdata

_QUOTED = frozenset((rdtypes.TXT, rdtypes.SPF))
_HOSTS = frozenset((rdtypes.NS, rdtypes.MX, rdtypes.SRV))  # types whose content must be a host name
# PowerDNS does not escape @ and $ in names. Clients compare contents as text, and @ is common in SOA mailboxes.
_ESCAPE = re.compile(r"\\(?:([@$])|.)", re.DOTALL)
_SVCB_VALUE = re.compile(r'\b(alpn|mandatory|port|ipv4hint|ipv6hint)="([^"\\ ]*)"')
_LOC_REST = ("1.00m", "10000.00m", "10.00m")
_CERT_MNEMONICS = {
    "PKIX": "1",
    "SPKI": "2",
    "PGP": "3",
    "IPKIX": "4",
    "ISPKI": "5",
    "IPGP": "6",
    "ACPKIX": "7",
    "IACPKIX": "8",
    "URI": "253",
    "OID": "254",
}
_ALGORITHMS = {name: str(each.value) for name, each in Algorithm.__members__.items()}


def content_for_client(type: int, text: str) -> str:
    """Convert canonical rdata to the form that PowerDNS shows."""
    writer = _WRITERS.get(type)
    written = text if writer is None else writer(text)
    return _ESCAPE.sub(lambda found: found[1] or found[0], written) if "\\" in written else written


def read_content(name: str, type: int, content: str) -> str:
    """Convert a client's record content to canonical rdata. Raise Refusal (422) if it is invalid."""
    if has_zone_file_syntax(content):
        raise refusal_of_record(name, type, content, f"Not in expected format ({REFUSAL})")
    try:
        if type == rdtypes.IPSECKEY:
            content = _with_gateway(content)
        text = rdata.parse(type, content, RELATIVE)
    except BadRdata as exc:
        raise refusal_of_record(name, type, content, exc.reason) from exc
    if content != content.strip() or (type in _QUOTED and not content.startswith('"')):
        raise refusal_of_record(name, type, content, f"Not in expected format (parsed as '{shorten_text(text)}')")
    if RELATIVE in text:
        absolute = text.replace("." + RELATIVE, ".").replace(RELATIVE, "@")
        raise refusal_of_record(name, type, content, f"Not in expected format (parsed as '{shorten_text(absolute)}')")
    if type in _HOSTS and "\\" in text:
        raise refusal_of_record(name, type, content, "non-hostname content")
    return text


def refusal_of_record(name: str, type: int, content: str, reason: str) -> Refusal:
    """Return a Refusal (422) for one record. The error message identifies the record like PowerDNS's messages."""
    return Refusal(422, f"Record {name}/{rdata.type_to_text(type)} '{shorten_text(content)}': {reason}")


def _rest_unchanged(fields: int) -> Callable[[str], str]:
    """Return a writer that joins the Base64 pieces after the first `fields` fields, because dnspython splits Base64."""

    def write(text: str) -> str:
        parts = text.split(" ")
        return " ".join([*parts[:fields], "".join(parts[fields:])])

    return write


def _cert(text: str) -> str:
    kind, tag, algorithm, *key = text.split(" ")
    return f"{_CERT_MNEMONICS.get(kind, kind)} {tag} {_ALGORITHMS.get(algorithm, algorithm)} {''.join(key)}"


def _svcb(text: str) -> str:
    return _SVCB_VALUE.sub(r"\1=\2", text)


def _loc(text: str) -> str:
    """Return LOC content with the sizes that dnspython omits because they have default values.

    The sizes come after the altitude, which is the first field that ends in `m`.
    """
    fields = text.split(" ")
    altitude = next(place for place, word in enumerate(fields) if word.endswith("m"))
    given = fields[altitude + 1 :]
    return " ".join([*fields[: altitude + 1], *given, *_LOC_REST[len(given) :]])


def _ipseckey(text: str) -> str:
    """Return IPSECKEY content with the key in one piece, and without the dot for a missing gateway."""
    precedence, kind, algorithm, gateway, *key = text.split(" ")
    gateway_field = [] if kind == "0" else [gateway]
    return " ".join([precedence, kind, algorithm, *gateway_field, *(["".join(key)] if key else [])])


def _with_gateway(content: str) -> str:
    """Add the dot for a missing gateway, which RFC 4025 requires and PowerDNS omits."""
    fields = content.split()
    if fields[1:2] == ["0"] and fields[3:4] != ["."]:
        fields.insert(3, ".")
        return " ".join(fields)
    return content


_WRITERS: dict[int, Callable[[str], str]] = {
    rdtypes.CDNSKEY: _rest_unchanged(3),
    rdtypes.DNSKEY: _rest_unchanged(3),
    rdtypes.KEY: _rest_unchanged(3),
    rdtypes.DHCID: _rest_unchanged(0),
    rdtypes.OPENPGPKEY: _rest_unchanged(0),
    rdtypes.CERT: _cert,
    rdtypes.IPSECKEY: _ipseckey,
    rdtypes.HTTPS: _svcb,
    rdtypes.SVCB: _svcb,
    rdtypes.LOC: _loc,
    rdtypes.NID: str.upper,
    rdtypes.L64: str.upper,
}
