"""The gateway answers queries from PostgreSQL like a `pdns_server` with the same zones."""

import random
from collections.abc import Iterator

import dns.message
import dns.rcode
import pytest

from dnspanel.accounts.models import User
from dnspanel.gateway import lookup
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.store import store_rrsets
from replication.compile import compile_zone
from replication.dns import names, rdtypes
from tests.dnspanel.gateway.conftest import Key, MakeKey, replies
from tests.dnspanel.gateway.conftest import make_key as make_key
from tests.oracle import lmdb_file, powerdns
from tests.oracle.answers import Answer, Asker, Question, answer_of, parse, questions
from tests.oracle.corpus import APEX, rrsets_of, zone_texts
from tests.people import NOW
from tests.people import alice as alice

# Names below redirecting names, in all relations to other names.
REDIRECTED = [
    "dname 300 IN DNAME target",
    'dname 300 IN TXT "beside it"',
    "x.target 300 IN A 192.0.2.1",
    "*.wild.target 300 IN A 192.0.2.2",
    "out 300 IN DNAME elsewhere.test.",
    "a.b.deep 300 IN DNAME target",
    "via 300 IN CNAME x.dname",
    "to-nothing 300 IN CNAME nothing.dname",
    "loop1 300 IN CNAME loop2",
    "loop2 300 IN CNAME loop1",
    "self 300 IN DNAME below.self",
    "to-cut 300 IN CNAME x.cut.dname",
    "cut.target 300 IN NS ns.cut.target",
    "ns.cut.target 300 IN A 192.0.2.3",
    f"{'l' * 63}.{'m' * 63}.{'n' * 40}.long 300 IN A 192.0.2.4",
    f"short 300 IN DNAME {'l' * 63}.{'m' * 63}.{'n' * 40}.long",
    "svc 300 IN SVCB 1 x.target alpn=h2",
    "svc-here 300 IN HTTPS 1 . alpn=h2",
    "svc-here 300 IN A 192.0.2.5",
    "mail 300 IN MX 10 any.wild.target",
    "mail 300 IN MX 20 x.target",
    'naptr 300 IN NAPTR 1 1 "a" "" "" x.target',
    "kx 300 IN KX 10 x.target",
    "afsdb 300 IN AFSDB 1 x.target",
]
COMPUTED = frozenset({"alias", "lua"})
COMPRESSED = frozenset({"mb", "mg", "mr", "minfo"})
SHARE = 0.25  # share of the questions; the whole corpus takes minutes
MORE = {"redirected.test.": REDIRECTED}
BELOW_REDIRECTED = (
    *("x.dname", "any.wild.dname", "no.dname", "x.out", "y.a.b.deep", "x.self", "x.cut.dname"),
    *(f"{'k' * 63}.short", f"{'k' * 63}.{'j' * 63}.short"),
)


def texts() -> dict[str, str]:
    found = {name: text for name, text in zone_texts().items() if name not in ("d.", "large.test.", "test101.org.")}
    return found | {name: "\n".join([*APEX, *lines]) + "\n" for name, lines in MORE.items()}


@pytest.fixture(scope="module")
def theirs() -> Iterator[Asker]:
    try:
        installation = powerdns.native()
    except powerdns.Unavailable as exc:
        pytest.skip(str(exc))
    with installation.place("gateway") as place:
        compiled = {
            zone: (number, compile_zone(zone, rrsets_of(zone, text)))
            for number, (zone, text) in enumerate(texts().items(), start=1)
        }
        lmdb_file.write(place.database, installation.schema, compiled)
        with place.server(dname_processing="yes") as port, Asker(port) as asker:
            yield asker


@pytest.fixture
def key(make_key: MakeKey, alice: User) -> Key:
    """Store all zones of the corpus in PostgreSQL, and return a TSIG key with all rights."""
    for name, text in texts().items():
        rrsets = rrsets_of(name, text)
        apex = [rrset for rrset in rrsets if rrset.name == name and rrset.type in (rdtypes.SOA, rdtypes.NS)]
        edit.create_zone(zone=edit.NewZone(name, apex), acting=Acting(alice, Channel.WEB, NOW))
        zone = Zone.objects.get(name=name)
        # Without the rules, which refuse some records that PowerDNS serves.
        store_rrsets.replace_rrsets((zone.pk, name, rrset) for rrset in rrsets)
        Zone.objects.filter(pk=zone.pk).update(serial=1)
    return make_key()


def is_known_difference(question: Question, they: Answer, we: Answer) -> bool:
    """Return True for differences that are known: the gateway follows a standard, or cannot do the same as PowerDNS."""
    name, type_ = question
    if we.rcode == dns.rcode.SERVFAIL and not we.authoritative:
        return name.split(".")[0] in COMPUTED  # ring 0 would answer, but this test has none
    if type_ == rdtypes.DS and they.authoritative and not we.authoritative:
        return True  # PowerDNS is authoritative for a cut below a cut (RFC 4035 section 3.1.4.1)
    if any(" 0 0 " in line for line in they.answer):
        return True  # PowerDNS shows its rows of type 0 in answers to ANY
    if name.split(".")[0] in COMPRESSED:
        return True  # PowerDNS compresses their rdata, which dnspython cannot parse
    return question == ("dnskey.types.test.", lookup.ANY)  # PowerDNS denies a name with only a DNSKEY


def ours(key: Key, question: Question) -> Answer:
    name, type_ = question
    query = dns.message.make_query(dns.name.from_wire(names.to_wire(name), 0)[0], type_, id=1)
    (wire,) = replies(key.sign(query), over_tcp=True)
    return answer_of(key.read(wire, query))


@pytest.mark.django_db
def test_every_answer_is_that_of_powerdns(theirs: Asker, key: Key) -> None:
    possible = [question for name, text in texts().items() for question in questions(name, rrsets_of(name, text))]
    chance = random.Random(40)
    selected = [each for each in possible if each[0].endswith(".redirected.test.") or chance.random() < SHARE]
    below = [f"{prefix}.redirected.test." for prefix in BELOW_REDIRECTED]
    selected += [(name, type_) for name in below for type_ in (rdtypes.A, rdtypes.CNAME, rdtypes.DNAME, lookup.ANY)]
    different, seen = {}, set()
    for question in selected:
        they, we = parse(theirs.ask(question, 1)), ours(key, question)
        seen.add((we.rcode, we.authoritative, bool(we.answer), bool(we.authority), bool(we.additional)))
        if they != we and not is_known_difference(question, they, we):
            different[question] = (they, we)
    assert different == {}
    assert len(selected) > 1500
    # Aliases without target, loops, referrals with and without glue, hosts with addresses, and so on.
    assert {(dns.rcode.NXDOMAIN, True, True, True, False), (dns.rcode.NOERROR, False, False, True, True)} <= seen
    assert {(dns.rcode.SERVFAIL, True, False, False, False), (dns.rcode.YXDOMAIN, True, True, False, False)} <= seen
    assert {(dns.rcode.NOERROR, True, True, False, True), (dns.rcode.NOERROR, True, True, True, True)} <= seen
    assert len(seen) >= 10, seen
