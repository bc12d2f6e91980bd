"""Tests of chains of trust through real signed zones of a PowerDNS with its own root.

BIND's delv, with the same answers and anchors, must give the same verdicts.
"""

import base64
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dns.dnssec
import dns.message
import dns.name
import dns.query
import dns.rdata
import dns.rdatatype
import dns.rrset
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from dns.rdtypes.ANY.DNSKEY import DNSKEY

from dnspanel.fleet.dnssec import dns_exchange
from dnspanel.fleet.dnssec.denied_ds import MOST_RECORDS
from dnspanel.fleet.dnssec.resolver import Resolver
from dnspanel.fleet.dnssec.trust_chain import Chain, Verdict, follow_chain, read_anchors
from dnspanel.zones.dnssec import key_material
from tests.dnspanel.fleet.dnssec.nameservers import RESOLVER, Answers, nobody, serving
from tests.oracle import powerdns
from tests.ports import free_port
from tests.unbound import unbound

SOA = "@ 3600 IN SOA ns.test. hostmaster.test. 1 10800 3600 604800 900\n@ 3600 IN NS ns.test.\n"
# The delegating zones and their kind of denial: arguments of `pdnsutil set-nsec3`, or none for NSEC.
PARENTS: dict[str, tuple[str, ...]] = {
    "test.": (),
    "hashed.test.": ("1 0 0 -",),
    "salted.test.": ("1 0 2 abcd",),
    "optout.test.": ("1 1 0 -",),
    "narrow.test.": ("1 0 0 -", "narrow"),
}
SIGNED = ("good", "deep.ent", "below.alias")
PLAIN = ("plain", "far.open")
Change = Callable[[dns.message.Message], None]


@dataclass(frozen=True)
class Key:
    """The only key of a zone."""

    apex: dns.name.Name
    private: ec.EllipticCurvePrivateKey
    dnskey: DNSKEY

    def sign(self, rrset: dns.rrset.RRset) -> list[dns.rrset.RRset]:
        """Return the RRset and its signature, which has been valid for an hour.

        The validator may have read the clock a second before this call.
        """
        began = datetime.now(UTC) - timedelta(hours=1)
        signature = dns.dnssec.sign(
            rrset, self.private, self.apex, self.dnskey, inception=began, lifetime=7200, verify=True
        )
        return [rrset, dns.rrset.from_rdata(rrset.name, rrset.ttl, signature)]


@dataclass(frozen=True)
class World:
    """A PowerDNS with a private root, the root's DS, and the keys of the delegating zones."""

    port: int
    anchors: tuple[str, ...]
    keys: Mapping[str, Key]

    def ask(self, name: str, type: str) -> dns.message.Message:
        return dns.query.tcp(dns.message.make_query(name, type, want_dnssec=True), RESOLVER, 5, self.port)


def ds_of(place: powerdns.Place, zone: str) -> list[str]:
    """Return the zone's DS records with SHA-256 and SHA-384 digests."""
    lines = place.pdnsutil("export-zone-ds", zone.rstrip(".") or ".").splitlines()
    found = [line.split(" IN DS ")[1].partition(" ;")[0].strip() for line in lines if " IN DS " in line]
    return [text for text in found if text.split()[2] in ("2", "4")]


def sign_zone(place: powerdns.Place, zone: str) -> Key:
    """Sign the zone with a new key, and return the key."""
    pair = key_material.generate(13)
    (place.directory / "key").write_text(pair.private_text)
    place.pdnsutil("import-zone-key", zone.rstrip("."), place.seen(place.directory / "key"), "ksk")
    [number] = re.findall(r"^PrivateKey: (\S+)$", pair.private_text, re.MULTILINE)
    private = ec.derive_private_key(int.from_bytes(base64.b64decode(number), "big"), ec.SECP256R1())
    dnskey = dns.rdata.from_text("IN", "DNSKEY", key_material.dnskey_text(257, 13, pair.public))
    assert isinstance(dnskey, DNSKEY)
    return Key(dns.name.from_text(zone), private, dnskey)


def lines_of(place: powerdns.Place, parent: str) -> str:
    """Return the records of a zone with signed and unsigned delegations, below empty names and an alias."""
    lines = "plain 3600 IN NS ns.test.\nfar.open 3600 IN NS ns.test.\nalias 3600 IN CNAME ns.test.\n"
    lines += "*.wild 3600 IN A 192.0.2.1\n"
    of = {name: f"{name}.{parent}" for name in SIGNED}
    if parent == "test.":
        lines += "ns 3600 IN A 127.0.0.1\n"
        of |= {"other": "good.test."} | {zone.split(".", 1)[0]: zone for zone in PARENTS if zone != "test."}
    for name, zone in of.items():
        lines += f"{name} 3600 IN NS ns.test.\n"
        lines += "".join(f"{name} 3600 IN DS {text}\n" for text in ds_of(place, zone))
    return lines


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Create a signed root and zones below it, with every kind of denial and with signed and unsigned delegations.

    The zone other.test. has the DS of good.test.
    """
    try:
        installation = powerdns.native()
    except powerdns.Unavailable as exc:
        pytest.skip(str(exc))
    with installation.place("chain") as place:
        keys = {}
        place.load_zone("other.test.", SOA)
        place.pdnsutil("secure-zone", "other.test")
        for parent, nsec3 in reversed(PARENTS.items()):
            for name in (*SIGNED, *PLAIN, "lost"):
                zone = f"{name}.{parent}"
                place.load_zone(zone, SOA + ("below 3600 IN NS ns.test.\n" if name == "plain" else ""))
                if name in SIGNED:
                    place.pdnsutil("secure-zone", zone.rstrip("."))
            place.load_zone(f"below.plain.{parent}", SOA)
            place.load_zone(parent, SOA + lines_of(place, parent))
            keys[parent] = sign_zone(place, parent)
            if nsec3:
                place.pdnsutil("set-nsec3", parent.rstrip("."), *nsec3)
        root = SOA + "test. 3600 IN NS ns.test.\nns.test. 3600 IN A 127.0.0.1\n"
        place.load_zone(".", root + "".join(f"test. 3600 IN DS {text}\n" for text in ds_of(place, "test.")))
        place.pdnsutil("secure-zone", ".")
        anchors = tuple(ds_of(place, "."))
        place.pdnsutil("rectify-all-zones")
        with place.server() as port:
            yield World(port, anchors, keys)


def follow(world: World, zone: str, *, anchors: tuple[str, ...] | None = None, now: datetime | None = None) -> Chain:
    return follow_chain(
        zone,
        resolver=Resolver(((RESOLVER, world.port),)),
        anchors=world.anchors if anchors is None else anchors,
        now=now or datetime.now(UTC),
    )


def delved(world: World, zone: str, folder: Path, *, address: str = RESOLVER, port: int = 0) -> Verdict:
    """Return the verdict of BIND's validator with the same anchors."""
    anchors = [f'. static-ds {" ".join(text.split()[:3])} "{"".join(text.split()[3:])}";' for text in world.anchors]
    (folder / "anchors").write_text(f"trust-anchors {{ {' '.join(anchors)} }};\n")
    command = ["delv", f"@{address}", "-p", str(port or world.port), "-a", str(folder / "anchors"), "+root=."]
    done = subprocess.run([*command, zone, "SOA"], capture_output=True, text=True, timeout=60, check=False)
    told = done.stdout + done.stderr
    verdicts = {"fully validated": Verdict.SECURE, "unsigned answer": Verdict.INSECURE, "failed": Verdict.BOGUS}
    return next((verdict for text, verdict in verdicts.items() if text in told), Verdict.UNKNOWN)


@pytest.mark.parametrize("zone", ["good.test.", "deep.ent.test.", "test.", "."])
def test_a_zone_validates_from_the_root(world: World, zone: str) -> None:
    assert follow(world, zone) == Chain(Verdict.SECURE)


def test_a_ds_of_another_zone_is_bogus(world: World) -> None:
    assert follow(world, "other.test.") == Chain(Verdict.BOGUS, "the DS for other.test. doesn’t match any key")


@pytest.mark.parametrize("parent", PARENTS)
@pytest.mark.parametrize("name", SIGNED)
def test_the_way_leads_past_what_is_proven_to_be_no_delegation(
    world: World, name: str, parent: str, tmp_path: Path
) -> None:
    """The chain passes an empty name, an alias, and every kind of denial."""
    assert follow(world, f"{name}.{parent}") == Chain(Verdict.SECURE)
    assert delved(world, f"{name}.{parent}", tmp_path) is Verdict.SECURE


@pytest.mark.parametrize("parent", PARENTS)
@pytest.mark.parametrize("name", [*PLAIN, "below.plain"])
def test_a_delegation_that_is_proven_to_be_unsigned_ends_it(
    world: World, name: str, parent: str, tmp_path: Path
) -> None:
    zone = f"{name}.{parent}"
    cut = f"plain.{parent}" if name == "below.plain" else zone
    reason = f"{cut} doesn’t have a DS"
    if parent == "optout.test.":
        cut = f"open.{parent}" if name == "far.open" else cut  # the empty non-terminal has no NSEC3 either
        reason = f"{cut} doesn’t have a signed delegation, because optout.test. uses NSEC3 opt-out"
    assert follow(world, zone) == Chain(Verdict.INSECURE, reason)
    assert delved(world, zone, tmp_path) is Verdict.INSECURE


def test_the_proofs_of_a_resolver_with_a_cache_are_complete(world: World) -> None:
    """Unbound answers with cached proofs, and composes some of them itself (RFC 8198)."""
    zones = [".", *PARENTS, *(f"{name}.{parent}" for parent in PARENTS for name in (*SIGNED, *PLAIN))]
    with unbound({zone: [world.port] for zone in zones}, [f". DS {text}" for text in world.anchors]) as resolver:
        servers = Resolver(((RESOLVER, resolver.port),))
        for _ in range(2):
            found = {
                zone: follow_chain(zone, resolver=servers, anchors=world.anchors, now=datetime.now(UTC)).verdict
                for zone in zones
            }
            unsigned = {f"{name}.{parent}" for parent in PARENTS for name in PLAIN}
            assert {zone for zone, verdict in found.items() if verdict is Verdict.INSECURE} == unsigned
            assert {zone for zone, verdict in found.items() if verdict is Verdict.SECURE} == {*zones} - unsigned


@pytest.mark.parametrize("parent", PARENTS)
def test_a_zone_that_is_not_delegated_is_bogus(world: World, parent: str, tmp_path: Path) -> None:
    zone = f"lost.{parent}"
    found = follow(world, zone)
    if parent == "optout.test.":  # an opt-out zone may exist, for Unbound too, but delv trusts NXDOMAIN
        assert found.verdict is Verdict.INSECURE
        return
    assert found == Chain(Verdict.BOGUS, f"{parent} proves that {zone} is not delegated")
    assert delved(world, zone, tmp_path) is Verdict.BOGUS


@pytest.mark.parametrize("name", ["nobody.", *(f"{name}.{each}" for each in PARENTS for name in ("nobody", "x.wild"))])
def test_what_is_proven_to_be_no_zone_is_neither_secure_nor_bogus(world: World, name: str) -> None:
    found = follow(world, name)
    if name.endswith(".optout.test."):  # it may be an unsigned zone
        assert found.verdict is Verdict.INSECURE
    else:
        assert found == Chain(Verdict.UNKNOWN, f"the resolver found no SOA for {name}")


def test_another_anchor_is_no_fault_of_the_zone(world: World) -> None:
    wrong = ("20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D",)
    assert follow(world, "good.test.", anchors=wrong) == Chain(
        Verdict.UNKNOWN, "the root trust anchor doesn’t match any key"
    )


@pytest.mark.parametrize(("days", "reason"), [(60, "expired at "), (-60, "is not valid yet")])
def test_a_clock_that_is_wrong_by_weeks_is_no_fault_of_the_zone(world: World, days: int, reason: str) -> None:
    found = follow(world, "good.test.", now=datetime.now(UTC) + timedelta(days=days))
    assert found.verdict is Verdict.UNKNOWN
    assert f"the signature for the DNSKEY for . {reason}" in found.reason


def through(world: World, type: str, zone: str, change: Change, *, to: str = "good.test.") -> Chain:
    """Return the chain to a zone through a proxy that changes the answer for one RRset."""
    return behind(changing(world, type, zone, change), world, to=to)


def changing(world: World, type: str, zone: str, change: Change) -> Answers:
    def answer(query: dns.message.Message, is_tcp: bool) -> dns.message.Message:
        reply = dns.query.tcp(query, RESOLVER, 5, world.port)
        if (str(query.question[0].name), dns.rdatatype.to_text(query.question[0].rdtype)) == (zone, type):
            change(reply)
        return reply

    return answer


def behind(answers: Answers, world: World, *, to: str = "good.test.") -> Chain:
    port = free_port()
    with serving({"127.0.9.5": answers}, port):
        return _follow_at(port, world, to)


def _follow_at(port: int, world: World, zone: str) -> Chain:
    return follow_chain(zone, resolver=Resolver((("127.0.9.5", port),)), anchors=world.anchors, now=datetime.now(UTC))


def _without_signatures(reply: dns.message.Message) -> None:
    reply.answer[:] = [each for each in reply.answer if each.rdtype != dns.rdatatype.RRSIG]


def _without_records(reply: dns.message.Message) -> None:
    reply.answer.clear()


def _another_serial(reply: dns.message.Message) -> None:
    [soa] = [each for each in reply.answer if each.rdtype == dns.rdatatype.SOA]
    changed = dns.rrset.from_rdata(soa.name, soa.ttl, soa[0].replace(serial=7))
    reply.answer[:] = [changed, *(each for each in reply.answer if each is not soa)]


def _ended(reply: dns.message.Message) -> None:
    for each in [each for each in reply.answer if each.rdtype == dns.rdatatype.RRSIG]:
        reply.answer.remove(each)
        ended = [signature.replace(inception=0, expiration=86_400) for signature in each]
        reply.answer.append(dns.rrset.from_rdata_list(each.name, each.ttl, ended))


def _many_keys(reply: dns.message.Message) -> None:
    texts = [f"257 3 13 {number:03}{'A' * 83}==" for number in range(40)]
    reply.answer.append(dns.rrset.from_text(reply.question[0].name, 60, "IN", "DNSKEY", *texts))


@pytest.mark.parametrize(
    ("type", "zone", "change", "expected"),
    [
        ("SOA", "good.test.", _another_serial, (Verdict.BOGUS, "the signature for the SOA for good.test. is invalid")),
        (
            "SOA",
            "good.test.",
            _without_signatures,
            (Verdict.BOGUS, "the SOA for good.test. is not signed by good.test."),
        ),
        (
            "SOA",
            "good.test.",
            _ended,
            (Verdict.BOGUS, "the signature for the SOA for good.test. expired at 1970-01-02 00:00 UTC"),
        ),
        (
            "DS",
            "good.test.",
            _without_signatures,
            (Verdict.BOGUS, "the DS for good.test. is not signed by test."),
        ),
        ("DNSKEY", "good.test.", _without_records, (Verdict.BOGUS, "good.test. has a DS but no DNSKEY records")),
        ("DNSKEY", "good.test.", _many_keys, (Verdict.BOGUS, "good.test. has more than 32 DNSKEY records")),
        ("DNSKEY", ".", _without_signatures, (Verdict.UNKNOWN, "the resolver removes signatures from answers")),
    ],
)
def test_what_was_changed_on_the_way_is_seen(
    world: World, type: str, zone: str, change: Change, expected: tuple[Verdict, str]
) -> None:
    assert through(world, type, zone, change) == Chain(*expected)


Forgery = Callable[[World, dns.message.Message], None]


def _is_denial(rrset: dns.rrset.RRset) -> bool:
    return rrset.rdtype in (dns.rdatatype.NSEC, dns.rdatatype.NSEC3)


def _no_proof(world: World, reply: dns.message.Message) -> None:
    reply.answer.clear()
    reply.authority[:] = [each for each in reply.authority if each.rdtype == dns.rdatatype.SOA]


def _nothing_at_all(world: World, reply: dns.message.Message) -> None:
    reply.answer.clear()
    reply.authority.clear()


def _unsigned_proof(world: World, reply: dns.message.Message) -> None:
    reply.authority[:] = [each for each in reply.authority if each.rdtype != dns.rdatatype.RRSIG]


def _old_proof(world: World, reply: dns.message.Message) -> None:
    for each in [each for each in reply.authority if each.rdtype == dns.rdatatype.RRSIG]:
        reply.authority.remove(each)
        ended = [signature.replace(inception=0, expiration=86_400) for signature in each]
        reply.authority.append(dns.rrset.from_rdata_list(each.name, each.ttl, ended))


def _altered_proof(world: World, reply: dns.message.Message) -> None:
    """Add a type to the proof's bitmap, but keep the old signature."""
    [link] = [each for each in reply.authority if _is_denial(each)]
    kind = dns.rdatatype.to_text(link.rdtype)
    changed = dns.rrset.from_text(link.name, link.ttl, "IN", kind, f"{link[0]} TXT")
    reply.authority[:] = [changed if each is link else each for each in reply.authority]


def authority_of(name: str, type: str) -> Forgery:
    """Return a forgery: an empty answer with the proof of another query."""

    def forge(world: World, reply: dns.message.Message) -> None:
        reply.answer.clear()
        reply.authority[:] = world.ask(name, type).authority

    return forge


def signed_again(zone: str, **changes: Any) -> Forgery:
    """Return a forgery: NSEC3 records with these changes, signed with the zone's key."""

    def forge(world: World, reply: dns.message.Message) -> None:
        links = [each for each in reply.authority if each.rdtype == dns.rdatatype.NSEC3]
        reply.authority[:] = [each for each in reply.authority if dns.rdatatype.SOA in (each.rdtype, each.covers)]
        for link in links:
            changed = dns.rrset.from_rdata(link.name, link.ttl, link[0].replace(**changes))
            reply.authority += world.keys[zone].sign(changed)

    return forge


def _many_records(world: World, reply: dns.message.Message) -> None:
    for number in range(MOST_RECORDS):
        link = dns.rrset.from_text(f"n{number}.test.", 60, "IN", "NSEC", f"n{number}.n.test. A")
        reply.authority += world.keys["test."].sign(link)


def _alias_of_nobody(world: World, reply: dns.message.Message) -> None:
    reply.answer.append(dns.rrset.from_text(reply.question[0].name, 60, "IN", "CNAME", "elsewhere.test."))


@pytest.mark.parametrize(
    ("zone", "forge", "verdict", "reason"),
    [
        ("plain.test.", _no_proof, Verdict.BOGUS, "no proof that plain.test. doesn’t have a DS"),
        (
            "plain.test.",
            _nothing_at_all,
            Verdict.BOGUS,
            "no proof that plain.test. doesn’t have a DS",
        ),
        ("good.test.", _no_proof, Verdict.BOGUS, "no proof that good.test. doesn’t have a DS"),
        (
            "plain.hashed.test.",
            _no_proof,
            Verdict.BOGUS,
            "no proof that plain.hashed.test. doesn’t have a DS",
        ),
        (
            "plain.optout.test.",
            _no_proof,
            Verdict.BOGUS,
            "no proof that plain.optout.test. doesn’t have a DS",
        ),
        ("plain.test.", _unsigned_proof, Verdict.BOGUS, "the NSEC for plain.test. is not signed by test."),
        ("plain.test.", _old_proof, Verdict.BOGUS, "the signature for the NSEC for plain.test. expired at 1970-01-02"),
        ("plain.test.", _altered_proof, Verdict.BOGUS, "the signature for the NSEC for plain.test. is invalid"),
        ("plain.hashed.test.", _unsigned_proof, Verdict.BOGUS, "hashed.test. is not signed by hashed.test."),
        ("plain.optout.test.", _old_proof, Verdict.BOGUS, "optout.test. expired at 1970-01-02"),
        ("plain.narrow.test.", _altered_proof, Verdict.BOGUS, "narrow.test. is invalid"),
        # Proof of the zone's own apex, with its own signature. A missing DS on this side of the cut proves nothing.
        (
            "good.test.",
            authority_of("good.test.", "MX"),
            Verdict.BOGUS,
            "the NSEC for good.test. is not signed by test.",
        ),
        # Proof of the parent's side, with the DS in its bitmap.
        (
            "good.test.",
            authority_of("goof.test.", "A"),
            Verdict.BOGUS,
            "the NSEC for good.test. shows that a DS exists",
        ),
        (
            "good.test.",
            authority_of("plain.test.", "DS"),
            Verdict.BOGUS,
            "no proof that good.test. doesn’t have a DS",
        ),
        (
            "good.hashed.test.",
            authority_of("plain.hashed.test.", "DS"),
            Verdict.BOGUS,
            "no proof that good.hashed.test. doesn’t have a DS",
        ),
        (
            "good.hashed.test.",
            authority_of("good.narrow.test.", "TXT"),
            Verdict.BOGUS,
            "narrow.test. is not signed by hashed.test.",
        ),
        (
            "plain.optout.test.",
            signed_again("optout.test.", flags=0),
            Verdict.BOGUS,
            "optout.test. proves that plain.optout.test. is not delegated",
        ),
        (
            "plain.hashed.test.",
            signed_again("hashed.test.", iterations=200),
            Verdict.INSECURE,
            "hashed.test. uses more than 100 NSEC3 iterations",
        ),
        (
            "plain.hashed.test.",
            signed_again("hashed.test.", iterations=100),
            Verdict.BOGUS,
            "no proof ",
        ),
        (
            "plain.hashed.test.",
            signed_again("hashed.test.", algorithm=7),
            Verdict.BOGUS,
            "no proof ",
        ),
    ],
)
def test_nobody_takes_a_ds_away(
    world: World, zone: str, forge: Forgery, verdict: Verdict, reason: str, tmp_path: Path
) -> None:
    port = free_port()
    answers = changing(world, "DS", zone, lambda reply: forge(world, reply))
    with serving({"127.0.9.5": answers}, port):
        found = _follow_at(port, world, zone)
        theirs = delved(world, zone, tmp_path, address="127.0.9.5", port=port)
    assert found.verdict is verdict
    assert reason in found.reason
    assert theirs is verdict


@pytest.mark.parametrize(
    ("zone", "forge", "expected"),
    [
        (
            "plain.test.",
            _many_records,
            Chain(Verdict.BOGUS, "the denial of a DS for plain.test. has more than 8 NSEC and NSEC3 records"),
        ),
        (
            "plain.test.",
            _alias_of_nobody,
            Chain(Verdict.BOGUS, "the CNAME for plain.test. is not signed by test."),
        ),
        (
            "plain.hashed.test.",
            signed_again("hashed.test.", flags=2),
            Chain(Verdict.BOGUS, "no proof that plain.hashed.test. doesn’t have a DS"),
        ),
    ],
)
def test_what_delv_takes_otherwise(world: World, zone: str, forge: Forgery, expected: Chain) -> None:
    """delv examines more records, follows the alias for 12 seconds, and accepts unknown flags.

    RFC 5155 section 8.2.
    """
    assert through(world, "DS", zone, lambda reply: forge(world, reply), to=zone) == expected


def test_a_resolver_that_is_silent_proves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns_exchange, "TRY_SECONDS", 0.1)
    assert behind(nobody, world) == Chain(Verdict.UNKNOWN, "resolver: no answer")


@pytest.mark.parametrize("text", ["", "20326 8 2", "20326 8 2 AB", "x 8 2 " + "AB" * 32])
def test_what_is_no_ds_is_no_anchor(text: str) -> None:
    with pytest.raises(ValueError, match="isn’t a valid DS record"):
        read_anchors([text])
