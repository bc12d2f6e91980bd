"""Tests of queries for the content of zones: clients that get published data, and clients that are refused.

`tests/oracle/test_gateway_answers.py` compares the answers (`gateway.lookup`) with PowerDNS's own. This file tests the
right to read (`gateway.zone_questions`), the form of answers (`gateway.reply`), and answers of ring 0
(`gateway.from_signer`).
"""

from datetime import timedelta

import dns.edns
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.update
import pytest
from django.db.models import F

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Grant, Right
from dnspanel.accounts.models import Role, Token, User
from dnspanel.accounts.tokens import tokens
from dnspanel.fleet.models import Node
from dnspanel.fleet.reads.queries import head
from dnspanel.gateway import answers
from dnspanel.gateway.rate_limits import Rates
from dnspanel.secondaries import keyless
from dnspanel.secondaries.models import Secondary
from dnspanel.zones.models import TsigAct, Zone
from dnspanel.zones.rights import tsig_permissions
from dnspanel.zones.store import store_rrsets
from replication.dns import rdtypes
from tests.dnspanel.gateway.conftest import Key, MakeKey, replies
from tests.dnspanel.gateway.test_signed_transfers import impatient as impatient
from tests.dnspanel.gateway.test_signed_transfers import ring0 as ring0
from tests.dnspanel.gateway.test_signed_transfers import signed_zone as signed_zone
from tests.dnspanel.gateway.test_to_secondaries import signed as signed_message
from tests.dnspanel.secondaries.conftest import ADDRESS, key_of
from tests.dnspanel.secondaries.conftest import make_secondary as make_secondary
from tests.dnspanel.secondaries.conftest import secondary as secondary
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)

WWW = "www.example.test."
INSIDE, OUTSIDE = "192.0.2.53", "198.51.100.1"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_rates", Rates())


def question(name: str = WWW, type_: str = "A", *, dnssec: bool = False) -> dns.message.Message:
    return dns.message.make_query(name, type_, use_edns=0, want_dnssec=dnssec)


def rcode_of(message: dns.message.Message) -> str:
    return dns.rcode.to_text(message.rcode())


def reason_of(message: dns.message.Message) -> str:
    return " ".join(str(o.text) for o in message.options if isinstance(o, dns.edns.EDEOption))


def unsigned(message: dns.message.Message, *, address: str = OUTSIDE) -> dns.message.Message:
    (wire,) = replies(message.to_wire(), address=address)
    return dns.message.from_wire(wire)


def texts(message: dns.message.Message) -> list[str]:
    return [line for rrset in message.answer for line in rrset.to_text().splitlines()]


def scoped(zone: Zone, **limits: object) -> tuple[Grant, ...]:
    return (Grant(RECORD_RIGHTS | {Right.READ}, zones=frozenset({zone.pk}), **limits),)  # type: ignore[arg-type]


# Who is answered


def test_a_key_reads_what_it_has_just_written(zone: Zone, key: Key) -> None:
    """HashiCorp's provider and Ansible's module query what they wrote. The gateway used to answer only SOA and NS."""
    message = dns.update.UpdateMessage("example.test.")
    message.add("new", 60, "A", "192.0.2.77")
    assert rcode_of(key.ask(message)) == "NOERROR"
    reply = key.ask(question("new.example.test."))
    assert (rcode_of(reply), bool(reply.flags & dns.flags.AA), reply.had_tsig) == ("NOERROR", True, True)
    assert texts(reply) == ["new.example.test. 60 IN A 192.0.2.77"]
    message = dns.update.UpdateMessage("example.test.")
    message.delete("new")
    assert rcode_of(key.ask(message)) == "NOERROR"
    reply = key.ask(question("new.example.test."))
    assert (rcode_of(reply), [str(rrset.name) for rrset in reply.authority]) == ("NXDOMAIN", ["example.test."])


@pytest.mark.parametrize("name", [WWW, "nothing.example.test.", "www.other.test.", "www.nowhere.test.", "."])
@pytest.mark.parametrize("type_", ["A", "ANY", "TXT"])
def test_to_who_has_no_key_all_names_look_the_same(make_zone: MakeZone, name: str, type_: str) -> None:
    make_zone()
    make_zone(name="other.test.")
    reply, nowhere = unsigned(question(name, type_)), unsigned(question("x.not-here.test.", type_))
    assert (rcode_of(reply), reply.answer, reply.authority) == ("REFUSED", [], [])
    assert reason_of(reply) == reason_of(nowhere)


def test_a_key_of_one_zone_learns_nothing_of_others(make_zone: MakeZone, make_key: MakeKey) -> None:
    mine, _ = make_zone(), make_zone("www 300 A 192.0.2.1", name="other.test.")
    key = make_key(scope=scoped(mine))
    there, nowhere = (key.ask(question(name)) for name in ("www.other.test.", "www.nowhere.test."))
    assert rcode_of(there) == rcode_of(nowhere) == "REFUSED"
    assert reason_of(there) == reason_of(nowhere)
    assert texts(key.ask(question())) == []  # this zone belongs to the key's owner and lacks the name
    assert rcode_of(key.ask(question("other.test.", "SOA"))) == "NOERROR", "as everybody is told"


def test_a_key_of_api_v1_reads_the_zones_that_name_it(make_zone: MakeZone, make_key: MakeKey) -> None:
    zones = {act: make_zone("www 300 A 192.0.2.1", name=f"{act.name.lower()}.test.") for act in TsigAct}
    unnamed = make_zone("www 300 A 192.0.2.1", name="unnamed.test.")
    key = make_key("v1.test.")
    Token.objects.filter(pk=key.token.pk).update(needs_permission=True)
    for act, zone in zones.items():
        tsig_permissions.replace_key_names(zone=zone, act=act, key_names=["v1.test."])
        assert texts(key.ask(question(f"www.{zone.name}"))) == [f"www.{zone.name} 300 IN A 192.0.2.1"]
    assert rcode_of(key.ask(question(f"www.{unnamed.name}"))) == "REFUSED"


def test_a_key_that_may_not_read_the_zone_is_refused(zone: Zone, make_key: MakeKey, alice: User) -> None:
    writes = make_key("w.test.", scope=(Grant(RECORD_RIGHTS, zones=frozenset({zone.pk})),))
    assert rcode_of(writes.ask(question())) == "REFUSED"
    erin = make_person("erin", Role.EDITOR)
    hers = make_key("erin.test.", owner=erin)
    assert rcode_of(hers.ask(question())) == "NOERROR"
    User.objects.filter(pk=erin.pk).update(role=Role.MEMBER)
    assert rcode_of(hers.ask(question())) == "REFUSED", "a key may never more than its owner does now"


def test_a_revoked_an_expired_and_a_closed_account_s_key_open_nothing(
    zone: Zone, make_key: MakeKey, alice: User
) -> None:
    erin = make_person("erin", Role.EDITOR)
    revoked, expired = make_key("r.test."), make_key("e.test.")
    closed = make_key("c.test.", owner=erin)
    elsewhere = make_key("n.test.", networks=("198.51.100.0/24",))
    tokens.revoke_token(token=revoked.token, by=alice, now=NOW)
    Token.objects.filter(pk=expired.token.pk).update(expires_at=NOW - timedelta(seconds=1))
    User.objects.filter(pk=erin.pk).update(is_active=False)
    for key in (revoked, expired, closed, elsewhere):
        (wire,) = replies(key.sign(question()))
        reply = dns.message.from_wire(wire, keyring=False)
        assert (rcode_of(reply), reply.tsig_error, reply.answer) == ("NOTAUTH", dns.rcode.BADKEY, [])


def test_a_wrong_signature_opens_nothing(zone: Zone, key: Key) -> None:
    key.tsig = dns.tsig.Key("key.test.", b"guessed")
    (wire,) = replies(key.sign(question()))
    reply = dns.message.from_wire(wire, keyring=False)
    assert (rcode_of(reply), reply.answer) == ("NOTAUTH", [])


def test_a_network_reads_the_zones_that_are_open_to_it(zone: Zone, alice: User) -> None:
    assert rcode_of(unsigned(question(), address=INSIDE)) == "REFUSED"
    keyless.open_to(zone=zone, networks=["192.0.2.0/24"], by=alice, now=NOW)
    assert len(texts(unsigned(question(), address=INSIDE))) == 2
    assert rcode_of(unsigned(question("no.example.test."), address=INSIDE)) == "NXDOMAIN"
    assert rcode_of(unsigned(question(), address=OUTSIDE)) == "REFUSED"


def test_an_address_that_asks_without_end_is_refused(zone: Zone, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "QUESTIONS_BURST", 2)
    keyless.open_to(zone=zone, networks=["192.0.2.0/24"], by=alice, now=NOW)
    assert [rcode_of(unsigned(question(), address=INSIDE)) for _ in range(3)] == ["NOERROR", "NOERROR", "REFUSED"]
    assert rcode_of(unsigned(question(), address="192.0.2.54")) == "NOERROR"


def test_a_key_that_asks_without_end_is_refused(zone: Zone, make_key: MakeKey) -> None:
    key = make_key(requests_per_minute=2)
    assert [rcode_of(key.ask(question())) for _ in range(3)] == ["NOERROR", "NOERROR", "REFUSED"]


def test_a_secondary_reads_the_zones_that_it_gets(make_zone: MakeZone, make_secondary: object, alice: User) -> None:
    given, other = make_zone("www 300 A 192.0.2.1"), make_zone("www 300 A 192.0.2.1", name="other.test.")
    Zone.objects.filter(pk=given.pk).update(tags=["given"])
    partner: Secondary = make_secondary(choice="tag", tag="given")  # type: ignore[operator]

    def ask(name: str) -> dns.message.Message:
        (wire,) = replies(signed_message(question(name), key_of(partner)), address=ADDRESS)
        return dns.message.from_wire(wire, keyring=False)

    assert texts(ask(WWW)) == [f"{WWW} 300 IN A 192.0.2.1"]
    assert rcode_of(ask(f"www.{other.name}")) == "REFUSED"
    Secondary.objects.update(active=False)
    assert rcode_of(ask(WWW)) == "REFUSED"


# What of it is seen


def test_a_key_sees_its_own_names_and_types_only(zone: Zone, make_key: MakeKey) -> None:
    txt = make_key(scope=scoped(zone, names=("_acme-challenge.www",), types=frozenset({rdtypes.TXT})))
    challenge = "_acme-challenge.www.example.test."
    assert rcode_of(txt.ask(question(challenge, "TXT"))) == "NXDOMAIN"
    message = dns.update.UpdateMessage("example.test.")
    message.add("_acme-challenge.www", 60, "TXT", "proof")
    assert rcode_of(txt.ask(message)) == "NOERROR"
    assert texts(txt.ask(question(challenge, "TXT"))) == [f'{challenge} 60 IN TXT "proof"']
    for name, type_ in ((WWW, "A"), (WWW, "TXT"), (challenge, "A"), ("nothing.example.test.", "TXT")):
        assert rcode_of(txt.ask(question(name, type_))) == "REFUSED", (name, type_)
    assert rcode_of(txt.ask(question("example.test.", "SOA"))) == "NOERROR"


def test_any_shows_a_narrow_key_its_part(make_zone: MakeZone, make_key: MakeKey) -> None:
    zone = make_zone("www 300 A 192.0.2.1", 'www 300 TXT "hidden"', 'other 300 TXT "hidden"')
    key = make_key(scope=scoped(zone, types=frozenset({rdtypes.A})))
    assert texts(key.ask(question(WWW, "ANY"), over_tcp=True)) == [f"{WWW} 300 IN A 192.0.2.1"]
    assert rcode_of(key.ask(question("other.example.test.", "ANY"), over_tcp=True)) == "REFUSED"


def test_an_alias_is_followed_into_zones_that_the_key_reads_and_no_other(
    make_zone: MakeZone, make_key: MakeKey, key: Key
) -> None:
    zone = make_zone("alias 300 CNAME www.other.test.")
    make_zone("www 300 A 192.0.2.1", name="other.test.")
    assert len(texts(key.ask(question("alias.example.test.")))) == 2
    narrow = make_key("narrow.test.", scope=scoped(zone))
    reply = narrow.ask(question("alias.example.test."))
    assert (rcode_of(reply), texts(reply)) == ("NOERROR", ["alias.example.test. 300 IN CNAME www.other.test."])
    assert reply.authority == []


def test_an_alias_into_a_zone_of_which_the_key_sees_a_part_ends_there(make_zone: MakeZone, make_key: MakeKey) -> None:
    zone = make_zone("alias 300 CNAME www.other.test.")
    other = make_zone("www 300 A 192.0.2.1", name="other.test.")
    key = make_key(scope=(*scoped(zone), *scoped(other, types=frozenset({rdtypes.TXT}))))
    assert texts(key.ask(question("alias.example.test."))) == ["alias.example.test. 300 IN CNAME www.other.test."]


def test_what_another_zone_inside_answers_is_not_answered_from_the_zone_above(
    make_zone: MakeZone, make_key: MakeKey, key: Key
) -> None:
    above = make_zone(
        "inner 300 NS ns.inner", "ns.inner 300 A 192.0.2.9", "www.inner 300 A 192.0.2.1", "x.hole 300 A 192.0.2.1"
    )
    make_zone("www 300 A 192.0.2.2", name="inner.example.test.")
    make_zone("x 300 A 192.0.2.2", name="hole.example.test.")
    assert texts(key.ask(question("www.inner.example.test."))) == ["www.inner.example.test. 300 IN A 192.0.2.2"]
    outer = make_key("outer.test.", scope=scoped(above))
    referral = outer.ask(question("www.inner.example.test."))
    assert (rcode_of(referral), referral.answer, referral.flags & dns.flags.AA) == ("NOERROR", [], 0)
    assert [rrset.to_text() for rrset in referral.authority] == ["inner.example.test. 300 IN NS ns.inner.example.test."]
    assert [rrset.to_text() for rrset in referral.additional] == ["ns.inner.example.test. 300 IN A 192.0.2.9"]
    assert rcode_of(outer.ask(question("x.hole.example.test."))) == "REFUSED", "nobody answers that from above"


def test_disabled_records_are_not_there(make_zone: MakeZone, key: Key) -> None:
    zone = make_zone("a.off 300 A 192.0.2.1")
    off = [
        rr("a.off 300 A 192.0.2.1", disabled=("192.0.2.1",)),
        rr("some 300 A 192.0.2.1 | 192.0.2.2", disabled=("192.0.2.1",)),
    ]
    store_rrsets.replace_rrsets((zone.pk, zone.name, rrset) for rrset in off)
    assert rcode_of(key.ask(question("a.off.example.test."))) == "NXDOMAIN"
    assert rcode_of(key.ask(question("off.example.test."))) == "NXDOMAIN", "no empty name above what is not served"
    assert texts(key.ask(question("some.example.test."))) == ["some.example.test. 300 IN A 192.0.2.2"]


# Form


def test_two_questions_have_no_form(zone: Zone, key: Key) -> None:
    """RFC 9619 allows one question per query."""
    query = question()
    query.question.append(question("example.test.", "SOA").question[0])
    assert rcode_of(key.ask(query)) == "FORMERR"


@pytest.mark.parametrize(("payload", "size"), [(0, 512), (400, 512), (900, 900), (1232, 1232), (4096, 1232)])
def test_what_does_not_fit_a_datagram_is_cut_off_and_whole_over_tcp(
    make_zone: MakeZone, key: Key, payload: int, size: int
) -> None:
    make_zone(f"many 300 A {' | '.join(f'192.0.2.{number}' for number in range(1, 200))}")
    query = question("many.example.test.")
    query.use_edns(0 if payload else -1, payload=payload or 1232)
    (wire,) = replies(key.sign(query))
    reply = key.read(wire, query)
    assert (len(wire) <= size, bool(reply.flags & dns.flags.TC), len(texts(reply))) == (True, True, 0)
    reply = key.ask(query, over_tcp=True)
    assert (reply.flags & dns.flags.TC, len(texts(reply))) == (0, 199)


def test_a_delegation_without_room_for_its_glue_is_cut_off(make_zone: MakeZone, key: Key) -> None:
    """RFC 9471: without its glue, a delegation is useless, so the client must retry over TCP."""
    hosts = [f"a-name-server-with-a-long-name-{number}.cut" for number in range(12)]
    make_zone(f"cut 300 NS {' | '.join(hosts)}", *(f"{host} 300 AAAA 2001:db8::1" for host in hosts))
    query = dns.message.make_query("x.cut.example.test.", "A")
    reply = key.ask(query)
    assert reply.flags & dns.flags.TC
    assert len(key.ask(query, over_tcp=True).additional) == 12


def test_any_is_answered_over_tcp(zone: Zone, key: Key) -> None:
    """Nodes do the same, by RFC 8482 section 4.4."""
    reply = key.ask(question("example.test.", "ANY"))
    assert (reply.answer, bool(reply.flags & dns.flags.TC)) == ([], True)
    found = {dns.rdatatype.to_text(r.rdtype) for r in key.ask(question("example.test.", "ANY"), over_tcp=True).answer}
    assert {"SOA", "NS"} <= found


@pytest.mark.parametrize("type_", ["MAILB", "TKEY", "OPT", "TYPE0"])
def test_types_that_no_zone_has_are_refused(zone: Zone, key: Key, type_: str) -> None:
    assert rcode_of(key.ask(question("example.test.", type_))) == "REFUSED"


def test_do_is_given_back(zone: Zone, key: Key) -> None:
    """RFC 3225 section 3 requires the DO bit in the answer."""
    assert key.ask(question(dnssec=True)).ednsflags & dns.flags.DO
    assert not key.ask(question()).ednsflags & dns.flags.DO


# Signed zones


def test_a_signed_zone_is_answered_by_ring_0_with_signatures_for_who_wants_them(signed_zone: Zone, key: Key) -> None:
    signed = key.ask(question(dnssec=True))
    assert [dns.rdatatype.to_text(rrset.rdtype) for rrset in signed.answer] == ["A", "RRSIG"]
    assert [dns.rdatatype.to_text(rrset.rdtype) for rrset in key.ask(question()).answer] == ["A"]
    dnskey = key.ask(question("example.test.", "DNSKEY", dnssec=True), over_tcp=True)
    assert [dns.rdatatype.to_text(rrset.rdtype) for rrset in dnskey.answer] == ["DNSKEY", "RRSIG"]
    absent = key.ask(question("nothing.example.test.", dnssec=True), over_tcp=True)
    assert rcode_of(absent) == "NXDOMAIN"
    assert "NSEC" in {dns.rdatatype.to_text(rrset.rdtype) for rrset in absent.authority}


def test_ring_0_answers_only_once_it_has_proved_the_newest_change(signed_zone: Zone, key: Key) -> None:
    Node.objects.update(acked=F("acked") - 1)
    reply = key.ask(question())
    assert (rcode_of(reply), "hasn’t confirmed the newest change" in reason_of(reply)) == ("SERVFAIL", True)
    assert rcode_of(key.ask(question("example.test.", "SOA"))) == "NOERROR", "published, and needs no signer"
    Node.objects.update(epoch=head().epoch, acked=head().sequence)
    assert rcode_of(key.ask(question())) == "NOERROR"
    Node.objects.update(is_ring0=False)
    assert rcode_of(key.ask(question())) == "SERVFAIL"


def test_ring_0_that_is_silent_is_servfail(signed_zone: Zone, key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dnspanel.gateway.from_signer.SECONDS", 0.1)
    Node.objects.update(dns_port=1)
    assert rcode_of(key.ask(question())) == "SERVFAIL"


def test_of_a_signed_zone_a_narrow_key_sees_no_neighbours(signed_zone: Zone, make_key: MakeKey) -> None:
    key = make_key("narrow.test.", scope=scoped(signed_zone, types=frozenset({rdtypes.A})))
    assert len(key.ask(question(dnssec=True)).answer) == 2
    absent = key.ask(question("nothing.example.test.", dnssec=True), over_tcp=True)
    assert {dns.rdatatype.to_text(rrset.covers or rrset.rdtype) for rrset in absent.authority} == {"SOA"}
    assert rcode_of(key.ask(question("example.test.", "NSEC", dnssec=True))) == "REFUSED"


def test_an_answer_that_is_computed_comes_from_ring_0_or_not_at_all(make_zone: MakeZone, key: Key) -> None:
    zone = make_zone()
    # Stored directly, because the rules require a resolver for ALIAS.
    store_rrsets.replace_rrsets([(zone.pk, zone.name, rr("alias 300 ALIAS elsewhere.test."))])
    assert rcode_of(key.ask(question("alias.example.test."))) == "SERVFAIL"
    assert rcode_of(key.ask(question("alias.example.test.", "TXT"))) == "NOERROR"
