"""nginx takes each of its configurations, that of `demo.proxy` too, and each keeps slow clients from the panel."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dnspanel.demo import proxy
from tests.docs.documents import ROOT

NGINX = ROOT / "deploy" / "nginx"
PLACES = {"/etc/nginx/dnspanel": str(NGINX), "/srv/dnspanel": str(ROOT)}


def stack_conf(directory: Path) -> str:
    proxy.write_configuration(directory / "proxy", port=8000, web_socket=directory / "web.sock")
    return (directory / "proxy" / "nginx.conf").read_text()


def container_conf(directory: Path) -> str:
    return (NGINX / "container.conf").read_text().replace("/run/dnspanel", str(directory))


def site_conf(directory: Path) -> str:
    key, certificate = directory / "privkey.pem", directory / "fullchain.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    names = ["-subj", "/CN=dns.example.net", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make, *names], check=True, capture_output=True)
    site = (NGINX / "site.conf").read_text().replace("/etc/ssl/dnspanel", str(directory))
    paths = f"pid {directory}/nginx.pid; error_log stderr;"
    temporary = " ".join(
        f"{kind}_temp_path {directory}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "scgi", "uwsgi")
    )
    return f"{paths} events {{}} http {{ access_log off; {temporary} {site} }}"


@pytest.mark.parametrize("conf", [stack_conf, container_conf, site_conf])
def test_nginx_takes_the_configuration_and_waits_for_whole_requests(
    conf: Callable[[Path], str], tmp_path: Path
) -> None:
    # To test is to listen for a moment, which nobody but root may at the first ports.
    text = re.sub(r"(listen \S*)\b(80|443)\b", r"\g<1>28\2", conf(tmp_path))
    for place, here in PLACES.items():
        text = text.replace(place, here)
    file = tmp_path / "nginx.conf"
    file.write_text(text)
    command = ["/usr/sbin/nginx", "-T", "-q", "-e", "stderr", "-c", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for line in ("proxy_request_buffering on;", "proxy_buffering on;", "client_header_timeout", "client_body_timeout"):
        assert line in done.stdout
