"""A front whose dnsdist answers over QUIC (DoQ and DoH3), in addition to all other protocols.

Debian builds dnsdist without QUIC, but its makers' own packages have it. QUIC_DNSDIST names a program to test with.
"""

import base64
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dns.message
import dns.opcode
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from replication.front.release import DOH3, DOQ, parse_release
from tests.oracle.powerdns import Unavailable, program_of_suite
from tests.ports import free_port
from tests.replication.agent.servers import PDNS_SERVER, short_directory
from tests.replication.front.enrolled import ZONE, Site, enrolled_site
from tests.replication.front.servers import until
from tests.replication.panel import Panel, records

WWW, MANY = f"www.{ZONE}", f"many.{ZONE}"
# Larger than any UDP packet.
TEXTS = [f'"{number:03}{"x" * 240}"' for number in range(60)]

if PDNS_SERVER is None:
    pytest.skip("pdns_server is not installed", allow_module_level=True)


@dataclass
class Client:
    """Programs by other authors that query a front over each encrypted protocol."""

    kdig: Path
    curl: Path
    directory: Path
    ports: dict[str, int]  # by protocol: "tls", "https", "quic", "http3"

    def answers(self, name: str, qtype: str = "A") -> dict[str, list[str]]:
        """Return the answers over each protocol, as texts."""
        by_kdig = {way: self._by_kdig(way, name, qtype, "+short").splitlines() for way in ("tls", "https", "quic")}
        message = self._over_http3(dns.message.make_query(name, qtype))
        return by_kdig | {"http3": [data.to_text() for rrset in message.answer for data in rrset]}

    def keys(self) -> set[str]:
        """Return the digests of the certificate keys that the protocols present."""
        by_kdig = (self._by_kdig(way, WWW, "-d") for way in ("tls", "https", "quic"))
        chain = _output([*self._curl("http3"), "--http3-only", "-o", "/dev/null", "-w", "%{certs}"])
        return {text.partition("SHA-256 PIN: ")[2].split()[0] for text in by_kdig} | {key_digest(chain)}

    def refusals(self) -> tuple[str, str]:
        """Return the errors for a zone transfer over QUIC and for a NOTIFY over HTTP/3."""
        notify = dns.message.make_query(ZONE, "SOA")
        notify.set_opcode(dns.opcode.NOTIFY)
        transfer = self._by_kdig("quic", ZONE, "AXFR").partition("replied with error '")[2]
        return transfer.partition("'")[0], self._over_http3(notify).rcode().name

    def versions(self) -> tuple[str, str]:
        """Return the HTTP version of a client's first request, and of its second request, after the first answer has
        announced another version.
        """
        command = [*self._curl("https"), "--alt-svc", str(self.directory / "alt-svc"), "-w", "%{http_version}"]
        first, then = (_output([*command, "-o", str(self.directory / "answer")]) for _ in range(2))
        return first, then

    def _by_kdig(self, way: str, *words: str) -> str:
        return _output([str(self.kdig), f"+{way}", "@127.0.0.1", "-p", str(self.ports[way]), *words])

    def _over_http3(self, query: dns.message.Message) -> dns.message.Message:
        answer = self.directory / "answer"
        _output([*self._curl("http3", query), "--http3-only", "-o", str(answer)])
        return dns.message.from_wire(answer.read_bytes())

    def _curl(self, way: str, query: dns.message.Message | None = None) -> list[str]:
        path = self.directory / "query"
        path.write_bytes((query or dns.message.make_query(WWW, "A")).to_wire())
        header = "content-type: application/dns-message"
        url = f"https://127.0.0.1:{self.ports[way]}/dns-query"
        return [str(self.curl), "-sS", "--max-time", "10", "-k", "-H", header, "--data-binary", f"@{path}", url]


@pytest.fixture
def directory() -> Iterator[Path]:
    with short_directory() as path:
        yield path


def test_over_quic_a_front_answers_what_is_published_and_nothing_older(panel: Panel, directory: Path) -> None:
    try:
        program = dnsdist_with_quic(directory)
        kdig, curl = (program_of_suite("trixie", f"usr/bin/{name}", directory) for name in ("kdig", "curl"))
    except Unavailable as exc:
        pytest.skip(str(exc))
    ports = {"tls": free_port(), "https": free_port(), "quic": free_port(), "http3": free_port()}
    names = zip(("dot_port", "doh_port", "doq_port", "doh3_port"), ports.values(), strict=True)
    tls = ("tls_certificate = 'front.pem'", "tls_key = 'front.key'")
    lines = (f"dnsdist = '{program}'", *tls, *(f"{name} = {port}" for name, port in names))
    with enrolled_site(panel, directory, *lines) as site:
        client = Client(kdig, curl, directory, ports)
        until(lambda: site.report().bypassed_zones == 0, "the cache answers")
        assert client.answers(WWW) == {way: ["192.0.2.1"] for way in ports}
        for last in (2, 3, 4):
            publish(site, panel.change(ZONE, records(ZONE, "www", "A", 300, f"192.0.2.{last}")))
            assert client.answers(WWW) == {way: [f"192.0.2.{last}"] for way in ports}
        publish(site, panel.change(ZONE, records(ZONE, "many", "TXT", 300, *TEXTS)))
        until(lambda: site.report().bypassed_zones == 0, "the zone is in the cache again")
        for _ in range(3):  # from a node, and from the cache
            found = client.answers(MANY, "TXT")
            assert {way: sorted(texts) for way, texts in found.items()} == dict.fromkeys(ports, TEXTS)
        assert client.refusals() == ("NOTIMPL", "REFUSED"), "dnsdist itself transfers nothing over QUIC"
        assert client.versions() == ("2", "3")
        assert client.keys() == {key_digest((directory / "front.pem").read_text())}
        certificate, _ = site.authority.issue("localhost", "front")
        until(lambda: client.keys() == {key_digest(certificate.read_text())}, "the renewed one is shown")
        assert site.dnsdist.starts == 1
        site.set_up(queries_per_second=1)
        expected = {way: ["192.0.2.4"] for way in ports}
        until(lambda: site.dnsdist.starts == 2 and client.answers(WWW) == expected, "it starts anew for a limit")
        assert client.answers(WWW) == client.answers(WWW) == expected, "which is not for those whose address is known"


def key_digest(text: str) -> str:
    """Return the digest of the key in the first PEM certificate, in kdig's format."""
    pem = text[text.index("-----BEGIN") :].partition("-----END")[0] + "-----END CERTIFICATE-----\n"
    key = x509.load_pem_x509_certificate(pem.encode()).public_key()
    form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return base64.b64encode(hashlib.sha256(key.public_bytes(*form)).digest()).decode()


def dnsdist_with_quic(directory: Path) -> Path:
    """Return a dnsdist on this machine that supports QUIC. Raise Unavailable if there is none."""
    named = os.environ.get("QUIC_DNSDIST")
    for program in [named] if named else _programs(directory):
        if {DOQ, DOH3} <= parse_release(_output([str(program), "--version"])).features:
            return Path(program)
    raise Unavailable("no dnsdist of this machine was built with DNS over QUIC; QUIC_DNSDIST may name one")


def _programs(directory: Path) -> Iterator[Path | str]:
    if installed := shutil.which("dnsdist"):
        yield installed
    for suite in ("trixie", "sid"):
        yield program_of_suite(suite, "usr/bin/dnsdist", directory)


def publish(site: Site, sealed: bytes) -> None:
    """Push a change to all nodes, and wait until the front is in sync."""
    for node in site.nodes:
        node.client.push(sealed, len(sealed))
    until(lambda: site.push(sealed).applied is None, "the front is in sync")


def _output(command: list[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout
