"""Tests of a zone from a BIND that transfers over TLS alone. Impostors are refused and reported.

They also use a newer Debian's Knot DNS and NSD. Those of Debian 12 lack TLS or don't select `dot`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.fleet.nodes.authority import ensure_authority
from dnspanel.primaries import primary_tls, set_up_primaries
from dnspanel.primaries.errors import PrimariesRefused
from dnspanel.primaries.models import TransferredZone
from dnspanel.primaries.set_up_primaries import Terms
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Zone
from tests.dnspanel.primaries.conftest import KEY, TEXT, ZONE, Primary, awaited, records_here, row_of, take_turn
from tests.dnspanel.primaries.knot import running_knot
from tests.dnspanel.transfer.powerdns_estate import TSIG_SECRET
from tests.dnspanel.transfer.running import listening, run, running
from tests.dnspanel.transfer.sources.over_dns.test_axfr_in import named
from tests.foreign_servers import SUITE
from tests.oracle.powerdns import Unavailable, program_of_suite
from tests.own_certificates import OwnCertificate, own_certificate
from tests.people import NOW
from tests.ports import free_port
from tests.replication.agent.servers import short_directory
from tests.stack import until

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "ns1.abroad.test"
MakeServer = Callable[..., Any]


@pytest.fixture(scope="module")
def certificate() -> OwnCertificate:
    return own_certificate(NAME)


@pytest.fixture(scope="module")
def over_tls(certificate: OwnCertificate, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Primary, str]]:
    """Run a BIND that transfers its zone over TLS alone. Yield the server and its TLS address."""
    directory, port = tmp_path_factory.mktemp("over-tls"), free_port()
    with bind_over_tls(directory, certificate, port, ZONE) as clear:
        yield Primary(clear), f"127.0.0.1:{port}"


def bind_over_tls(directory: Path, certificate: OwnCertificate, port: int, zone: str, *, clients: str = "") -> Any:
    (directory / "own.pem").write_text(certificate.certificate)
    (directory / "own.key").write_text(certificate.key)
    asks = ""
    if clients:
        (directory / "clients.pem").write_text(clients)
        asks = f'ca-file "{directory}/clients.pem";'
    (directory / "tls.conf").write_text(
        f'tls own {{ cert-file "{directory}/own.pem"; key-file "{directory}/own.key"; {asks} }};'
    )
    options = {zone: f"allow-update {{ any; }}; allow-transfer port {port} transport tls {{ key transfer; }};"}
    listens = f"listen-on port {port} tls own {{ 127.0.0.1; }};"
    return named(directory, {zone: TEXT.replace(ZONE, zone)}, options, include="tls.conf", own_options=listens)


@pytest.fixture(autouse=True)
def loopback(settings: Any) -> None:
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]


def test_a_zone_and_what_changes_in_it_comes_over_tls_by_the_name_or_by_the_certificate(
    over_tls: tuple[Primary, str], certificate: OwnCertificate, alice: User
) -> None:
    primary, address = over_tls
    zone = awaited(address, alice, uses_tls=True, tls_names=[NAME], tls_certificates=certificate.certificate, **KEY)
    assert take_turn(zone) == "axfr"
    primary.update(("add", ("over", 60, "TXT", '"tls"')))
    assert take_turn(zone) == "ixfr"
    assert ("over.abroad.test.", 60, "TXT", '"tls"') in records_here(zone)
    pinned = Terms([address], uses_tls=True, tls_certificates=certificate.certificate, **KEY)
    set_up_primaries.set_primaries(zone=zone, terms=pinned, acting=Acting(alice, "api", NOW))
    assert set_up_primaries.comes_by(zone, replace(pinned, tsig_name="transfer."))
    assert not set_up_primaries.comes_by(zone, replace(pinned, tsig_name="transfer.", tls_names=[NAME]))
    assert take_turn(zone) == "axfr"
    assert take_turn(zone) == ""
    entry = AuditEntry.objects.filter(action="primaries.set").latest("pk")
    assert "BEGIN CERTIFICATE" not in str(entry.details)
    assert entry.details["after"]["uses_tls"] is True


def other_name(certificate: OwnCertificate) -> dict[str, Any]:
    return {"tls_names": ["ns2.abroad.test"], "tls_certificates": certificate.certificate}


def other_authority(certificate: OwnCertificate) -> dict[str, Any]:
    return {"tls_names": [NAME], "tls_certificates": own_certificate(NAME).certificate}


def authority_of_the_system(certificate: OwnCertificate) -> dict[str, Any]:
    return {"tls_names": [NAME]}


def other_certificate(certificate: OwnCertificate) -> dict[str, Any]:
    return {"tls_certificates": own_certificate(NAME).certificate}


@pytest.mark.parametrize(
    ("terms_of", "reason"),
    [
        (other_name, "Hostname mismatch, certificate is not valid for 'ns2.abroad.test'"),
        (other_authority, "the server’s certificate isn’t trusted: self-signed certificate"),
        (authority_of_the_system, "the server’s certificate isn’t trusted: self-signed certificate"),
        (other_certificate, "the server’s certificate isn’t trusted: self-signed certificate"),
    ],
)
def test_a_server_that_is_not_the_one_named_gives_nothing_and_that_is_told(
    terms_of: Callable[[OwnCertificate], dict[str, Any]],
    reason: str,
    over_tls: tuple[Primary, str],
    certificate: OwnCertificate,
    alice: User,
) -> None:
    zone = awaited(over_tls[1], alice, uses_tls=True, **terms_of(certificate), **KEY)
    assert reason in take_turn(zone)
    take_turn(zone, after=timedelta(minutes=1))
    row = row_of(zone)
    assert (row.failures, row.serial, row.alert_at) == (2, None, NOW)
    assert reason in row.error


def test_where_tls_is_asked_for_nothing_comes_in_clear_text_whoever_would_give_it(
    over_tls: tuple[Primary, str], certificate: OwnCertificate, primary: Primary, alice: User
) -> None:
    """The first server answers in clear text instead of TLS. The second one has another name."""
    zone = awaited(primary.address, alice, uses_tls=True, tls_names=[NAME], **KEY)
    terms = Terms(
        [primary.address, over_tls[1]],
        uses_tls=True,
        tls_names=["ns2.abroad.test"],
        tls_certificates=certificate.certificate,
        **KEY,
    )
    set_up_primaries.set_primaries(zone=zone, terms=terms, acting=Acting(alice, "api", NOW))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dnspanel.transfer.sources.over_dns.dns_over_tls.HANDSHAKE_SECONDS", 0.3)
        reason = take_turn(zone)
    assert "TLS connection to 127.0.0.1" in reason
    assert "Hostname mismatch" in reason
    zone.refresh_from_db()
    assert not zone.is_served
    assert row_of(zone).failures == 1


def test_a_primary_that_wants_to_know_who_asks_is_shown_the_panels_certificate(
    certificate: OwnCertificate, alice: User, tmp_path: Path
) -> None:
    port, authority = free_port(), ensure_authority(now=NOW)
    by_name = {"uses_tls": True, "tls_names": [NAME], "tls_certificates": certificate.certificate, **KEY}
    with bind_over_tls(tmp_path, certificate, port, ZONE, clients=authority.ca_pem):
        zone = awaited(f"127.0.0.1:{port}", alice, **by_name)
        assert "The server might require a client certificate from the panel." in take_turn(zone)
        assert primary_tls.own_authority(row_of(zone), now=NOW) == ""
        terms = Terms([f"127.0.0.1:{port}"], shows_certificate=True, **by_name)
        set_up_primaries.set_primaries(zone=zone, terms=terms, acting=Acting(alice, "api", NOW))
        assert take_turn(zone) == "axfr"
    assert primary_tls.own_authority(row_of(zone), now=NOW) == authority.ca_pem


@contextmanager
def knot_over_tls(directory: Path, port: int) -> Iterator[Callable[[], None]]:
    """Run Knot with TLS. Yield a function that adds a record to the zone."""
    server = (
        f"    listen: 127.0.0.1@{free_port()}\n    listen-tls: 127.0.0.1@{port}\n"
        f"    cert-file: {directory}/own.pem\n    key-file: {directory}/own.key\n"
    )
    acl = (
        f"key:\n  - id: transfer\n    algorithm: hmac-sha256\n    secret: {TSIG_SECRET}\n"
        "acl:\n  - id: panel\n    key: transfer\n    action: transfer\n    protocol: tls\n"
    )
    programs = [program_of_suite(SUITE, f"usr/sbin/{name}", directory) for name in ("knotd", "knotc")]
    with running_knot(directory, port, server=server, acl=acl, programs=programs) as knot:
        yield lambda: knot.add("over", "60", "TXT", '"tls"')


@contextmanager
def nsd_over_tls(directory: Path, port: int) -> Iterator[Callable[[], None]]:
    """Run NSD with TLS. Yield a function that adds a record to the zone."""
    server, control = (program_of_suite(SUITE, f"usr/sbin/{name}", directory) for name in ("nsd", "nsd-control"))
    conf = directory / "nsd.conf"
    (directory / "zone").write_text(TEXT)
    conf.write_text(
        f'server:\n    ip-address: 127.0.0.1@{port}\n    tls-port: {port}\n    zonesdir: "{directory}"\n'
        f'    tls-service-pem: "{directory}/own.pem"\n    tls-service-key: "{directory}/own.key"\n'
        f'    username: ""\n    chroot: ""\n    pidfile: ""\n    xfrdfile: "{directory}/xfrd.state"\n'
        f'    xfrdir: "{directory}"\n    zonelistfile: "{directory}/zone.list"\n'
        f'remote-control:\n    control-enable: yes\n    control-interface: "{directory}/control"\n'
        f'key:\n    name: "transfer"\n    algorithm: hmac-sha256\n    secret: "{TSIG_SECRET}"\n'
        f'zone:\n    name: "{ZONE}"\n    zonefile: "zone"\n    provide-xfr: 127.0.0.1 transfer\n'
        "    store-ixfr: yes\n    create-ixfr: yes\n"
    )

    def add() -> None:
        text = (directory / "zone").read_text()
        (directory / "zone").write_text(text.replace(" 10 3600 ", " 11 3600 ") + 'over 60 TXT "tls"\n')
        run(control, "-c", conf, "reload", ZONE)

    with running([server, "-d", "-c", conf], directory / "log", listening(port)):
        yield add


@pytest.mark.parametrize("server", [knot_over_tls, nsd_over_tls])
def test_of_others_it_comes_over_tls_as_well_and_what_changes_as_a_difference(
    server: Callable[[Path, int], Any], certificate: OwnCertificate, alice: User
) -> None:
    with short_directory() as directory:
        (directory / "own.pem").write_text(certificate.certificate)
        (directory / "own.key").write_text(certificate.key)
        port = free_port()
        by_name = {"uses_tls": True, "tls_names": [NAME], "tls_certificates": certificate.certificate, **KEY}
        try:
            with server(directory, port) as add:
                zone = awaited(f"127.0.0.1:{port}", alice, **by_name)
                assert take_turn(zone) == "axfr"
                add()
                until(lambda: take_turn(zone) == "ixfr", seconds=10, what=lambda: row_of(zone).error)
                assert ("over.abroad.test.", 60, "TXT", '"tls"') in records_here(zone)
        except Unavailable as exc:
            pytest.skip(str(exc))


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        (Terms(["9.9.9.9"], uses_tls=True), "tls_names"),
        (Terms(["9.9.9.9"], uses_tls=True, tls_names=["a..b"]), "tls_names"),
        (Terms(["9.9.9.9"], uses_tls=True, tls_names=["a.test", "b.test"]), "tls_names"),
        (Terms(["9.9.9.9:53"], uses_tls=True, tls_names=["a.test"]), "addresses"),
        (Terms(["9.9.9.9:853"]), "addresses"),
        (Terms(["9.9.9.9"], uses_tls=True, tls_certificates="no PEM"), "tls_certificates"),
        (Terms(["9.9.9.9"], uses_tls=True, tls_certificates="x" * 64_001), "tls_certificates"),
        (Terms(["9.9.9.9"], tls_names=["a.test"]), "uses_tls"),
        (Terms(["9.9.9.9"], shows_certificate=True), "uses_tls"),
    ],
)
def test_what_cannot_be_said_of_tls_is_refused_at_its_field(
    terms: Terms, field: str, transferred: Zone, alice: User
) -> None:
    with pytest.raises(PrimariesRefused) as refused:
        set_up_primaries.set_primaries(zone=transferred, terms=terms, acting=Acting(alice, "api", NOW))
    assert list(refused.value.fields) == [field]


def test_a_name_is_that_of_its_address_and_the_port_is_853_unless_it_is_said(alice: User) -> None:
    zone = awaited("9.9.9.9", alice, uses_tls=True, tls_names=["Bücher.test"])
    terms = Terms(["9.9.9.9", "[2620:fe::fe]:8853"], uses_tls=True, tls_names=["one.test", "two.test"])
    row = set_up_primaries.set_primaries(zone=zone, terms=terms, acting=Acting(alice, "api", NOW))
    assert [primary_tls.place_of(row, address) for address in row.addresses] == [
        ("9.9.9.9", 853),
        ("2620:fe::fe", 8853),
    ]
    peers = [primary_tls.peer_for(row, number, now=NOW) for number in range(2)]
    assert [peer.name for peer in peers if peer] == ["one.test", "two.test"]
    TransferredZone.objects.filter(pk=row.pk).update(tls_names=["all.test"])
    peer = primary_tls.peer_for(row_of(zone), 1, now=NOW)
    assert peer is not None
    assert peer.name == "all.test"
