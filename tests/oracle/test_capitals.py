"""Names in rdata keep their capitals in answers, signed and unsigned, and in PowerDNS's tools.

RFC 4343 section 4.1: a server preserves letter case. A compressed name gets the case of the name that it points to, so
each RRset here has one name outside the zone and one that ends in the question's name.
"""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dns.query
import dns.zone
import pytest

from replication.compile import compile_zone
from replication.dns import names
from replication.dns.rdata import fold
from replication.dns.rdtypes import type_from_text
from replication.dns.rrset import RRset, make
from tests.oracle import lmdb_file
from tests.oracle.powerdns import Place, PowerDNS

pytestmark = pytest.mark.sample(1, by="installation", reason="releases of PowerDNS that are compared")

ZONE = "example.test."
SOA = "NS1.Other.test. Host\\.Master.Other.test. 1 10800 3600 604800 3600"
# All types with names that PowerDNS parses, with values as people write them.
VALUES = {
    ("@", "SOA"): [SOA],
    ("@", "NS"): ["NS1.Other.test."],
    ("@", "MX"): ["1 ASPMX.L.Provider.TEST."],
    ("_ipp._tcp", "PTR"): ["My\\032Printer._ipp._tcp.Example.Test."],
    ("_ipp", "SRV"): ["0 0 631 Host.Other.test."],
    ("cname", "CNAME"): ["WWW.Other.test."],
    ("dname", "DNAME"): ["DName.Other.test."],
    ("rp", "RP"): ["Ana.Other.test. Text.Other.test."],
    ("afsdb", "AFSDB"): ["1 AFS.Other.test."],
    ("kx", "KX"): ["1 KX.Other.test."],
    ("naptr", "NAPTR"): ['100 50 "s" "SIP+D2U" "" _SIP._UDP.Other.test.'],
    ("svcb", "SVCB"): ["1 Svc.Other.test. port=443"],
    ("https", "HTTPS"): ["1 Web.Other.test. alpn=h2"],
    ("lp", "LP"): ["10 L64.Other.test."],
    ("ipseckey", "IPSECKEY"): ["10 3 2 Gateway.Other.test. AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ=="],
}
# PowerDNS would sign their names in lowercase, which no other signer does (RFC 4034 6.2), so nodes store lowercase.
IN_LOWER_CASE = {"SVCB", "HTTPS", "LP", "IPSECKEY"}


def served_text(type: str, text: str) -> str:
    """Return the form of a value that nodes store."""
    return fold(type_from_text(type), text) if type in IN_LOWER_CASE else text


def rrsets() -> list[RRset]:
    found = [make(owner, type_from_text(type), 300, texts, origin=ZONE) for (owner, type), texts in VALUES.items()]
    return [*found, make("below.dname-target", 1, 300, ["192.0.2.1"], origin=ZONE)]


@dataclass(frozen=True)
class Served:
    place: Place
    port: int


@pytest.fixture(scope="module")
def served(installation: PowerDNS) -> Iterator[Served]:
    with installation.place("capitals") as place:
        lmdb_file.write(place.database, installation.schema, {ZONE: (1, compile_zone(ZONE, rrsets(), None))})
        place.pdnsutil("list-zone", ZONE)  # on first use, 5.x creates tables and prints a line
        with place.server() as port:
            yield Served(place, port)


def run(*command: str) -> str:
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    return done.stdout


def full(owner: str) -> str:
    return names.parse(owner, ZONE)


@pytest.mark.parametrize(("owner", "type"), VALUES)
def test_dig_answers_with_the_capitals_that_were_sent(served: Served, owner: str, type: str) -> None:
    answer = run("dig", "+short", "+norecurse", "-p", str(served.port), "@127.0.0.1", full(owner), type).strip()
    text = served_text(type, VALUES[owner, type][0])
    # Both names' common ending is compressed to the question's name.
    for ending in ("Example.Test.", ".TEST."):
        text = text.replace(ending, ending.lower())
    assert answer == text.replace("alpn=h2", 'alpn="h2"')


def test_pdnsutil_lists_them_so_and_finds_no_fault(served: Served) -> None:
    listed = served.place.pdnsutil("list-zone", ZONE)
    for (_, type), texts in VALUES.items():
        for text in texts:
            assert served_text(type, text).split()[-1].rstrip(".") in listed, listed
    assert "0 errors" in served.place.check_zone(ZONE)


def test_a_signed_zone_is_valid_with_them(installation: PowerDNS, tmp_path: Path) -> None:
    with installation.place("capitals-signed") as place:
        lmdb_file.write(place.database, installation.schema, {ZONE: (1, compile_zone(ZONE, rrsets(), None))})
        place.pdnsutil("secure-zone", ZONE.rstrip("."))
        place.pdnsutil("rectify-zone", ZONE.rstrip("."))
        with place.server(allow_axfr_ips="127.0.0.1", disable_axfr="no") as port:
            zone = dns.zone.from_xfr(dns.query.xfr("127.0.0.1", ZONE, port=port, relativize=False), relativize=False)
    path = tmp_path / "signed.zone"
    zone.to_file(str(path), relativize=False)
    assert "ASPMX.L.Provider." in path.read_text()
    run("dnssec-verify", "-z", "-o", ZONE, str(path))
