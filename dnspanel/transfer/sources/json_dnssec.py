"""Convert the DNSSEC state of zones in the panel's JSON export to metadata and keys, as other sources yield them.

If a private key cannot be used, the key is stored as in the file, under a name that ends with a `sealed_keys.KeyLock`.
A zone with such a key uses none of the keys in the file, and the import reports the reason.
"""

from collections.abc import Iterator
from typing import Any

from dnspanel.texts import gettext, gettext_noop
from dnspanel.transfer.documents import MOST_OTHER_CHAINS, Kept
from dnspanel.transfer.errors import KeyLocked
from dnspanel.transfer.models import KeptKind
from dnspanel.transfer.sealed_keys import KeyLock, Opener
from dnspanel.transfer.sources import powerdns
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.other_keys import in_one_piece
from dnspanel.zones.dnssec.signing_state import (
    NSEC3NARROW,
    NSEC3PARAM,
    PRESIGNED,
    PUBLISH_CDNSKEY,
    PUBLISH_CDS,
    nsec3param_text,
    read_nsec3param,
)
from dnspanel.zones.errors import BadKey, DnssecRefused
from dnspanel.zones.signing import sign
from replication.dns import rdata, rdtypes
from replication.errors import BadRdata


def read_dnssec(zone: str, member: dict[str, Any], opener: Opener | None) -> tuple[list[Kept], list[str]]:
    """Return (data to keep for the zone, error messages) from a `dnssec` member.

    No data is kept if the zone has no keys and isn't presigned. An invalid member becomes one unreadable key.
    """
    try:
        keys = _member(member, "keys", list)
        if len(keys) > sign.MOST_KEYS:
            raise ValueError(
                gettext("the zone has {count} keys, but only {most_keys} are allowed").format(
                    count=len(keys), most_keys=sign.MOST_KEYS
                )
            )
        is_presigned = member.get("presigned") is True
        kept = list(_metadata(zone, member)) if keys or is_presigned else []
        if is_presigned:
            kept.append(powerdns.kept_metadata(zone, PRESIGNED, "1"))
        wrong: list[str] = []
        for key in keys:
            kept.append(_key(zone, key, opener, wrong))
    except ValueError as exc:
        return [_locked_key(zone, "? ?", KeyLock.UNREADABLE, "")], [
            gettext("the value of “dnssec” can’t be used: {reason}").format(reason=exc)
        ]
    return kept, wrong


def _metadata(zone: str, member: dict[str, Any]) -> Iterator[Kept]:
    """Yield the metadata that PowerDNS stores with the keys. Raise ValueError if a member is invalid."""
    narrow = _member(member, "narrow", bool)
    if member.get("nsec3param") is not None:
        yield _parameters(zone, _member(member, "nsec3param", str), narrow=narrow)
        if member.get("other_nsec3params") is not None:  # after the parameters of the served chain
            for text in _member(member, "other_nsec3params", list)[:MOST_OTHER_CHAINS]:
                yield _parameters(zone, str(text), narrow=False)
        if narrow:
            yield powerdns.kept_metadata(zone, NSEC3NARROW, "1")
    try:
        cds = sign.digest_list(_member(member, "cds", str))
    except DnssecRefused as exc:
        raise ValueError(gettext("“cds” must contain digest types")) from exc
    if cds:
        yield powerdns.kept_metadata(zone, PUBLISH_CDS, cds)
    if _member(member, "cdnskey", bool):
        yield powerdns.kept_metadata(zone, PUBLISH_CDNSKEY, "1")


def _parameters(zone: str, text: str, *, narrow: bool) -> Kept:
    """Convert a chain's NSEC3 parameters to PowerDNS metadata. Raise ValueError if they are invalid."""
    try:
        return powerdns.kept_metadata(zone, NSEC3PARAM, nsec3param_text(read_nsec3param(text, narrow=narrow)))
    except ValueError as exc:
        raise ValueError(gettext("“nsec3param” must contain NSEC3 parameters")) from exc


def _key(zone: str, key: Any, opener: Opener | None, wrong: list[str]) -> Kept:
    """Return the key to keep, locked if its private part can't be used. Append error messages to `wrong`.

    Raise ValueError if a member is missing or invalid.
    """
    flags, algorithm, dnskey = _public_part(key)
    active, published = _member(key, "active", bool), _member(key, "published", bool)
    words = [str(flags), key_material.ALGORITHMS.get(algorithm, str(algorithm))]
    name = " ".join(words + ["inactive"] * (not active) + ["unpublished"] * (not published))
    if "sealed" not in key:
        return _locked_key(zone, name, KeyLock.ABSENT, dnskey)
    sealed = _member(key, "sealed", str)
    if opener is None:
        return _locked_key(zone, name, KeyLock.SEALED, sealed)
    try:
        private_text = opener.open(sealed, zone=zone, dnskey=dnskey)
        pair = key_material.read(private_text)
    except KeyLocked as exc:
        return _locked_key(zone, name, KeyLock(exc.lock), sealed)
    except BadKey as exc:
        wrong.append(gettext("a private key can’t be used: {reason}").format(reason=exc))
        return _locked_key(zone, name, KeyLock.OTHER_KEY, sealed)
    if key_material.dnskey_text(flags, pair.algorithm, pair.public) != dnskey:
        wrong.append(gettext("the DNSKEY {dnskey} doesn’t match its private key").format(dnskey=dnskey[:60]))
        return _locked_key(zone, name, KeyLock.OTHER_KEY, sealed)
    return powerdns.kept_key(zone, flags, private_text, active=active, published=published)


def _public_part(key: Any) -> tuple[int, int, str]:
    """Return (flags, algorithm, DNSKEY rdata). Raise ValueError if they are invalid or contradict each other."""
    flags, algorithm = _member(key, "flags", int), _member(key, "algorithm", int)
    try:
        dnskey = in_one_piece(rdata.parse(rdtypes.DNSKEY, _member(key, "dnskey", str)))
    except BadRdata as exc:
        raise ValueError(gettext("“dnskey” isn’t valid DNSKEY data: {reason}").format(reason=exc.reason)) from exc
    if dnskey.split(" ")[:3] != [str(flags), "3", str(algorithm)]:
        raise ValueError(
            gettext("the flags or the algorithm in the DNSKEY {dnskey} don’t match the key").format(dnskey=dnskey[:60])
        )
    return flags, algorithm, dnskey


def _locked_key(zone: str, name: str, lock: KeyLock, value: str) -> Kept:
    return Kept(zone, KeptKind.KEY, f"{name} {lock}", value.encode("utf-8", "surrogatepass"))


_MISSING = {
    list: gettext_noop("“{name}” is missing or not a list"),
    str: gettext_noop("“{name}” is missing or not a string"),
    bool: gettext_noop("“{name}” is missing or not a boolean"),
    int: gettext_noop("“{name}” is missing or not a number"),
}


def _member(value: Any, name: str, kind: type) -> Any:
    """Return a JSON object's member. Raise ValueError if the member is missing or isn't of the type `kind`."""
    found = value.get(name) if isinstance(value, dict) else None
    if type(found) is not kind:
        raise ValueError(gettext(_MISSING[kind]).format(name=name))
    return found
