"""Tests of pasted certificates: accepted ones, with any text around them, and refused ones."""

import pytest

from dnspanel.pasted_certificates import NO_CERTIFICATE, certificates_in, pem_of
from tests.own_certificates import own_certificate

BESIDE_KEY = "Give the certificate alone."


def test_they_are_found_in_their_order_whatever_stands_around_them() -> None:
    one, two = own_certificate(), own_certificate()
    text = f"subject=CN = x\r\n{one.certificate}\n\n  # the next one\n{two.certificate}"
    assert pem_of(certificates_in(text, beside_key=BESIDE_KEY)) == one.certificate + two.certificate
    assert pem_of(certificates_in(" \n", beside_key=BESIDE_KEY)) == ""


@pytest.mark.parametrize("text", ["hello", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=NO_CERTIFICATE):
        certificates_in(text, beside_key=BESIDE_KEY)


def test_a_key_beside_it_is_refused_in_the_words_of_who_asks() -> None:
    one = own_certificate()
    with pytest.raises(ValueError, match=BESIDE_KEY):
        certificates_in(one.certificate + one.key, beside_key=BESIDE_KEY)
