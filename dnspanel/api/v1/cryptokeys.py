"""`/zones/ID/cryptokeys`: a zone's DNSSEC keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Right
from dnspanel.api.v1 import view
from dnspanel.api.v1.kept_metadata import act_on_kept
from dnspanel.api.v1.waiting import requested_wait, wait_for_all
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.signing_state import KeyRole, KeyState, KeyView, SigningState
from dnspanel.zones.errors import BadKey, KeyUnknown
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.signing import sign

_FLAGS = {"ksk": key_material.KSK_FLAGS, "csk": key_material.KSK_FLAGS, "zsk": key_material.ZSK_FLAGS}
# PowerDNS's names of algorithms, in lowercase. Clients can use any case.
_ALGORITHMS: Mapping[str, int] = {
    "rsamd5": 1,
    "dh": 2,
    "dsa": 3,
    "rsasha1": 5,
    "dsa-nsec3-sha1": 6,
    "rsasha1-nsec3-sha1": 7,
    "rsasha256": 8,
    "rsasha512": 10,
    "ecc-gost": 12,
    "gost": 12,
    "ecdsa256": 13,
    "ecdsap256sha256": 13,
    "ecdsa384": 14,
    "ecdsap384sha384": 14,
    "ed25519": 15,
    "ed448": 16,
}
_SIZED = range(11)  # algorithms for which the client must choose the key size
_SIZES: Mapping[int, int] = {13: 256, 14: 384, 15: 256, 16: 456}
_NONE = -1  # PowerDNS's default for a ZSK: no algorithm
_MOST_BITS = 2**31 - 1


class Cryptokeys(view.PowerdnsView):
    """The list of a zone's keys."""

    def get(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        zone = view.zone_by_id(request, zone_id)
        state = queries.signing_of(zone)
        keys = sorted(queries.keys_of(zone, state), key=lambda key: (key.flags, key.id))
        return view.answer([_object(key, state) for key in keys])

    def post(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        """Add a key, generated or imported. Return 201, with the private key if the actor is allowed to see it.

        If it is the zone's first key, also apply the stored CDS and CDNSKEY settings.
        """
        zone = view.zone_by_id(request, zone_id, Right.DNSSEC)
        wait, new = requested_wait(request), read_key(view.json_object(request))
        acting, before = _acting(request), queries.signing_of(zone)
        try:
            made = sign.add_key(
                zone=zone,
                acting=acting,
                flags=new.flags,
                algorithm=new.algorithm,
                bits=new.bits,
                texts=sign.KeyTexts(new.private_text),
                active=new.active,
                published=new.published,
            )
        except BadKey as exc:
            if new.private_text is None:
                raise
            raise view.Refusal(422, f"Key could not be parsed. Make sure your key format is correct. {exc}") from exc
        zone.refresh_from_db(fields=["sequence"])
        added = Publication.objects.get(sequence=zone.sequence)
        for publication in (added, *act_on_kept(zone=zone, before=before, acting=acting)):
            wait_for_all(request, publication, wait)
        return view.answer(_with_private(request, zone, made.pk), 201)


class Cryptokey(view.PowerdnsView):
    def get(self, request: Request, server_id: str, zone_id: str, cryptokey_id: str) -> HttpResponse:
        """Return the key, with its private key if the actor is allowed to export keys. Exports are audited."""
        zone = view.zone_by_id(request, zone_id)
        return view.answer(_with_private(request, zone, _key_with_id(zone, cryptokey_id).id))

    def put(self, request: Request, server_id: str, zone_id: str, cryptokey_id: str) -> HttpResponse:
        """Set `active` (the key signs) and `published` (the key is in the DNSKEY RRset, default true). Return 204."""
        zone = view.zone_by_id(request, zone_id, Right.DNSSEC)
        key = _key_with_id(zone, cryptokey_id)
        wait, body = requested_wait(request), view.json_object(request)
        if not isinstance(active := body.get("active"), bool):
            raise view.Refusal(422, "Key 'active' not present or not a Bool")
        published, acting = _flag(body, "published", default=True), _acting(request)
        publications = sign.set_key(zone=zone, key_id=key.id, active=active, published=published, acting=acting)
        for publication in publications:
            wait_for_all(request, publication, wait)
        return view.no_content()

    def delete(self, request: Request, server_id: str, zone_id: str, cryptokey_id: str) -> HttpResponse:
        """Delete the key from the zone. Return 204."""
        zone = view.zone_by_id(request, zone_id, Right.DNSSEC)
        wait, key = requested_wait(request), _key_with_id(zone, cryptokey_id)
        publications = sign.delete_key(zone=zone, key_id=key.id, acting=_acting(request))
        wait_for_all(request, publications[-1] if publications else None, wait)
        return view.no_content()


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key to add, either generated or parsed from private-key text."""

    flags: int
    active: bool
    published: bool
    algorithm: int = key_material.DEFAULT_ALGORITHM
    bits: int | None = None
    private_text: str | None = None


def read_key(body: Mapping[str, Any]) -> NewKey:
    """Parse a new key. Raise Refusal (422) for an invalid member or a key that PowerDNS wouldn't create."""
    if (key_type := view.text_in(body, "keytype")) not in _FLAGS:
        raise view.Refusal(422, f"Invalid keytype {view.shorten_text(key_type)}")
    terms = _FLAGS[key_type], _flag(body, "active", default=False), _flag(body, "published", default=True)
    bits, algorithm = body.get("bits"), body.get("algorithm")
    field = next((field for field in ("privatekey", "content") if field in body), None)
    if field is None:
        number, size = _algorithm(algorithm, key_type), _bits(bits)
        _refuse_size(number, size)
        return NewKey(*terms, algorithm=number, bits=size)
    if bits is not None or algorithm is not None:
        raise view.Refusal(
            422,
            "Either you submit just the 'privatekey' field or you leave 'privatekey' empty and submit the other "
            "fields.",
        )
    return NewKey(*terms, private_text=view.text_in(body, field))


def _flag(body: Mapping[str, Any], key: str, *, default: bool) -> bool:
    """Return a boolean member of the body. Like PowerDNS, return the default if it is missing or not a boolean."""
    value = body.get(key)
    return value if isinstance(value, bool) else default


def _bits(value: Any) -> int | None:
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= _MOST_BITS or value != int(value):
        raise view.Refusal(422, "'bits' must be a positive integer value")
    return int(value)


def _algorithm(value: Any, key_type: str) -> int:
    match value:
        case None:
            return _NONE if key_type == "zsk" else key_material.DEFAULT_ALGORITHM
        case str() if value.lower() in _ALGORITHMS:
            return _ALGORITHMS[value.lower()]
        case str():
            raise view.Refusal(422, f"Unknown algorithm: {view.shorten_text(value)}")
        case int() | float() if not isinstance(value, bool) and abs(value) <= _MOST_BITS:
            return int(value)
    raise view.Refusal(422, "Unknown algorithm: ")


def _refuse_size(algorithm: int, bits: int | None) -> None:
    """Raise Refusal (422) if the algorithm is unknown, needs a key size, or doesn't allow this key size."""
    name = key_material.ALGORITHMS.get(algorithm, "Unallocated/Reserved")
    if (algorithm in _SIZED or algorithm < 0) and not bits:
        raise view.Refusal(
            422, f"Creating an algorithm {algorithm} ({name}) key requires the size (in bits) to be passed."
        )
    if algorithm not in key_material.ALGORITHMS:
        raise view.Refusal(422, f"Request to create key object for unknown algorithm number {algorithm}")
    if algorithm in _SIZES and bits not in (None, 0, _SIZES[algorithm]):
        raise view.Refusal(422, "The algorithm does not support the given bit size.")


def _acting(request: Request) -> Acting:
    return Acting(view.actor_in(request), Channel.API, timezone.now())


def _key_with_id(zone: Zone, id: str) -> KeyState:
    """Return the zone's key for an id from the URL. Raise KeyUnknown if the zone has no such key."""
    number = int(id) if id.isascii() and id.isdecimal() and len(id) < 12 else -1
    key = queries.signing_of(zone).key(number)
    if key is None:
        raise KeyUnknown(zone.name, number)
    return key


def _with_private(request: Request, zone: Zone, key_id: int) -> dict[str, Any]:
    """Return a key in PowerDNS's form, with its private key if the actor can export it, or raise KeyUnknown."""
    actor, state = view.actor_in(request), queries.signing_of(zone)
    key = next((key for key in queries.keys_of(zone, state) if key.id == key_id), None)
    if key is None:
        raise KeyUnknown(zone.name, key_id)
    if not access.has_right(actor, zone, Right.EXPORT_KEYS):
        return _object(key, state)
    private_text = sign.export_key(zone=zone, key_id=key_id, by=actor, now=timezone.now())
    return {**_object(key, state), "privatekey": private_text}


def _object(key: KeyView, state: SigningState) -> dict[str, Any]:
    """Return a key in the form of PowerDNS's list of keys."""
    found: dict[str, Any] = {
        "active": key.active,
        "algorithm": key.mnemonic,
        "bits": key.bits,
        "dnskey": key.dnskey,
        "flags": key.flags,
        "id": key.id,
        "keytype": key.role.value,
        "published": key.published,
        "type": "Cryptokey",
    }
    if key.role is not KeyRole.ZSK:
        found["ds"] = [key.ds_of(digest) for digest in key_material.EVERY_DIGEST]
        if cds := [key.ds_of(digest) for digest in key_material.EVERY_DIGEST if str(digest) in state.cds.split(",")]:
            found["cds"] = cds
    return found
