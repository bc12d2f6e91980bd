"""Tests of pasted certificates of secondaries: accepted ones, refused ones, and the reasons."""

import hashlib

import pytest

from dnspanel.pasted_certificates import fingerprints_of
from dnspanel.secondaries import server_certificates
from dnspanel.secondaries.errors import CertificateRefused
from dnspanel.secondaries.server_certificates import canonical_certificates
from tests.own_certificates import own_certificate


def test_one_or_two_are_taken_whatever_stands_around_them() -> None:
    one, two = own_certificate(), own_certificate(rsa_bits=2048)
    text = f"subject=CN = x\r\n{one.certificate}\n\n  # the next one\n{two.certificate}"
    found = canonical_certificates(text)
    assert found == one.certificate + two.certificate
    assert fingerprints_of(found) == {hashlib.sha256(each.der).hexdigest() for each in (one, two)}
    assert (canonical_certificates(" \n"), fingerprints_of("")) == ("", frozenset())


def refusal_of(text: str) -> str:
    with pytest.raises(CertificateRefused) as caught:
        canonical_certificates(text)
    return str(caught.value)


def test_what_cannot_be_used_is_refused_with_the_reason() -> None:
    one = own_certificate()
    assert "private key must stay" in refusal_of(one.certificate + one.key)
    assert "certificate in PEM" in refusal_of("hello")
    assert "certificate in PEM" in refusal_of(one.certificate.replace("MII", "MIJ", 1))
    assert "at most 2" in refusal_of(one.certificate * 3)
    assert "2048 bits" in refusal_of(own_certificate(rsa_bits=1024).certificate)
    assert "at most 16,000" in refusal_of(one.certificate + "x" * server_certificates.LONGEST)
