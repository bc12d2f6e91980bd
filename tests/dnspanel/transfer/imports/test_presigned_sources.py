"""Imports of presigned zones from real servers and databases. The import has all records that the source serves."""

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dns.query
import dns.rdatatype
import dns.xfr
import dns.zone
import pytest
from django.core.management import call_command

from dnspanel.zones.dnssec.queries import signing_of
from dnspanel.zones.models import RRset, Zone
from replication.codec.dnssec import Nsec3
from replication.dns import rdtypes
from tests.dnspanel.transfer.conftest import zone_text
from tests.dnspanel.transfer.running import PowerDNS, lmdb_powerdns, needed, run, sqlite_powerdns
from tests.dnspanel.transfer.sources.over_dns.test_axfr_in import named
from tests.ports import free_port
from tests.signzone import DENIALS, LINES, signed_text

pytestmark = pytest.mark.django_db(transaction=True)

MODES = {f"{denial}.test.": of_denial for denial, of_denial in DENIALS.items()}
PATIENCE = 30
_MADE = {dns.rdatatype.NSEC, dns.rdatatype.NSEC3, dns.rdatatype.NSEC3PARAM}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return zones that BIND's tools signed, one for each kind of denial of existence."""
    folder = tmp_path_factory.mktemp("signed")
    return {zone: signed_text(zone, zone_text(zone, *LINES), folder, *options) for zone, (_, options) in MODES.items()}


def transferred(port: int, zone: str) -> dns.zone.Zone:
    found = dns.zone.Zone(zone, relativize=False)
    dns.query.inbound_xfr("127.0.0.1", found, port=port, lifetime=10)
    return found


def wait_for(port: int, zone: str, arrived: Callable[[dns.zone.Zone], bool]) -> dns.zone.Zone:
    """Transfer the zone until `arrived` accepts it, and return it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if arrived(found := transferred(port, zone)):
                return found
        except (dns.xfr.TransferError, EOFError, OSError):
            pass
        assert time.monotonic() < deadline, zone
        time.sleep(0.1)


def content_of(zone: dns.zone.Zone) -> tuple[set[tuple[str, int, int]], set[str]]:
    """Return a zone's RRsets (owner, type, record count) without NSEC and RRSIG records, and its signature texts."""
    records, signatures = set(), set()
    for name, rdataset in zone.iterate_rdatasets():
        if rdataset.rdtype == dns.rdatatype.RRSIG:
            signatures |= {rdata.to_text(chunksize=0).split()[-1] for rdata in rdataset}
        elif rdataset.rdtype not in _MADE:
            records.add((name.to_text().lower(), int(rdataset.rdtype), len(rdataset)))
    return records, signatures


def imported(name: str) -> tuple[set[tuple[str, int, int]], set[str]]:
    """Return a stored zone's RRsets and signatures in the same form as `content_of`."""
    rows = RRset.objects.filter(zone__name=name, zone__deleted_at=None)
    signatures = {"".join(text.split()[8:]) for row in rows.filter(type=rdtypes.RRSIG) for text in row.rdata}
    return {(row.name, row.type, len(row.rdata)) for row in rows.exclude(type=rdtypes.RRSIG)}, signatures


def import_kept(*arguments: str, password: str = "") -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO(password + "\n"))
        call_command("import", *arguments, "--signatures", "keep", "--here", "--yes")


def assert_presigned(name: str, nsec3: Nsec3 | None, source: dns.zone.Zone) -> None:
    state = signing_of(Zone.objects.get(name=name, deleted_at=None))
    assert (state.presigned, state.denial) == (True, nsec3)
    assert imported(name) == content_of(source)
    assert len(imported(name)[1]) > 10


def test_a_bind_with_signed_zone_files(texts: dict[str, str], tmp_path: Path) -> None:
    with named(tmp_path, texts) as port:
        import_kept("--axfr", f"127.0.0.1:{port}", *(word for zone in texts for word in ("--zone", zone)))
        for zone, (nsec3, _) in MODES.items():
            assert_presigned(zone, nsec3, transferred(port, zone))


POLICIES = {"live.test.": None, "live3.test.": Nsec3()}


def test_a_bind_that_signs_by_itself(tmp_path: Path) -> None:
    policy = 'dnssec-policy "%s" { keys { csk lifetime unlimited algorithm 13; }; %s };\n'
    config = policy % ("nsec", "") + policy % ("nsec3", "nsec3param iterations 0 optout no salt-length 0;")
    (tmp_path / "policies.conf").write_text(config)
    own = {
        zone: f'dnssec-policy "{"nsec" if nsec3 is None else "nsec3"}"; inline-signing yes;'
        for zone, nsec3 in POLICIES.items()
    }
    with named(tmp_path, {zone: zone_text(zone, *LINES) for zone in POLICIES}, own, include="policies.conf") as port:
        for zone, nsec3 in POLICIES.items():

            def is_signed(found: dns.zone.Zone, zone: str = zone, nsec3: Nsec3 | None = nsec3) -> bool:
                return found.get_rdataset(zone, "NSEC" if nsec3 is None else "NSEC3PARAM") is not None

            source = wait_for(port, zone, is_signed)
            import_kept("--axfr", f"127.0.0.1:{port}", "--zone", zone)
            assert_presigned(zone, nsec3, source)


def test_a_powerdns_that_signs_by_itself(tmp_path: Path) -> None:
    server = sqlite_powerdns(tmp_path)
    for zone, (nsec3, _) in MODES.items():
        server.load_zone(zone, zone_text(zone, *LINES))
        server.pdnsutil("secure-zone", zone)
        if nsec3 is not None:
            parameters = f"1 {int(nsec3.opt_out)} {nsec3.iterations} {nsec3.salt.hex() or '-'}"
            server.pdnsutil("set-nsec3", zone, parameters)
        server.pdnsutil("rectify-zone", zone)
    with server.server() as port:
        import_kept("--axfr", f"127.0.0.1:{port}", *(word for zone in MODES for word in ("--zone", zone)))
        for zone, (nsec3, _) in MODES.items():
            state = signing_of(Zone.objects.get(name=zone, deleted_at=None))
            assert (state.presigned, state.denial) == (True, nsec3)
            records, _ = content_of(transferred(port, zone))
            assert imported(zone)[0] == records


@contextmanager
def secondary(server: PowerDNS, directory: Path, texts: dict[str, str]) -> Iterator[dict[str, dns.zone.Zone]]:
    """Let a PowerDNS transfer these zones from a BIND. Stop both, then yield the zones as PowerDNS served them."""
    found = {}
    with named(directory, texts) as primary:
        for zone in texts:
            server.pdnsutil("create-slave-zone", zone, f"127.0.0.1:{primary}")
        with server.server(secondary="yes", **{"xfr-cycle-interval": 1}) as port:
            for zone in texts:
                found[zone] = wait_for(port, zone, lambda zone: len(zone.nodes) > 5)
    yield found


@pytest.mark.parametrize("backend", ["sqlite", "lmdb", "api"])
def test_the_database_of_a_powerdns_that_has_them_from_elsewhere(
    texts: dict[str, str], tmp_path: Path, backend: str
) -> None:
    database = tmp_path / "database"
    database.mkdir()
    server = lmdb_powerdns(database, 2) if backend == "lmdb" else sqlite_powerdns(database)
    with secondary(server, tmp_path, texts) as sources:
        if backend == "sqlite":
            import_kept("--powerdns-sql", f"sqlite:///{database}/pdns.sqlite")
        elif backend == "api":
            api = {"webserver": "yes", "api": "yes", "api-key": "k", "webserver-port": (port := free_port())}
            with server.server(**api):
                import_kept("--powerdns-api", f"http://127.0.0.1:{port}", password="k")
        else:
            files = map(str, sorted(path for path in database.glob("pdns.lmdb*") if not path.name.endswith("-lock")))
            import_kept("--format", "powerdns-lmdb", *files)
        for zone, (nsec3, _) in MODES.items():
            assert_presigned(zone, nsec3, sources[zone])


KNOT = """\
database:
    storage: "{folder}/keys"
policy:
  - id: p
    single-type-signing: on
    algorithm: ecdsap256sha256
    nsec3-salt-length: 0
    nsec3: {nsec3}
    nsec3-opt-out: {opt_out}
zone:
  - domain: "{zone}"
    storage: "{folder}"
    file: zone
    dnssec-signing: on
    dnssec-policy: p
"""


@pytest.mark.parametrize("nsec3", [None, Nsec3(), Nsec3(opt_out=True)], ids=["nsec", "nsec3", "optout"])
def test_a_zone_file_that_knot_signed(tmp_path: Path, nsec3: Nsec3 | None) -> None:
    needed("kzonesign")
    zone, signed = "knot.test.", tmp_path / "signed"
    (tmp_path / "zone").write_text(zone_text(zone, *LINES))
    words = {"nsec3": "off" if nsec3 is None else "on", "opt_out": "on" if nsec3 and nsec3.opt_out else "off"}
    (tmp_path / "knot.conf").write_text(KNOT.format(folder=tmp_path, zone=zone, **words))
    signed.mkdir()
    (tmp_path / "keys").mkdir()
    run("kzonesign", "-c", tmp_path / "knot.conf", "-o", signed, zone)
    import_kept(str(signed / "zone"))
    assert_presigned(zone, nsec3, dns.zone.from_file(str(signed / "zone"), zone, relativize=False))
