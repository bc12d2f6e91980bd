"""Parse API v1 requests for new zones: RRsets or zone text, name servers, kind and other fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from typing import Any

from django.conf import settings

from dnspanel.accounts.tokens import tsig_keys
from dnspanel.api.v1.attributes import TRANSFER_KEYS, Comment, CommentKey, comment_text
from dnspanel.api.v1.changes import DEFAULT_TTL, read_rrsets
from dnspanel.api.v1.primaries import CONSUMER, ELSEWHERE, PRIMARY_KEYS, PRODUCER, SLAVE
from dnspanel.api.v1.rrsets import RRsetInput, number_in, refuse_odd_characters
from dnspanel.api.v1.signing import not_secured, read_signing
from dnspanel.api.v1.view import Refusal, canonical, list_in, name_of_id, shorten_text, text_in
from dnspanel.transfer.documents import Document, Options, SourceFault
from dnspanel.transfer.zonefile.parse import read_zone
from dnspanel.zones.rules.computed_types import DEPENDING, reasons_against
from dnspanel.zones.settings.settings_of_zone import soa_edit_of
from dnspanel.zones.signing.sign import RequestedSigning
from dnspanel.zones.values import soa
from replication.dns import rdtypes
from replication.dns.rrset import RRset, Serial

_KINDS = {
    "native": "Native",
    "master": "Master",
    "primary": "Master",
    "slave": SLAVE,
    "secondary": SLAVE,
    "consumer": CONSUMER,
    "producer": PRODUCER,
}
_MOST_SERIAL = 2**32 - 1


@dataclass(frozen=True, slots=True)
class NewZone:
    """A zone to create. Without NS records and `nameservers`, it gets those of the default set or of the settings."""

    name: str
    rrsets: Sequence[RRset]
    nameservers: Sequence[str]
    attributes: Mapping[str, Any]
    soa_edit: soa.SoaEdit
    signing: RequestedSigning
    comments: Mapping[CommentKey, Sequence[Comment]]
    soa_is_made: bool  # the SOA was generated, because the client sent none


def read_new_zone(body: Mapping[str, Any], now: datetime) -> NewZone:
    """Parse a new zone from the body of a POST. Raise Refusal (422) if it is invalid."""
    name = canonical(text_in(body, "name"))
    refuse_odd_characters(body["name"])
    text_in(body, "kind")
    if _kind(body["kind"]) in ELSEWHERE and (body.get("zone") or list_in(body, "rrsets")):
        raise Refusal(422, "A zone of this kind has what its masters give, and no rrsets or zone data of its own")
    text = body.get("zone") if isinstance(body.get("zone"), str) else ""
    if text and isinstance(body.get("rrsets"), list):
        raise Refusal(422, "You cannot give rrsets AND zone data as text")
    servers = _nameservers(body)
    inputs = read_rrsets(list_in(body, "rrsets"), name, now)
    if text:
        rrsets, soa_is_made = _of_text(name, text)
    else:
        rrsets, soa_is_made = _from_inputs(name, inputs, body, servers)
    if servers and any(rrset.name == name and rrset.type == rdtypes.NS for rrset in rrsets):
        raise Refusal(422, "Nameservers list MUST NOT be mixed with zone-level NS in rrsets")
    comments = {each.key: each.comments for each in inputs if each.comments}
    attributes = read_attributes(body)
    soa_edit = soa_edit_of(attributes.pop("soa_edit_api", "DEFAULT"), attributes.pop("soa_edit", ""))
    signing = read_signing(body, name)
    if signing.nsec3 is not None and not signing.signed:
        raise not_secured(name)
    if signing.signed and attributes["kind"] == PRODUCER:
        raise Refusal(422, f"Zone '{name}' is to be a catalog, which is not signed")
    return NewZone(name, rrsets, servers, attributes, soa_edit, signing, comments, soa_is_made)


def read_attributes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Parse the zone attributes in a body. Ignore values of wrong types. Raise Refusal if a value is invalid."""
    attributes: dict[str, Any] = {}
    if isinstance(body.get("kind"), str):
        attributes["kind"] = _kind(body["kind"])
    for field, most in (("account", 40), ("catalog", 255), ("soa_edit", 32), ("soa_edit_api", 32)):
        if isinstance(value := body.get(field), str):
            if len(value) > most:
                raise Refusal(422, f"Value for key '{field}' is too long: at most {most} characters")
            attributes[field] = canonical(value.removesuffix(".") + ".") if field == "catalog" and value else value
    if isinstance(body.get("api_rectify"), bool):
        attributes["api_rectify"] = body["api_rectify"]
    if isinstance(body.get("masters"), list):
        attributes["masters"] = [_master(value) for value in body["masters"]]
    if isinstance(body.get(PRIMARY_KEYS), list):
        attributes[PRIMARY_KEYS] = [name_of_id(id) if isinstance(id, str) else "" for id in body[PRIMARY_KEYS]]
    if isinstance(body.get("master_tsig_key_ids"), list):
        attributes[TRANSFER_KEYS] = [_key_name(id) for id in body["master_tsig_key_ids"]]
    return attributes


def _key_name(id: Any) -> str:
    """Return the TSIG key name for this id. Raise Refusal if the id is invalid, or if no key has the id."""
    name = name_of_id(id) if isinstance(id, str) else ""
    if not tsig_keys.key_exists(name):
        raise Refusal(422, f"A TSIG key with the name '{shorten_text(str(id))}' does not exist")
    return name


def _kind(word: str) -> str:
    """Return Native, Master, Slave, Consumer or Producer. Like PowerDNS, treat unknown kinds as Native."""
    return _KINDS.get(word.lower(), "Native")


def _master(value: Any) -> str:
    if not isinstance(value, str):
        raise Refusal(422, "Key 'masters' is not an Array of Strings")
    address, _, port = value.rpartition(":") if value.count(":") == 1 or "]:" in value else (value, "", "")
    try:
        ip_address(address.strip("[]"))
    except ValueError as exc:
        raise Refusal(422, f"Master ({shorten_text(value)}) is not an IP address") from exc
    if port and not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise Refusal(422, f"Master ({shorten_text(value)}) is not an IP address")
    return value


def _nameservers(body: Mapping[str, Any]) -> list[str]:
    found = []
    for server in list_in(body, "nameservers"):
        if not isinstance(server, str):
            raise Refusal(422, "Nameservers is not a list of Strings")
        if not server.endswith("."):
            raise Refusal(422, f"Nameserver is not canonical: '{shorten_text(server)}'")
        found.append(canonical(server))
    return found


def _from_inputs(
    name: str, inputs: Sequence[RRsetInput], body: Mapping[str, Any], servers: Sequence[str]
) -> tuple[list[RRset], bool]:
    """Return the RRsets, and True if the SOA was generated because the client sent none.

    Comments on an SOA without records are added to the generated SOA. Raise Refusal (422) for records without a TTL.
    """
    texts = {each.key: comment_text(each.comments or ()) for each in inputs}
    rrsets = []
    for each in inputs:
        if not each.records:
            continue
        if each.ttl is None:
            raise Refusal(422, "Key 'ttl' not an Integer or not present")
        rrsets.append(each.rrset(each.ttl, texts[each.key]))
    soa_is_made = all((rrset.name, rrset.type) != (name, rdtypes.SOA) for rrset in rrsets)
    if soa_is_made:
        rrsets.insert(0, _own_soa(name, servers, body, texts.get((name, rdtypes.SOA), "")))
    return rrsets, soa_is_made


def _own_soa(name: str, servers: Sequence[str], body: Mapping[str, Any], comment: str) -> RRset:
    """Generate an SOA with the client's comment and the requested serial (default 0)."""
    serial = Serial(number_in(body, "serial", _MOST_SERIAL) or 0)
    made = soa.default_soa(name, (servers or settings.DEFAULT_NAMESERVERS)[0], settings.DEFAULT_HOSTMASTER, serial)
    return RRset(name, made.type, made.ttl, made.rdata, (), comment)


def _of_text(name: str, text: str) -> tuple[list[RRset], bool]:
    """Parse zone text. Return the RRsets, and True if an SOA was generated because the text has none.

    Omit generated NS records. Raise Refusal (422) if the text belongs to another zone or has an error that loses data.
    """
    # Add a default TTL, as PowerDNS does. Line numbers do not count the added line.
    lines = range(text.count("\n") + 2)
    document = Document("zone", f"$TTL {DEFAULT_TTL}\n{text}".encode(), name, lines)
    parsed = read_zone(
        document,
        options=Options(soa="missing", nameservers="missing"),
        include=_no_file,
        allow_lua=settings.ALLOW_LUA_RECORDS,
        unanswered=reasons_against(DEPENDING),
        first_serial=soa.NO_SERIAL,
    )
    for fault in parsed.faults:
        # PowerDNS would keep records that the panel drops here. Status 201 would hide the loss.
        if fault.is_loss:
            raise Refusal(422, _describe(fault))
    if parsed.name != name:
        raise Refusal(422, f"The zone data is about {parsed.name or 'no zone'}, not {name}")
    found = [RRset(r.name, r.type, r.ttl, r.texts, r.disabled, r.comment) for r in parsed.rrsets]
    if rdtypes.NS in parsed.made:  # use the request's name servers or a set instead
        found = [rrset for rrset in found if (rrset.name, rrset.type) != (name, rdtypes.NS)]
    return found, rdtypes.SOA in parsed.made


def _no_file(path: str) -> None:
    """Return None to reject `$INCLUDE`, because zone text in a request comes without other files."""


def _describe(fault: SourceFault) -> str:
    if fault.code == "out-of-zone":
        fields = fault.source.split()
        type_ = next((word for word in fields[1:] if word.isalpha() and word.upper() != "IN"), "")
        return f"RRset {fields[0] if fields else ''} IN {type_}: Name is out of zone"
    reason = f"{fault.reason} (line {fault.line}: {fault.source})" if fault.line else fault.reason
    return f"Conflicts with another RRset: {reason}" if fault.code.startswith("cname") else reason
