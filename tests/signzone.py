"""Zones signed by BIND's dnssec-signzone, and a zone with two NSEC3 chains, which BIND never makes."""

import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import dns.dnssec
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import dns.zone
from cryptography.hazmat.primitives.asymmetric import ec

from replication.codec.dnssec import Nsec3
from tests.dnspanel.transfer.running import needed

# An empty non-terminal, a wildcard, glue, delegations with and without DS.
LINES = (
    "www A 192.0.2.1",
    "www 60 TXT x",
    "*.wild MX 5 www",
    "deep.empty CNAME www",
    "far NS ns.far",
    "ns.far A 192.0.2.7",
    "near NS ns.far",
    f"near DS 1 13 2 {'ab' * 32}",
)
# Each kind of denial in a signed file, with the options of dnssec-signzone that create it.
DENIALS: dict[str, tuple[Nsec3 | None, tuple[str, ...]]] = {
    "nsec": (None, ()),
    "nsec3": (Nsec3(), ("-3", "-", "-H", "0")),
    "salted": (Nsec3(2, bytes.fromhex("abcd")), ("-3", "abcd", "-H", "2")),
    "optout": (Nsec3(opt_out=True), ("-3", "-", "-H", "0", "-A")),
}


def signed_text(zone: str, text: str, folder: Path, *options: str, end: datetime | None = None) -> str:
    """Return the zone file, signed with the folder's CSK (generated if missing). Signatures expire at `end`."""
    needed("dnssec-keygen", "dnssec-signzone")
    keys = folder / f"keys-{zone}"
    if not keys.exists():
        keys.mkdir()
        _run(["dnssec-keygen", "-q", "-K", keys, "-a", "13", "-f", "KSK", zone])
    source, signed = folder / f"{zone}text", folder / f"{zone}signed"
    source.write_text(text)
    times = ["-s", "20200101000000", "-e", f"{end:%Y%m%d%H%M%S}"] if end else []
    more = ["-P"] if end else []  # BIND refuses expired signatures without it
    where = ["-K", keys, "-d", folder]
    _run(["dnssec-signzone", "-q", "-S", "-z", *where, *times, *more, *options, "-o", zone, "-f", signed, source])
    return signed.read_text()


def _run(command: list[str | Path]) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def text_with_two_chains(zone: str, text: str, chains: tuple[Nsec3, Nsec3]) -> str:
    """Return the zone file, signed with two NSEC3 chains without opt-out, as during a change from one to the other."""
    origin = dns.name.from_text(zone)
    private = ec.generate_private_key(ec.SECP256R1())
    dnskey = dns.dnssec.make_dnskey(private.public_key(), dns.dnssec.Algorithm.ECDSAP256SHA256, flags=257)
    parsed = dns.zone.from_text(text, origin, relativize=False)
    parameters = [f"1 0 {each.iterations} {each.salt.hex() or '-'}" for each in chains]
    rrsets = [
        dns.rrset.from_rdata_list(name, rdataset.ttl, list(rdataset)) for name, rdataset in parsed.iterate_rdatasets()
    ]
    rrsets.append(dns.rrset.from_rdata(origin, 300, dnskey))
    rrsets.append(dns.rrset.from_text(origin, 0, "IN", "NSEC3PARAM", *parameters))
    types: dict[dns.name.Name, set[dns.rdatatype.RdataType]] = {}
    for rrset in rrsets:
        types.setdefault(rrset.name, set()).add(rrset.rdtype)
    cuts = [name for name, owned in types.items() if dns.rdatatype.NS in owned and name != origin]
    signed = {
        name: owned & {dns.rdatatype.NS, dns.rdatatype.DS} if name in cuts else owned
        for name, owned in types.items()
        if not any(name != cut and name.is_subdomain(cut) for cut in cuts)
    }
    chained = [link for each in chains for link in _links(origin, each, signed)]
    with_signatures = [
        rrset
        for rrset in rrsets
        if rrset.name in signed and (rrset.name not in cuts or rrset.rdtype == dns.rdatatype.DS)
    ]
    lines = [*map(str, rrsets), *map(str, chained)]
    for rrset in (*with_signatures, *chained):
        rrsig = dns.dnssec.sign(rrset, private, origin, dnskey, lifetime=30 * 86400)
        lines.append(f"{rrset.name} {rrset.ttl} IN RRSIG {rrsig}")
    return "\n".join(lines) + "\n"


def _links(
    origin: dns.name.Name, nsec3: Nsec3, signed: dict[dns.name.Name, set[dns.rdatatype.RdataType]]
) -> Iterator[dns.rrset.RRset]:
    """Yield the NSEC3 records for these names and for the empty non-terminals above them."""
    empty = {above for name in signed for above in _names_above(name, origin)} - signed.keys()
    listed = dict.fromkeys(empty, "")
    for name, owned in signed.items():
        is_insecure = name != origin and owned == {dns.rdatatype.NS}
        all_types = sorted(owned if is_insecure else {*owned, dns.rdatatype.RRSIG})
        listed[name] = " ".join(map(dns.rdatatype.to_text, all_types))
    salt = nsec3.salt.hex()
    hashes = sorted((dns.dnssec.nsec3_hash(name, salt, nsec3.iterations, 1), name) for name in listed)
    for index, (hashed, name) in enumerate(hashes, 1):
        after = hashes[index % len(hashes)][0]
        rdata = f"1 0 {nsec3.iterations} {salt or '-'} {after} {listed[name]}"
        yield dns.rrset.from_text(dns.name.from_text(hashed, origin), 300, "IN", "NSEC3", rdata)


def _names_above(name: dns.name.Name, origin: dns.name.Name) -> Iterator[dns.name.Name]:
    while name != origin:
        name = name.parent()
        yield name
