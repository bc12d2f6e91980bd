"""Following the chain of trust through real signed zones of a PowerDNS that has a root of its own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import dns.message
import dns.query
import dns.rdatatype
import dns.rrset
import pytest

from dnspanel.fleet.dnssec import exchange
from dnspanel.fleet.dnssec.chain import Chain, Verdict, follow_chain, read_anchors
from dnspanel.fleet.dnssec.resolver import Resolver
from tests.dnspanel.fleet.dnssec.nameservers import RESOLVER, Answers, nobody, serving
from tests.oracle import powerdns
from tests.ports import free_port

SOA = "@ 3600 IN SOA ns.test. hostmaster.test. 1 10800 3600 604800 900\n@ 3600 IN NS ns.test.\n"
SIGNED = ("good.test.", "deep.ent.test.", "other.test.", "below.plain.test.")
Change = Callable[[dns.message.Message], None]


@dataclass(frozen=True)
class World:
    """A PowerDNS with a private root, and the root's DS."""

    port: int
    anchors: tuple[str, ...]


def ds_of(place: powerdns.Place, zone: str) -> list[str]:
    """The DS records of SHA-256 and SHA-384."""
    lines = place.pdnsutil("export-zone-ds", zone.rstrip(".") or ".").splitlines()
    found = [line.split(" IN DS ")[1].partition(" ;")[0].strip() for line in lines if " IN DS " in line]
    return [text for text in found if text.split()[2] in ("2", "4")]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """The root and test. are signed, and so are some below; other.test. has the DS of good.test."""
    try:
        installation = powerdns.native()
    except powerdns.Unavailable as exc:
        pytest.skip(str(exc))
    with installation.place("chain") as place:
        for zone in SIGNED:
            place.load_zone(zone, SOA)
            place.pdnsutil("secure-zone", zone.rstrip("."))
        place.load_zone("plain.test.", SOA + "below 3600 IN NS ns.test.\n")
        lines = SOA + "ns 3600 IN A 127.0.0.1\nplain 3600 IN NS ns.test.\n"
        of = {"good": "good.test.", "deep.ent": "deep.ent.test.", "other": "good.test."}
        for name, zone in of.items():
            lines += f"{name} 3600 IN NS ns.test.\n"
            lines += "".join(f"{name} 3600 IN DS {text}\n" for text in ds_of(place, zone))
        place.load_zone("test.", lines)
        place.pdnsutil("secure-zone", "test")
        root = SOA + "test. 3600 IN NS ns.test.\nns.test. 3600 IN A 127.0.0.1\n"
        place.load_zone(".", root + "".join(f"test. 3600 IN DS {text}\n" for text in ds_of(place, "test.")))
        place.pdnsutil("secure-zone", ".")
        anchors = tuple(ds_of(place, "."))
        place.pdnsutil("rectify-all-zones")
        with place.server() as port:
            yield World(port, anchors)


def follow(world: World, zone: str, *, anchors: tuple[str, ...] | None = None, now: datetime | None = None) -> Chain:
    return follow_chain(
        zone,
        resolver=Resolver(((RESOLVER, world.port),)),
        anchors=world.anchors if anchors is None else anchors,
        now=now or datetime.now(UTC),
    )


@pytest.mark.parametrize("zone", ["good.test.", "deep.ent.test.", "test.", "."])
def test_a_zone_validates_from_the_root(world: World, zone: str) -> None:
    assert follow(world, zone) == Chain(Verdict.SECURE)


def test_a_ds_of_another_zone_is_bogus(world: World) -> None:
    assert follow(world, "other.test.") == Chain(Verdict.BOGUS, "the DS of other.test. names no key")


@pytest.mark.parametrize("zone", ["plain.test.", "below.plain.test."])
def test_a_zone_without_a_ds_on_the_way_ends_it(world: World, zone: str) -> None:
    assert follow(world, zone) == Chain(Verdict.INSECURE, "plain.test. has no DS")


def test_another_anchor_is_no_fault_of_the_zone(world: World) -> None:
    wrong = ("20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D",)
    assert follow(world, "good.test.", anchors=wrong) == Chain(Verdict.UNKNOWN, "the trust anchor of . names no key")


@pytest.mark.parametrize(("days", "reason"), [(60, "ended "), (-60, "is not good yet")])
def test_a_clock_that_is_wrong_by_weeks_is_no_fault_of_the_zone(world: World, days: int, reason: str) -> None:
    found = follow(world, "good.test.", now=datetime.now(UTC) + timedelta(days=days))
    assert found.verdict is Verdict.UNKNOWN
    assert f"the signature of the DNSKEY of . {reason}" in found.reason


def through(world: World, type: str, zone: str, change: Change) -> Chain:
    """The chain to good.test. where what is answered for one RRset was changed on the way."""

    def answer(query: dns.message.Message, is_tcp: bool) -> dns.message.Message:
        reply = dns.query.tcp(query, RESOLVER, 5, world.port)
        if (str(query.question[0].name), dns.rdatatype.to_text(query.question[0].rdtype)) == (zone, type):
            change(reply)
        return reply

    return behind(answer, world)


def behind(answers: Answers, world: World) -> Chain:
    port = free_port()
    with serving({"127.0.9.5": answers}, port):
        return follow_chain(
            "good.test.",
            resolver=Resolver((("127.0.9.5", port),)),
            anchors=world.anchors,
            now=datetime.now(UTC),
        )


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
        ("SOA", "good.test.", _another_serial, (Verdict.BOGUS, "the signature of the SOA of good.test. is wrong")),
        (
            "SOA",
            "good.test.",
            _without_signatures,
            (Verdict.BOGUS, "the SOA of good.test. is not signed by good.test."),
        ),
        (
            "SOA",
            "good.test.",
            _ended,
            (Verdict.BOGUS, "the signature of the SOA of good.test. ended 1970-01-02 00:00 UTC"),
        ),
        ("DS", "good.test.", _without_signatures, (Verdict.BOGUS, "the DS of good.test. is not signed by test.")),
        ("DNSKEY", "good.test.", _without_records, (Verdict.BOGUS, "good.test. has a DS and no DNSKEY records")),
        ("DNSKEY", "good.test.", _many_keys, (Verdict.BOGUS, "good.test. has more than 32 DNSKEY records")),
        ("DNSKEY", ".", _without_signatures, (Verdict.UNKNOWN, "the resolver passes no signatures on")),
    ],
)
def test_what_was_changed_on_the_way_is_seen(
    world: World, type: str, zone: str, change: Change, expected: tuple[Verdict, str]
) -> None:
    assert through(world, type, zone, change) == Chain(*expected)


def test_a_resolver_that_is_silent_proves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "TRY_SECONDS", 0.1)
    assert behind(nobody, world) == Chain(Verdict.UNKNOWN, "the resolver: no answer")


@pytest.mark.parametrize("text", ["", "20326 8 2", "20326 8 2 AB", "x 8 2 " + "AB" * 32])
def test_what_is_no_ds_is_no_anchor(text: str) -> None:
    with pytest.raises(ValueError, match="is not a DS record"):
        read_anchors([text])
