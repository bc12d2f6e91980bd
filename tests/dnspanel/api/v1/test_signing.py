"""Tests of the signing settings in the form of PowerDNS's API."""

from typing import Any

import pytest

from dnspanel.api.v1.signing import not_secured, read_signing, will_be_signed
from dnspanel.api.v1.view import Refusal
from dnspanel.zones.dnssec.signing_state import KeyState, SigningState
from dnspanel.zones.signing.sign import RequestedSigning
from replication.codec.dnssec import Nsec3

AS_IT_IS = RequestedSigning()


@pytest.mark.parametrize(
    ("body", "requested"),
    [
        ({}, AS_IT_IS),
        ({"dnssec": "yes", "nsec3param": 5}, AS_IT_IS),
        ({"nsec3narrow": True}, AS_IT_IS),
        ({"dnssec": True}, RequestedSigning(True)),
        ({"dnssec": False, "nsec3param": ""}, RequestedSigning(False, True)),
        ({"nsec3param": "1 0 0 -"}, RequestedSigning(None, True, Nsec3())),
        (
            {"nsec3param": " 1  1 3 ABcd ", "nsec3narrow": True},
            RequestedSigning(None, True, Nsec3(3, b"\xab\xcd", True, True)),
        ),
        ({"nsec3param": "1 0 0 -", "nsec3narrow": "x"}, RequestedSigning(None, True, Nsec3())),
    ],
)
def test_what_is_said_is_read_and_the_rest_is_as_it_is(body: dict[str, Any], requested: RequestedSigning) -> None:
    assert read_signing(body, "a.test.") == requested


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("bad", "not like '1 0 0 -'"),
        ("1 0 0", "not like '1 0 0 -'"),
        ("1 0 0 - x", "not like '1 0 0 -'"),
        ("1 0 0 abc", "not like '1 0 0 -'"),
        ("1 0 0 \u0661\u0661", "not like '1 0 0 -'"),
        ("1 0 999999 -", "not like '1 0 0 -'"),
        ("x" * 100_000, "not like '1 0 0 -'"),
        ("2 0 0 -", "Invalid hash algorithm"),
        ("1 2 0 -", "flags"),
        ("1 0 101 -", "max-nsec3-iterations"),
        ("1 0 0 " + "ab" * 33, "more than 32 bytes"),
    ],
)
def test_bad_parameters_are_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason) as refused:
        read_signing({"nsec3param": text}, "a.test.")
    assert refused.value.status == 422
    assert len(refused.value.text) < 500


def test_a_zone_is_signed_if_it_is_or_shall_be() -> None:
    signed = SigningState((KeyState(1, 13, 257),))
    assert will_be_signed(AS_IT_IS, signed)
    assert not will_be_signed(AS_IT_IS, SigningState())
    assert will_be_signed(RequestedSigning(True), SigningState())
    assert not will_be_signed(RequestedSigning(False), signed)
    assert not_secured("a.test.").status == 422
