"""Tests of ID tokens: signature, client, issuer, time, and the request that a token answers."""

from collections.abc import Mapping
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from dnspanel.accounts.errors import SignInRefused
from dnspanel.accounts.providers.oidc.id_token import LEEWAY_SECONDS, verified_claims, with_userinfo
from tests.people import NOW

ISSUER, CLIENT, NONCE = "https://login.example.test/realm", "dnspanel", "n-0S6"
AT = int(NOW.timestamp())
CLAIMS = {"iss": ISSUER, "aud": CLIENT, "sub": "eve", "exp": AT + 60, "iat": AT, "nonce": NONCE}


@pytest.fixture(scope="module")
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def keys(rsa_key: rsa.RSAPrivateKey, ec_key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    both = (
        jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key.public_key(), as_dict=True) | {"kid": "r", "alg": "RS256"},
        jwt.algorithms.ECAlgorithm.to_jwk(ec_key.public_key(), as_dict=True) | {"kid": "e", "use": "sig"},
    )
    return {"keys": list(both)}


def read(token: object, keys: Mapping[str, Any], nonce: str = NONCE) -> dict[str, Any]:
    return verified_claims(token, keys=keys, issuer=ISSUER, client_id=CLIENT, nonce=nonce, now=NOW)


def refusal(token: object, keys: Mapping[str, Any], nonce: str = NONCE) -> str:
    with pytest.raises(SignInRefused) as told:
        read(token, keys, nonce)
    return told.value.reason


def test_a_token_of_a_key_of_the_provider_is_read(
    keys: dict[str, Any], rsa_key: rsa.RSAPrivateKey, ec_key: ec.EllipticCurvePrivateKey
) -> None:
    assert read(jwt.encode(CLAIMS, rsa_key, "RS256", {"kid": "r"}), keys)["sub"] == "eve"
    assert read(jwt.encode(CLAIMS, ec_key, "ES256", {"kid": "e"}), keys)["sub"] == "eve"
    only = {"keys": keys["keys"][:1]}
    assert read(jwt.encode(CLAIMS, rsa_key, "RS256"), only)["sub"] == "eve"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"aud": "another"}, "audience"),
        ({"aud": [CLIENT, "another"]}, "audience"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, "audience"),
        ({"azp": "another"}, "audience"),
        ({"iss": "https://evil.test"}, "issuer"),
        ({"iss": ISSUER + "/"}, "issuer"),
        ({"nonce": "another"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"exp": AT - LEEWAY_SECONDS}, "expired"),
        ({"iat": AT + LEEWAY_SECONDS + 1}, "expired"),
        ({"nbf": AT + LEEWAY_SECONDS + 1}, "expired"),
        ({"nbf": float("nan")}, "expired"),
        ({"nbf": "now"}, "id-token"),
        ({"exp": None}, "id-token"),
        ({"exp": "soon"}, "id-token"),
        ({"sub": ""}, "id-token"),
        ({"sub": None}, "id-token"),
        ({"sub": 7}, "id-token"),
        ({"sub": "e\0ve"}, "id-token"),
        ({"sub": "\ud800"}, "id-token"),
        ({"azp": ["another"]}, "audience"),
        ({"exp": float("nan")}, "expired"),
        ({"sub": "x" * 256}, "id-token"),
    ],
    ids=str,
)
def test_a_token_that_is_not_for_us_now_is_refused(
    keys: dict[str, Any], rsa_key: rsa.RSAPrivateKey, changed: dict[str, Any], reason: str
) -> None:
    claims = {name: value for name, value in (CLAIMS | changed).items() if value is not None}
    assert refusal(jwt.encode(claims, rsa_key, "RS256", {"kid": "r"}), keys) == reason


def test_several_audiences_are_good_when_this_client_is_the_party(
    keys: dict[str, Any], rsa_key: rsa.RSAPrivateKey
) -> None:
    claims = CLAIMS | {"aud": [CLIENT, "another"], "azp": CLIENT}
    assert read(jwt.encode(claims, rsa_key, "RS256", {"kid": "r"}), keys)["sub"] == "eve"


def test_a_token_that_the_provider_did_not_sign_is_refused(keys: dict[str, Any], rsa_key: rsa.RSAPrivateKey) -> None:
    other = rsa.generate_private_key(65537, 2048)
    signed = jwt.encode(CLAIMS, rsa_key, "RS256", {"kid": "r"})
    forged = (
        jwt.encode(CLAIMS, other, "RS256", {"kid": "r"}),
        jwt.encode(CLAIMS, other, "RS256", {"kid": "unknown"}),
        jwt.encode(CLAIMS, None, "none", {"kid": "r"}),
        jwt.encode(CLAIMS, "the panel's client secret, of 32 bytes", "HS256", {"kid": "r"}),
        jwt.encode(CLAIMS, rsa_key, "RS256"),  # which of two keys?
        signed[:-8] + "AAAAAAAA",
        signed.rpartition(".")[0] + ".",
        "no.token.here",
        "",
        None,
        "x" * 200_000,
    )
    assert {refusal(token, keys) for token in forged} == {"id-token"}
    assert refusal(signed, {"keys": []}) == "id-token"
    assert refusal(signed, {}) == "id-token"
    assert refusal(signed, {"keys": ["r", 7, None]}) == "id-token"


def test_no_nonce_is_not_one(keys: dict[str, Any], rsa_key: rsa.RSAPrivateKey) -> None:
    token = jwt.encode(CLAIMS | {"nonce": ""}, rsa_key, "RS256", {"kid": "r"})
    assert refusal(token, keys, nonce="") == "nonce"


def test_userinfo_is_of_the_same_person_and_changes_nothing_that_was_signed() -> None:
    both = with_userinfo({"sub": "eve", "email": "signed@people.test"}, {"sub": "eve", "email": "x", "groups": ["a"]})
    assert both == {"sub": "eve", "email": "signed@people.test", "groups": ["a"]}
    for other in ({"sub": "mallory"}, {}, "text", None):
        with pytest.raises(SignInRefused):
            with_userinfo({"sub": "eve"}, other)
