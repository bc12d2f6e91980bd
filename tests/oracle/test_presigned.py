"""Zones signed by BIND, parsed by the import, compiled by dnspanel and served by PowerDNS: validators accept them."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import dns.rdata
import dns.rdatatype
import pytest

from dnspanel.gateway.signed_transfers import with_chains
from dnspanel.transfer.documents import Document, Options, ParsedZone
from dnspanel.transfer.sources.over_dns.axfr_in import Server
from dnspanel.transfer.sources.over_dns.dns_wire import Record
from dnspanel.transfer.zone_changes import rrset_of
from dnspanel.transfer.zonefile.parse import read_zone
from dnspanel.zones.dnssec.other_keys import in_one_piece
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.rules.violations import Severity
from replication.codec.dnssec import MetadataObject, Nsec3
from replication.compile import compile_zone
from replication.dns import rdtypes
from replication.dns.signed_ttls import SignedTtls
from tests.oracle import lmdb_file
from tests.oracle.powerdns import PowerDNS
from tests.oracle.test_validators import COVERED, NEGATIVE, OF_WILDCARDS, VALIDATED, Served, delved, text_for
from tests.oracle.test_validators import QUESTIONS as ALL_QUESTIONS
from tests.signzone import signed_text, text_with_two_chains
from tests.unbound import unbound

pytestmark = pytest.mark.sample(1, by="installation", reason="releases of PowerDNS that are compared")

MODES: dict[str, tuple[Nsec3 | None, tuple[str, ...]]] = {
    "nsec.test.": (None, ()),
    "nsec3.test.": (Nsec3(), ("-3", "-", "-H", "0")),
    "salted.test.": (Nsec3(2, bytes.fromhex("abcd")), ("-3", "abcd", "-H", "2")),
    "optout.test.": (Nsec3(opt_out=True), ("-3", "-", "-H", "0", "-A")),
}

TWO = (Nsec3(), Nsec3(2, bytes.fromhex("abcd")))

# For one zone, because the other test's signed child does not exist here.
QUESTIONS = [each for each in ALL_QUESTIONS if each[0] not in ("lonely-ds", "below") and "alias" not in each[0]]


def text_of(zone: str) -> str:
    """Return the zone with all kinds of delegations, without DS records that have no NS, which BIND does not sign.

    With opt-out, leave out addresses and texts at insecure delegations, which PowerDNS would hash.
    """
    lines = text_for(zone).splitlines(keepends=True)
    if zone == "optout.test.":
        words = [line.split() for line in lines]
        secure = {owner for owner, _, _, type, *_ in words if type == "DS"}
        cuts = {owner for owner, _, _, type, *_ in words if type == "NS"} - {"@", zone} - secure
        lines = [line for line in lines if line.split()[0] not in cuts or line.split()[3] == "NS"]
    return "".join(line for line in lines if not line.startswith("lonely-ds"))


def read(zone: str, text: str) -> ParsedZone:
    parsed = read_zone(
        Document(zone, text.encode(), zone),
        options=Options(signatures="keep"),
        include=lambda path: None,
        allow_lua=False,
    )
    assert parsed.is_sound, parsed.faults
    return parsed


@pytest.fixture(scope="module")
def served(installation: PowerDNS, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    compiled, signing, dnskeys = {}, [], {}
    folder: Path = tmp_path_factory.mktemp("presigned")
    for zone_id, (zone, (nsec3, options)) in enumerate(MODES.items(), 1):
        parsed = read(zone, signed_text(zone, text_of(zone), folder, *options))
        assert parsed.signatures is not None
        assert parsed.signatures.nsec3 == nsec3
        compiled[zone] = (zone_id, compile_zone(zone, map(rrset_of, parsed.rrsets), nsec3))
        state = SigningState((), nsec3, presigned=True)
        signing += [MetadataObject(zone, kind, value) for kind, value in state.metadata.items()]
        [entry] = parsed.signatures.entries
        dnskeys[zone] = in_one_piece(entry)
    with installation.place("presigned") as place:
        lmdb_file.write(place.database, installation.schema, compiled, signing)
        with place.server(None) as port:
            yield Served(port, dnskeys)


@pytest.mark.parametrize("zone", MODES)
def test_every_answer_validates_from_the_trust_anchor(served: Served, zone: str, tmp_path: Path) -> None:
    found = {
        (label, kind): delved(served, zone, f"{label}.{zone}".lstrip("."), kind, served.dnskeys[zone], tmp_path)
        for label, kind, _ in QUESTIONS
    }
    expected = {(label, kind): [VALIDATED if exists else NEGATIVE] for label, kind, exists in QUESTIONS}
    if zone == "optout.test.":
        expected |= {key: OF_WILDCARDS[key[0]] for key in expected if key[0] in OF_WILDCARDS}
    assert found == expected


def test_a_resolver_that_validates_finds_everything_secure(served: Served) -> None:
    anchors = [f"{zone} DNSKEY {dnskey}" for zone, dnskey in served.dnskeys.items()]
    with unbound({zone: [served.port] for zone in MODES}, anchors) as resolver:
        for zone in MODES:
            found = {(label, kind): resolver.ask(f"{label}.{zone}".lstrip("."), kind) for label, kind, _ in QUESTIONS}
            insecure = OF_WILDCARDS.keys() | COVERED if zone == "optout.test." else set()
            insecure = {label for label in insecure if "alias" not in label}
            assert {label for (label, _), reply in found.items() if not reply.is_secure} == insecure
            assert {reply.rcode for reply in found.values()} <= {"NOERROR", "NXDOMAIN"}
        assert resolver.bogus == []


REFUSED = {
    "glued.test.": (
        Nsec3(opt_out=True),
        ("-3", "-", "-H", "0", "-A"),
        "ns.sub 60 NS ns.sub\nns.sub 60 A 192.0.2.1\n",
        "sub",
        "A",
    ),
    "capitals.test.": (None, (), "a 60 A 192.0.2.1\nZebra 60 A 192.0.2.1\n", "b", "A"),
}


@pytest.mark.parametrize("zone", REFUSED)
def test_what_the_import_refuses_would_not_validate(installation: PowerDNS, zone: str, tmp_path: Path) -> None:
    nsec3, options, lines, label, kind = REFUSED[zone]
    text = (
        f"$ORIGIN {zone}\n@ 60 SOA ns1.elsewhere.test. a.{zone} 1 10800 3600 604800 60\n@ 60 NS ns1.elsewhere.test.\n"
    )
    signed = signed_text(zone, text + lines, tmp_path, *options)
    parsed = read_zone(
        Document(zone, signed.encode(), zone),
        options=Options(signatures="keep"),
        include=lambda path: None,
        allow_lua=False,
    )
    assert [fault.code for fault in parsed.faults if fault.severity is Severity.ERROR] == ["signatures-chain"]
    assert parsed.signatures is not None
    [entry] = parsed.signatures.entries
    state = SigningState((), nsec3, presigned=True)
    with installation.place("refused") as place:
        compiled = {zone: (1, compile_zone(zone, map(rrset_of, parsed.rrsets), nsec3))}
        signing = [MetadataObject(zone, kind, value) for kind, value in state.metadata.items()]
        lmdb_file.write(place.database, installation.schema, compiled, signing)
        with place.server(None) as port, unbound({zone: [port]}, [f"{zone} DNSKEY {in_one_piece(entry)}"]) as resolver:
            assert resolver.ask(zone, "SOA").is_secure
            assert resolver.ask(f"{label}.{zone}", kind).rcode == "SERVFAIL"
            assert resolver.bogus != []


@pytest.mark.parametrize("zone", MODES)
def test_while_the_denial_is_paused_no_answer_is_bogus(installation: PowerDNS, zone: str, tmp_path: Path) -> None:
    """Existing names are secure. Queries that need a denial get SERVFAIL, and resolvers then ask another server."""
    nsec3, options = MODES[zone]
    parsed = read(zone, signed_text(zone, text_of(zone), tmp_path, *options))
    assert parsed.signatures is not None
    state = SigningState((), nsec3, presigned=True, paused=True)
    with installation.place("paused") as place:
        compiled = {zone: (1, compile_zone(zone, map(rrset_of, parsed.rrsets), nsec3))}
        signing = [MetadataObject(zone, kind, value) for kind, value in state.metadata.items()]
        lmdb_file.write(place.database, installation.schema, compiled, signing)
        anchor = f"{zone} DNSKEY {in_one_piece(parsed.signatures.entries[0])}"
        with place.server(None) as port, unbound({zone: [port]}, [anchor]) as resolver:
            for name, kind in ((zone, "SOA"), (zone, "DNSKEY"), (f"ns1.{zone}", "A")):
                assert resolver.ask(name, kind).is_secure, (name, kind)
            for label in ("nothing", "ns1.nothing"):
                reply = resolver.ask(f"{label}.{zone}", "A")
                assert (reply.rcode, reply.is_secure) == ("SERVFAIL", False)
            assert resolver.bogus == []


def signed_by_ldns(zone: str, text: str, folder: Path) -> str:
    """Sign the zone file with ldns and NSEC3. The NSEC3PARAM has the TTL of the SOA minimum."""
    path, before = folder / "ldns.zone", set(folder.glob("K*.private"))
    path.write_text(text)
    run("ldns-keygen", "-a", "ECDSAP256SHA256", "-k", zone, cwd=folder)
    [key] = set(folder.glob("K*.private")) - before
    run("ldns-signzone", "-n", "-f", str(folder / "ldns.signed"), str(path), str(key.with_suffix("")), cwd=folder)
    return (folder / "ldns.signed").read_text()


def signed_by_knot(zone: str, text: str, folder: Path) -> str:
    """Sign the zone file with Knot DNS and NSEC3."""
    (folder / "knot").mkdir()
    (folder / "knot" / f"{zone}zone").write_text(text)
    conf = folder / "knot.conf"
    conf.write_text(
        f"database:\n  storage: {folder}/knot\npolicy:\n  - id: one\n    nsec3: on\n    single-type-signing: on\n"
        f"zone:\n  - domain: {zone}\n    storage: {folder}/knot\n    file: {zone}zone\n    dnssec-signing: on\n"
        f"    dnssec-policy: one\n"
    )
    run("kzonesign", "-c", str(conf), "-o", str(folder / "knot"), zone, cwd=folder)
    return (folder / "knot" / f"{zone}zone").read_text()


def run(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("signer", ["bind nsec", "bind nsec3", "ldns", "knot", "two chains"])
def test_what_ring_0_transfers_is_a_signed_zone_with_the_ttls_of_its_signer(
    installation: PowerDNS, signer: str, tmp_path: Path
) -> None:
    """PowerDNS gives NSEC3PARAM and chain the SOA minimum. Previously an owner's signatures all had one TTL."""
    zone = "ttls.test."
    text = f"""$ORIGIN {zone}
$TTL 3600
@ 7200 SOA ns1 hostmaster 4711 10800 3600 604800 300
@ 86400 NS ns1
@ 60 TXT "short"
ns1 A 192.0.2.53
www 30 A 192.0.2.1
www 4000 TXT "long"
near NS ns.other.test.
"""
    text = text if signer.startswith(("bind", "two")) else text.replace("@", zone)
    signers = {
        "bind nsec": lambda: signed_text(zone, text, tmp_path),
        "bind nsec3": lambda: signed_text(zone, text, tmp_path, "-3", "-", "-H", "0"),
        "ldns": lambda: signed_by_ldns(zone, text, tmp_path),
        "knot": lambda: signed_by_knot(zone, text, tmp_path),
        "two chains": lambda: text_with_two_chains(zone, text, TWO),
    }
    parsed = read(zone, signers[signer]())
    assert parsed.signatures is not None
    nsec3 = parsed.signatures.nsec3
    compiled = {zone: (1, compile_zone(zone, map(rrset_of, parsed.rrsets), nsec3))}
    state = SigningState((), nsec3, presigned=True)
    signing = [MetadataObject(zone, kind, value) for kind, value in state.metadata.items()]
    ttls = SignedTtls((each.name, each.texts) for each in parsed.rrsets if each.type == rdtypes.RRSIG)
    with installation.place("ttls") as place:
        lmdb_file.write(place.database, installation.schema, compiled, signing)
        with place.server(None) as port:
            server = Server("127.0.0.1", port, None, 10, lambda host, port: [host])
            found = [record._replace(ttl=ttls.ttl_of(*record)) for record in server.all_of(zone)]
    if nsec3 is not None and parsed.signatures.other_nsec3:
        found = list(with_chains(iter(found), zone, (nsec3, *parsed.signatures.other_nsec3)))
    count = sum(record.type == rdtypes.NSEC3PARAM for record in found)
    assert count == {"bind nsec": 0, "two chains": 2}.get(signer, 1)
    exported = tmp_path / "transferred"
    exported.write_text("".join(f"{each.name} {each.ttl} IN {presented(each)}\n" for each in found))
    run("dnssec-verify", "-z", "-o", zone, str(exported), cwd=tmp_path)
    if signer == "two chains":  # ldns and Knot refuse the signer's output, too, because they support only one chain
        return
    run("ldns-verify-zone", str(exported), cwd=tmp_path)
    run("kzonecheck", "-o", zone, str(exported), cwd=tmp_path)


def presented(record: Record) -> str:
    """Return type and rdata in the presentation format."""
    content = dns.rdata.from_wire("IN", record.type, record.rdata, 0, len(record.rdata))
    return f"{dns.rdatatype.to_text(record.type)} {content.to_text()}"
