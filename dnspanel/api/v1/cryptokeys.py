"""`/zones/ID/cryptokeys`: the zone's DNSSEC keys. Nothing here signs, so no zone has any and none can be added."""

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.accounts.grants import Right
from dnspanel.api.v1.view import PowerdnsView, Refusal, answer, json_object, shortened, text_in, zone_by_id

_KEY_TYPES = frozenset({"ksk", "zsk", "csk"})
_ALGORITHMS = frozenset(
    {"rsamd5", "dh", "dsa", "rsasha1", "dsa-nsec3-sha1", "rsasha1-nsec3-sha1", "rsasha256", "rsasha512"}
    | {"ecc-gost", "gost", "ecdsa256", "ecdsap256sha256", "ecdsa384", "ecdsap384sha384", "ed25519", "ed448"}
)


class Cryptokeys(PowerdnsView):
    """The keys of a zone."""

    def get(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        zone_by_id(request, zone_id)
        return answer([])

    def post(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        zone_by_id(request, zone_id, Right.SETTINGS)
        refuse_bad_key(json_object(request))
        raise Refusal(422, "Adding key failed: this server does not sign zones")


class Cryptokey(PowerdnsView):
    """One of them, which there never is."""

    def get(self, request: Request, server_id: str, zone_id: str, cryptokey_id: str) -> HttpResponse:
        zone_by_id(request, zone_id)
        raise Refusal(404)

    put = delete = get


def refuse_bad_key(body: dict[str, Any]) -> None:
    """Raise Refusal (422) for a key that the real server would not make either."""
    if (key_type := text_in(body, "keytype")) not in _KEY_TYPES:
        raise Refusal(422, f"Invalid keytype {shortened(key_type)}")
    bits, algorithm = body.get("bits"), body.get("algorithm")
    if "privatekey" in body or "content" in body:
        if bits is not None or algorithm is not None:
            raise Refusal(
                422,
                "Either you submit just the 'privatekey' field or you leave 'privatekey' empty and submit the other "
                "fields.",
            )
        return
    if bits is not None and (isinstance(bits, bool) or not isinstance(bits, int) or bits < 0):
        raise Refusal(422, "'bits' must be a positive integer value")
    if isinstance(algorithm, str) and algorithm.lower() not in _ALGORITHMS:
        raise Refusal(422, f"Unknown algorithm: {shortened(algorithm)}")
    if algorithm is not None and (isinstance(algorithm, bool) or not isinstance(algorithm, int | float | str)):
        raise Refusal(422, "Unknown algorithm: ")
