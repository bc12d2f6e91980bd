"""Tests of the gateway's certificate for secondaries: the panel's own or the operator's."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from dnspanel.fleet.nodes.authority import ensure_authority
from dnspanel.secondaries import server_certificate
from dnspanel.secondaries.errors import CertificateRefused
from dnspanel.secondaries.models import ServerCertificate
from dnspanel.secondaries.server_certificate import OWN_NAME, ensure_own, server_identity, tls_endpoint
from tests.own_certificates import own_certificate
from tests.people import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def tls(settings: Any) -> None:
    settings.UPDATE_TLS_PORT = 8530
    settings.GATEWAY_ADDRESSES = ["192.0.2.1", "[2001:db8::1]:5340"]


def test_its_own_is_of_the_panels_authority_for_its_name() -> None:
    endpoint = tls_endpoint(now=NOW)
    assert endpoint is not None
    assert endpoint.addresses == (("192.0.2.1", 8530), ("2001:db8::1", 8530))
    assert endpoint.authority == ensure_authority(now=NOW).ca_pem
    (authority,), (leaf,) = (
        x509.load_pem_x509_certificates(pem.encode()) for pem in (endpoint.authority, server_identity(now=NOW).chain)
    )
    verifier = PolicyBuilder().store(Store([authority])).time(NOW).build_server_verifier(x509.DNSName(OWN_NAME))
    assert verifier.verify(leaf, [])
    assert endpoint.pin == server_certificate.pin_of(leaf)
    assert b"PRIVATE KEY" not in bytes(ServerCertificate.objects.get().key_encrypted)


def test_it_is_renewed_in_time_with_the_same_key() -> None:
    first, endpoint = ensure_own(now=NOW), tls_endpoint(now=NOW)
    assert ensure_own(now=NOW + timedelta(days=200)).pem == first.pem
    later = NOW + timedelta(days=300)
    assert ensure_own(now=later).pem != first.pem
    renewed = tls_endpoint(now=later)
    assert endpoint is not None
    assert renewed is not None
    assert renewed.pin == endpoint.pin, "who knows it by its key needs no new configuration"


def test_the_operators_is_shown_in_its_place(settings: Any, tmp_path: Path) -> None:
    theirs = own_certificate("xot.example.net")
    (tmp_path / "chain.pem").write_text(theirs.certificate)
    (tmp_path / "key.pem").write_text(theirs.key)
    settings.UPDATE_TLS_CERTIFICATE = str(tmp_path / "chain.pem")
    settings.UPDATE_TLS_KEY = str(tmp_path / "key.pem")
    settings.GATEWAY_TLS_ADDRESSES = ["192.0.2.7", "[2001:db8::7]:8530"]
    endpoint = tls_endpoint(now=NOW)
    assert endpoint is not None
    assert (endpoint.name, endpoint.authority) == ("xot.example.net", ""), (
        "the system of the secondary has to know who signed it"
    )
    assert endpoint.addresses == (("192.0.2.7", 853), ("2001:db8::7", 8530))
    assert server_identity(now=NOW).key.decode() == theirs.key
    (tmp_path / "key.pem").unlink()
    with pytest.raises(CertificateRefused):
        server_identity(now=NOW)
    (tmp_path / "chain.pem").write_text("nothing")
    assert tls_endpoint(now=NOW) is None


def test_without_a_port_there_is_nothing_to_say(settings: Any) -> None:
    settings.UPDATE_TLS_PORT = 0
    assert tls_endpoint(now=NOW) is None
    assert not ServerCertificate.objects.exists()
