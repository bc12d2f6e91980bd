"""Tests of pasted certificates and keys of destinations."""

import ssl

import pytest

from dnspanel.audit.forward.destination_tls import canonical_certificates, canonical_key, client_context
from tests.own_certificates import own_certificate

OURS, OTHER = own_certificate("panel.test"), own_certificate("other.test")


def test_certificates_are_kept_in_their_order_without_what_stands_around_them() -> None:
    both = OURS.certificate + OTHER.certificate
    assert canonical_certificates(f"# mine\n{OURS.certificate}\n\n{OTHER.certificate}\n") == both
    assert canonical_certificates(" \n") == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nonsense", "Enter a certificate"),
        (OURS.certificate + OURS.key, "Enter only the certificate"),
        (OURS.certificate * 11, "at most 10"),
    ],
    ids=["nonsense", "key", "many"],
)
def test_what_is_no_certificate_is_refused(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        canonical_certificates(text)


def test_a_key_is_that_of_the_first_certificate() -> None:
    key = canonical_key(f"\n{OURS.key}\n", OURS.certificate + OTHER.certificate)
    context = client_context(ca=OTHER.certificate, chain=OURS.certificate, key=key)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.check_hostname
    assert context.cert_store_stats()["x509"] == 1


@pytest.mark.parametrize(
    ("key", "told"),
    [("nonsense", "Enter a private key"), (OTHER.key, "match the certificate")],
    ids=["nonsense", "other"],
)
def test_what_is_not_its_key_is_refused(key: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        canonical_key(key, OURS.certificate)


def test_without_a_ca_the_systems_are_believed() -> None:
    assert client_context(ca="").cert_store_stats() == ssl.create_default_context().cert_store_stats()
