"""Tests of the secrets and algorithms of TSIG keys."""

import base64

import pytest

from dnspanel.accounts.errors import TokenRefused
from dnspanel.accounts.tokens import tsig_secrets


@pytest.mark.parametrize("text", ["hmac-sha256", "HMAC-SHA256.", "hmac-md5.sig-alg.reg.int."])
def test_algorithms_are_known_by_all_their_names(text: str) -> None:
    assert tsig_secrets.algorithm_of(text) in {"hmac-sha256", "hmac-md5"}


@pytest.mark.parametrize("text", ["", ".", "hmac-sha256..", "gss-tsig", "hmac-ſha1"])
def test_other_algorithms_are_refused(text: str) -> None:
    with pytest.raises(TokenRefused):
        tsig_secrets.algorithm_of(text)


@pytest.mark.parametrize("text", ["", "%%", "==", "Zm9", "Zm9v\n", "ü"])
def test_a_secret_must_be_base64_of_something(text: str) -> None:
    with pytest.raises(TokenRefused):
        tsig_secrets.refuse_bad_secret(text)


def test_a_secret_has_128_bits_at_least() -> None:
    for size in (1, 15):
        with pytest.raises(tsig_secrets.TooShort, match=f"{8 * size} bits"):
            tsig_secrets.refuse_bad_secret(base64.b64encode(bytes(size)).decode())
    tsig_secrets.refuse_bad_secret(base64.b64encode(bytes(16)).decode())
