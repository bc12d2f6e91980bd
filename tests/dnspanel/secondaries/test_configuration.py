"""Tests of the configuration examples, which named, knotd and nsd check. tests/flow/test_secondaries.py uses them."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dnspanel.secondaries.configuration import NO_SECRET, Part, parts_for
from dnspanel.secondaries.models import Kind, Secondary, Transport
from dnspanel.secondaries.server_certificate import TlsEndpoint

TLS = TlsEndpoint((("192.0.2.1", 8530), ("2001:db8::1", 853)), "gateway.dnspanel", "cGlu", "-----BEGIN")
GATEWAYS = ["192.0.2.1", "[2001:db8::1]:5340"]
SECRET = "c2l4dGVlbiBieXRlcyBub3c="


def parts(kind: str, transport: str = Transport.ANY, **options: object) -> list[Part]:
    secondary = Secondary(
        pk=3,
        kind=kind,
        transport=transport,
        tsig_name="partner-0a1b2c.secondaries.dnspanel.",
        tsig_algorithm="hmac-sha256",
    )
    return parts_for(secondary, gateways=GATEWAYS, **options)  # type: ignore[arg-type]


def for_named(directory: Path, made: list[Part]) -> list[str]:
    path = directory / "named.conf"
    *_, options, rest = made
    path.write_text(f"options {{\n{options.text}}};\n{rest.text}".replace("/var/cache/bind", str(directory)))
    return ["named-checkconf", str(path)]


def for_knot(directory: Path, made: list[Part]) -> list[str]:
    path = directory / "knot.conf"
    path.write_text(made[0].text)
    return ["knotc", "-c", str(path), "conf-check"]


def for_nsd(directory: Path, made: list[Part]) -> list[str]:
    path = directory / "nsd.conf"
    path.write_text(made[-1].text)  # Debian's version is older
    return ["nsd-checkconf", str(path)]


@pytest.mark.parametrize(("kind", "command"), [("bind", for_named), ("knot", for_knot), ("nsd", for_nsd)])
def test_the_program_takes_it(kind: str, command: Callable[[Path, list[Part]], list[str]], tmp_path: Path) -> None:
    made = parts(kind, secret=SECRET, zones=["example.test.", "two.test."])
    done = subprocess.run(command(tmp_path, made), capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("transport", [Transport.TLS, Transport.CERTIFICATE])
@pytest.mark.parametrize("authority", ["-----BEGIN", ""], ids=["own authority", "public authority"])
@pytest.mark.parametrize(("kind", "command"), [("bind", for_named), ("nsd", for_nsd)])
def test_the_program_takes_it_over_tls(
    kind: str, command: Callable[[Path, list[Part]], list[str]], authority: str, transport: str, tmp_path: Path
) -> None:
    made = parts(kind, transport, secret=SECRET, zones=["example.test."], tls=replace(TLS, authority=authority))
    done = subprocess.run(command(tmp_path, made), capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_over_tls_it_names_our_name_or_pin_and_its_own_certificate_where_that_is_needed() -> None:
    for kind, known_by in (("bind", "gateway.dnspanel"), ("nsd", "gateway.dnspanel"), ("knot", "cert-key: cGlu")):
        for transport, shows in ((Transport.TLS, False), (Transport.CERTIFICATE, True)):
            made = parts(kind, transport, tls=TLS)
            text = "".join(part.text for part in made)
            assert known_by in text
            assert "8530" in text
            assert "5340" not in text, "over TCP it would get nothing"
            assert ("dnspanel-client.pem" in text) == shows
            assert (made[0].text == TLS.authority) == (kind != "knot"), "Knot knows us by our key"
    assert "pin cGlu" in parts("other", Transport.TLS, tls=TLS)[-1].text
    for kind in Kind.values:
        assert parts(kind, tls=TLS) == parts(kind), "one that may use TCP is told of that"


def test_powerdns_gives_its_members_the_key_by_a_timer() -> None:
    *_, timer = parts("powerdns")
    assert "AXFR-MASTER-TSIG partner-0a1b2c.secondaries.dnspanel" in timer.text
    assert subprocess.run(["sh", "-n", "-c", timer.text], check=False, timeout=20).returncode == 0


@pytest.mark.parametrize("kind", Kind.values)
def test_each_names_the_key_the_addresses_and_the_catalog(kind: str) -> None:
    text = "".join(part.text for part in parts(kind))
    for word in (
        "partner-0a1b2c.secondaries.dnspanel",
        NO_SECRET,
        "192.0.2.1",
        "2001:db8::1",
        "catalog-3.secondaries.",
    ):
        assert word in text
