"""Parse the zone fields `dnssec`, `nsec3param` and `nsec3narrow` from PowerDNS API clients."""

import re
from collections.abc import Mapping
from typing import Any

from dnspanel.api.v1.view import Refusal, shorten_text
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.signing.sign import LONGEST_SALT, MOST_ITERATIONS, RequestedSigning
from replication.codec.dnssec import Nsec3

_NSEC3PARAM = re.compile(r"(\d{1,5}) (\d{1,5}) (\d{1,5}) (-|(?:[0-9a-f]{2})+)", re.ASCII | re.IGNORECASE)
_SHA1 = 1
_OPT_OUT = 1


def read_signing(body: Mapping[str, Any], zone_name: str) -> RequestedSigning:
    """Parse the signing settings in the body. Raise Refusal (422) if they are invalid.

    As in PowerDNS, values of a wrong type are ignored. `nsec3narrow` without `nsec3param` is also ignored.
    """
    signed, text = body.get("dnssec"), body.get("nsec3param")
    if not isinstance(signed, bool):
        signed = None
    if not isinstance(text, str):
        return RequestedSigning(signed)
    nsec3 = _nsec3(text, zone_name, narrow=body.get("nsec3narrow") is True) if text else None
    return RequestedSigning(signed, sets_denial=True, nsec3=nsec3)


def will_be_signed(requested: RequestedSigning, state: SigningState) -> bool:
    """Return True if a zone with this signing state will be signed after the request."""
    return state.is_signed if requested.signed is None else requested.signed


def not_secured(zone_name: str) -> Refusal:
    """Return PowerDNS's error for NSEC3 parameters that are set for an unsigned zone."""
    return Refusal(422, f"NSEC3PARAM value provided for zone '{zone_name}', but zone is not DNSSEC secured.")


def _nsec3(text: str, zone_name: str, *, narrow: bool) -> Nsec3:
    """Parse NSEC3 parameters (hash, flags, iterations, salt). Raise Refusal (422) if they are invalid."""
    found = _NSEC3PARAM.fullmatch(" ".join(text[:1000].split()))
    if found is None:
        raise _invalid(zone_name, f"'{shorten_text(text)}' is not like '1 0 0 -'.")
    hash_algorithm, flags, iterations = (int(found[number]) for number in (1, 2, 3))
    salt = b"" if found[4] == "-" else bytes.fromhex(found[4])
    if hash_algorithm != _SHA1:
        raise _invalid(zone_name, f"Invalid hash algorithm for NSEC3: '{hash_algorithm}', the only valid value is '1'.")
    if flags not in (0, _OPT_OUT):
        raise _invalid(zone_name, f"The flags are 0, or 1 for opt-out, not {flags}.")
    if iterations > MOST_ITERATIONS:
        raise _invalid(zone_name, "Number of NSEC3 iterations is above 'max-nsec3-iterations'.")
    if len(salt) > LONGEST_SALT:
        raise _invalid(zone_name, f"The salt has more than {LONGEST_SALT} bytes.")
    return Nsec3(iterations, salt, flags == _OPT_OUT, narrow)


def _invalid(zone_name: str, reason: str) -> Refusal:
    return Refusal(422, f"NSEC3PARAMs provided for zone '{zone_name}' are invalid. {reason}")
