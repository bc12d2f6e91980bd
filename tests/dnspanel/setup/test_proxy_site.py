"""nginx's site, made from the example in deploy/nginx."""

from pathlib import Path

import pytest

from dnspanel.setup.proxy_site import write_site
from tests.docs.documents import ROOT

EXAMPLE = ROOT / "deploy" / "nginx"


@pytest.fixture
def nginx(tmp_path: Path) -> Path:
    for name in ("sites-available", "sites-enabled"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_the_site_has_nothing_of_the_example(nginx: Path) -> None:
    write_site("2001:db8::1", "", nginx=nginx, templates=EXAMPLE)
    site = (nginx / "sites-available/dnspanel").read_text()
    assert not [word for word in ("example", "/etc/ssl") if word in site.replace(str(EXAMPLE), "").partition("\n")[2]]
    assert "ssl_certificate /etc/dnspanel/tls/fullchain.pem;" in site
    assert "server_name [2001:db8::1];" in site


def test_a_site_is_written_once_and_an_operators_changes_stay(nginx: Path) -> None:
    site, link = nginx / "sites-available/dnspanel", nginx / "sites-enabled/dnspanel"
    assert write_site("dns.test", "dns.test", nginx=nginx, templates=EXAMPLE) == [f"{site}", f"{link}"]
    site.write_text("mine")
    link.unlink()
    assert write_site("dns.test", "dns.test", nginx=nginx, templates=EXAMPLE) == [f"{link}"]
    assert site.read_text() == "mine"


def test_another_host_replaces_the_former_one(nginx: Path) -> None:
    site = nginx / "sites-available/dnspanel"
    write_site("dns.test", "dns.test", nginx=nginx, templates=EXAMPLE)
    site.write_text(site.read_text() + "# of dns.test\n")
    assert write_site("new.test", "dns.test", nginx=nginx, templates=EXAMPLE) == [f"{site}"]
    text = site.read_text()
    assert text.count("server_name new.test;") == 2
    assert "return 301 https://new.test$request_uri;" in text
    assert text.count("dns.test") == 1
