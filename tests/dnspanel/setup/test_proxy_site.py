"""nginx's site, made from the example in deploy/nginx, and the self-signed certificate."""

import ssl
import subprocess
from pathlib import Path

import pytest

from dnspanel.setup.proxy_site import fingerprint_of, render_site, write_site
from dnspanel.setup.setup_answers import Answers
from tests.docs.documents import ROOT

EXAMPLE = ROOT / "deploy" / "nginx"


def test_the_site_has_nothing_of_the_example(tmp_path: Path) -> None:
    example = (EXAMPLE / "site.conf").read_text()
    site = render_site(example, "dns.test", Path("/x.pem"), Path("/x.key"), Path("/usr/lib/dnspanel/nginx"))
    assert not [word for word in ("example", "/srv/", "/etc/ssl") if word in site.partition("\n")[2]]
    assert "ssl_certificate /x.pem;" in site
    assert "server_name [2001:db8::1];" in render_site(example, "2001:db8::1", tmp_path, tmp_path, tmp_path)


@pytest.mark.parametrize(("host", "kind"), [("dns.test", "DNS"), ("192.0.2.1", "IP Address")])
def test_a_site_is_written_once_and_an_operators_changes_stay(tmp_path: Path, host: str, kind: str) -> None:
    for name in ("sites-available", "sites-enabled"):
        (tmp_path / name).mkdir()
    tls = tmp_path / "tls"
    done = write_site(Answers(host), nginx=tmp_path, templates=EXAMPLE, tls=tls)
    site, certificate = tmp_path / "sites-available/dnspanel", tls / "fullchain.pem"
    assert done == [f"self-signed certificate {certificate}", f"{site}", f"{tmp_path}/sites-enabled/dnspanel"]
    assert (tls / "privkey.pem").stat().st_mode & 0o077 == 0
    decoded = ssl._ssl._test_decode_cert(str(certificate))  # type: ignore[attr-defined]
    assert decoded["subjectAltName"] == ((kind, host),)
    command = ["openssl", "x509", "-in", str(certificate), "-noout", "-fingerprint", "-sha256"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert fingerprint_of(certificate) == said.strip().partition("=")[2]
    site.write_text("mine")
    (tmp_path / "sites-enabled/dnspanel").unlink()
    assert write_site(Answers(host), nginx=tmp_path, templates=EXAMPLE, tls=tls) == [
        f"{tmp_path}/sites-enabled/dnspanel"
    ]
    assert site.read_text() == "mine"
