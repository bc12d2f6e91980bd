"""The panel's certificate: self-signed or the operator's. tests/deploy/test_packages.py gets one with ACME."""

import ssl
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from dnspanel.setup.proxy_certificate import fingerprint_of, place_certificate
from dnspanel.setup.setup_answers import ACME, Answers


def names_of(certificate: Path) -> object:
    return ssl._ssl._test_decode_cert(str(certificate))["subjectAltName"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("host", "kind"), [("dns.test", "DNS"), ("192.0.2.1", "IP Address")])
def test_a_certificate_is_made_once_for_each_host(tmp_path: Path, host: str, kind: str) -> None:
    tls = tmp_path / "tls"
    certificate = tls / "fullchain.pem"
    answers = Answers(host)
    assert place_certificate(answers, tls) == [f"self-signed certificate {certificate}"]
    assert (tls / "privkey.pem").stat().st_mode & 0o077 == 0
    assert names_of(certificate) == ((kind, host),)
    command = ["openssl", "x509", "-in", str(certificate), "-noout", "-fingerprint", "-sha256"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert fingerprint_of(certificate) == said.strip().partition("=")[2]
    assert place_certificate(answers, tls) == place_certificate(replace(answers, certificate=ACME), tls) == []
    assert place_certificate(Answers("new.test"), tls) == [f"self-signed certificate {certificate}"]
    assert names_of(certificate) == (("DNS", "new.test"),)


def test_an_own_certificate_stays_when_the_host_changes(tmp_path: Path) -> None:
    tls, own = tmp_path / "tls", tmp_path / "own"
    place_certificate(Answers("own.test"), own)
    answers = Answers("dns.test", certificate=f"{own}/fullchain.pem", key=f"{own}/privkey.pem")
    assert place_certificate(answers, tls) == [
        f"{tls}/fullchain.pem is {own}/fullchain.pem",
        f"{tls}/privkey.pem is {own}/privkey.pem",
    ]
    assert place_certificate(answers, tls) == []
    assert fingerprint_of(tls / "fullchain.pem") == fingerprint_of(own / "fullchain.pem")
    (own / "fullchain.pem").unlink()
    assert place_certificate(Answers("dns.test"), tls) == [f"self-signed certificate {tls}/fullchain.pem"]
    assert not (tls / "privkey.pem").is_symlink()
    assert (own / "privkey.pem").exists()
