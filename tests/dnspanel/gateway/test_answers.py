"""Tests of answers to single messages: rights, history, retransmissions, discovery, garbage."""

import logging
import random
from datetime import timedelta

import dns.edns
import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.update
import pytest
from django.db import DatabaseError

from dnspanel.accounts.actors.actors import EVERY_RIGHT, RECORD_RIGHTS, Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.fleet.models import Node
from dnspanel.gateway import answers as module
from dnspanel.webhooks import place_publish_hooks
from dnspanel.webhooks.place_publish_hooks import HookTerms
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.governance.publish_rules import ApprovalTerms, Scope, add_approval_rule, lift_approval_rule
from dnspanel.zones.log import publish_hold
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.publishing import pieces
from dnspanel.zones.signing import sign
from dnspanel.zones.store import store_rrsets
from replication.dns import rdtypes
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.fleet.conftest import active_node as active_node
from tests.dnspanel.gateway.conftest import Key, MakeKey, replies
from tests.dnspanel.taken_back import REASON, refusing, take_back
from tests.dnspanel.webhooks.answering import Answering
from tests.dnspanel.webhooks.conftest import answering as answering
from tests.dnspanel.webhooks.conftest import at_home as at_home
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW, make_person

LATER = NOW + timedelta(seconds=1)


def adds(*addresses: str, name: str = "new", zone: str = "example.test.") -> dns.update.UpdateMessage:
    message = dns.update.UpdateMessage(zone)
    for address in addresses or ("192.0.2.77",):
        message.add(name, 60, "A", address)
    return message


def holds(zone: Zone, name: str, type_: int = rdtypes.A) -> tuple[str, ...]:
    rrset = store_rrsets.rrsets_at_names({zone.pk: (zone.name, {name})})[zone.pk].get((name, type_))
    return () if rrset is None else rrset.rdata


def rcode_of(message: dns.message.Message) -> str:
    return dns.rcode.to_text(message.rcode())


def unsigned(message: dns.message.Message, **how: object) -> dns.message.Message:
    (reply,) = replies(message.to_wire(), **how)
    return dns.message.from_wire(reply)


# UPDATE


def test_an_update_is_one_publication_with_history_and_the_key_as_its_author(zone: Zone, key: Key, alice: User) -> None:
    reply = key.ask(adds("192.0.2.77", "192.0.2.78"))
    assert (rcode_of(reply), reply.had_tsig) == ("NOERROR", True)
    assert holds(zone, "new.example.test.") == ("192.0.2.77", "192.0.2.78")
    publication = Publication.objects.latest("sequence")
    assert (publication.channel, publication.author, publication.token) == (Channel.DYNAMIC_UPDATE, alice, key.token)
    zone.refresh_from_db()
    assert (zone.revision, zone.sequence) == (2, publication.sequence)


def test_a_large_update_is_one_publication_too(zone: Zone, key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 2136, section 3.4.2.7: an update is atomic. Large changes of pages are published in pieces."""
    monkeypatch.setattr(pieces, "PIECE_RRSETS", 2)
    before = Publication.objects.count()
    message = adds("192.0.2.1")
    for number in range(9):
        message.add(f"many{number}", 300, "A", "192.0.2.2")
    assert rcode_of(key.ask(message)) == "NOERROR"
    assert Publication.objects.count() == before + 1


def test_an_update_of_a_zone_that_needs_approval_is_refused_but_of_a_key_that_the_rule_names(
    zone: Zone, key: Key, alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    scope = Scope(zone=zone)
    placed = add_approval_rule(scope=scope, terms=ApprovalTerms(), reason="Four eyes", author=alice, now=NOW)
    with caplog.at_level(logging.INFO):
        assert rcode_of(key.ask(adds())) == "REFUSED"
    assert "approval from 1 person" in caplog.text
    assert holds(zone, "new.example.test.") == ()
    lift_approval_rule(rule_id=placed.pk, author=alice, now=NOW)
    terms = ApprovalTerms(tokens=[key.token])
    add_approval_rule(scope=scope, terms=terms, reason="Four eyes", author=alice, now=NOW)
    assert rcode_of(key.ask(adds("192.0.2.78"))) == "NOERROR"
    assert holds(zone, "new.example.test.") == ("192.0.2.78",)


def test_an_update_to_which_a_publish_hook_says_no_is_refused(
    zone: Zone, key: Key, alice: User, answering: Answering, caplog: pytest.LogCaptureFixture
) -> None:
    made = place_publish_hooks.add_hook(
        scope=Scope(zone=zone), terms=HookTerms(answering.url), reason="Names", author=alice, now=NOW
    )
    answering.secret = made.secret
    answering.refuse("No names like that.")
    with caplog.at_level(logging.INFO):
        assert rcode_of(key.ask(adds())) == "REFUSED"
    assert "No names like that." in caplog.text
    assert holds(zone, "new.example.test.") == ()


@pytest.mark.django_db(transaction=True)
def test_an_update_that_the_canary_refuses_is_refused_with_the_reason(
    zone: Zone, key: Key, active_node: MakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    # Regression test: clients got NOERROR for a change that was taken back two seconds later.
    Node.objects.filter(pk=active_node("canary").pk).update(is_ring0=True)
    message = adds()
    with refusing(2), caplog.at_level(logging.INFO):
        assert rcode_of(key.ask(message)) == "REFUSED"
    assert REASON in caplog.text
    assert holds(zone, "new.example.test.") == ()


@pytest.mark.django_db(transaction=True)
def test_a_retransmission_is_told_that_its_update_was_taken_back_since(zone: Zone, key: Key) -> None:
    message = adds()
    wire = key.sign(message)
    (first,) = replies(wire)
    assert rcode_of(key.read(first, message)) == "NOERROR"
    take_back(2)
    (second,) = replies(wire)
    assert rcode_of(key.read(second, message)) == "REFUSED"


def test_an_update_that_changes_nothing_publishes_nothing(zone: Zone, key: Key) -> None:
    message = dns.update.UpdateMessage("example.test.")
    message.add("www", 300, "A", "192.0.2.1")
    message.delete("nothing")
    assert rcode_of(key.ask(message)) == "NOERROR"
    assert Publication.objects.count() == 1


def test_a_retransmission_is_carried_out_once(zone: Zone, key: Key) -> None:
    message = adds()
    message.absent("new")  # would fail now
    wire = key.sign(message)
    for now in (NOW, LATER):
        (reply,) = replies(wire, now=now)
        assert rcode_of(key.read(reply, message, now=now)) == "NOERROR"
    assert Publication.objects.count() == 2


def test_a_retransmission_does_not_bring_back_what_was_deleted_meanwhile(zone: Zone, key: Key) -> None:
    wire = key.sign(adds())
    replies(wire)
    gone = dns.update.UpdateMessage("example.test.")
    gone.delete("new")
    assert rcode_of(key.ask(gone)) == "NOERROR"
    replies(wire, now=LATER)
    assert holds(zone, "new.example.test.") == ()


def test_an_update_that_changed_nothing_does_nothing_later_either(zone: Zone, key: Key) -> None:
    """Regression test: an update without effect left no trace, so a stranger could send it again later."""
    message = dns.update.UpdateMessage("example.test.")
    message.add("www", 300, "A", "192.0.2.1")
    wire = key.sign(message)
    replies(wire)
    gone = dns.update.UpdateMessage("example.test.")
    gone.delete("www")
    assert rcode_of(key.ask(gone)) == "NOERROR"
    (reply,) = replies(wire, now=LATER)
    assert rcode_of(key.read(reply, message, now=LATER)) == "NOERROR"
    assert holds(zone, "www.example.test.") == ()


def test_a_refusal_stays_one_when_the_message_comes_again(zone: Zone, key: Key) -> None:
    message = adds()
    message.present("later")
    wire = key.sign(message)
    (reply,) = replies(wire)
    assert rcode_of(key.read(reply, message)) == "NXDOMAIN"
    there = dns.update.UpdateMessage("example.test.")
    there.add("later", 300, "A", "192.0.2.9")
    assert rcode_of(key.ask(there)) == "NOERROR"
    (reply,) = replies(wire, now=LATER)
    assert rcode_of(key.read(reply, message, now=LATER)) == "NXDOMAIN"
    assert holds(zone, "new.example.test.") == ()


def test_the_same_wish_in_another_message_is_carried_out_again(zone: Zone, key: Key) -> None:
    for expected in ("NOERROR", "YXDOMAIN"):
        message = adds()
        message.absent("new")
        assert rcode_of(key.ask(message)) == expected


def test_a_prerequisite_that_does_not_hold_leaves_everything_as_it_is(zone: Zone, key: Key) -> None:
    message = adds()
    message.present("www", "A", "192.0.2.99")
    assert rcode_of(key.ask(message)) == "NXRRSET"
    assert holds(zone, "new.example.test.") == ()


def test_without_a_signature_nothing_is_changed(zone: Zone) -> None:
    assert rcode_of(unsigned(adds())) == "REFUSED"
    assert rcode_of(unsigned(adds(zone="nowhere.test."))) == "REFUSED"
    assert Publication.objects.count() == 1


def test_a_zone_that_is_not_there_or_not_to_be_known_is_notauth(make_zone: MakeZone, make_key: MakeKey) -> None:
    mine = make_zone()
    make_zone(name="other.test.")
    key = make_key(scope=(Grant(RECORD_RIGHTS | {Right.READ}, zones=frozenset({mine.pk})),))
    for name in ("other.test.", "nowhere.test.", "www.example.test."):
        assert rcode_of(key.ask(adds(zone=name))) == "NOTAUTH"
    assert rcode_of(key.ask(adds())) == "NOERROR"


def test_no_update_reaches_from_a_zone_into_the_one_around_it_or_makes_one(
    zone: Zone, make_zone: MakeZone, make_key: MakeKey
) -> None:
    inner = make_zone(name="inner.example.test.")
    nick = make_person("nick", Role.MEMBER)
    grant = Grant(EVERY_RIGHT, zones=frozenset({inner.pk}))
    GrantRow.objects.create(user=nick, grant=grant.to_json(), created_at=NOW)
    key = make_key("nick.test.", owner=User.objects.get(pk=nick.pk), scope=(grant,), permissions=frozenset())
    assert rcode_of(key.ask(adds(zone="inner.example.test."))) == "NOERROR"
    for zone_name, name in (("example.test.", "www"), ("www.example.test.", "@"), ("x.inner.example.test.", "@")):
        assert rcode_of(key.ask(adds(zone=zone_name, name=name))) == "NOTAUTH"
    assert rcode_of(key.ask(adds(zone="inner.example.test.", name="www.example.test."))) == "NOTZONE"
    assert Zone.objects.count() == 2


def test_an_acme_key_changes_its_txt_and_nothing_else(zone: Zone, make_key: MakeKey) -> None:
    scope = Grant(
        RECORD_RIGHTS | {Right.READ},
        zones=frozenset({zone.pk}),
        names=("_acme-challenge.www",),
        types=frozenset({rdtypes.TXT}),
    )
    key = make_key(scope=(scope,))
    message = dns.update.UpdateMessage("example.test.")
    message.add("_acme-challenge.www", 60, "TXT", "proof")
    assert rcode_of(key.ask(message)) == "NOERROR"
    message.add("www", 60, "A", "192.0.2.66")
    message.delete("_acme-challenge.www", "TXT", "proof")
    assert rcode_of(key.ask(message)) == "REFUSED"
    assert holds(zone, "_acme-challenge.www.example.test.", rdtypes.TXT) == ('"proof"',)
    assert holds(zone, "www.example.test.") == ("192.0.2.1", "192.0.2.2")


def test_a_key_never_may_more_than_its_owner_does_now(zone: Zone, make_key: MakeKey, alice: User) -> None:
    editor = make_person("erin", Role.EDITOR)
    key = make_key(owner=editor)
    assert rcode_of(key.ask(adds())) == "NOERROR"
    User.objects.filter(pk=editor.pk).update(role=Role.READER)
    assert rcode_of(key.ask(adds("192.0.2.80"))) == "REFUSED"
    User.objects.filter(pk=editor.pk).update(role=Role.MEMBER)
    assert rcode_of(key.ask(adds("192.0.2.81"))) == "NOTAUTH"
    User.objects.filter(pk=editor.pk).update(is_active=False)
    (reply,) = replies(key.sign(adds("192.0.2.82")))
    assert dns.message.from_wire(reply, keyring=False).tsig_error == dns.rcode.BADKEY


def test_what_would_break_the_zone_is_refused(zone: Zone, key: Key) -> None:
    message = dns.update.UpdateMessage("example.test.")
    message.add("@", 60, "DNAME", "other.test.")
    assert rcode_of(key.ask(message)) == "REFUSED"
    assert Publication.objects.count() == 1


@pytest.mark.parametrize("type_", ["DNSKEY", "CDNSKEY", "CDS"])
def test_what_the_panel_makes_of_its_own_keys_is_refused_with_the_reason(zone: Zone, key: Key, type_: str) -> None:
    sign.sign(zones=[zone], acting=Acting(None, Channel.SYSTEM, NOW))
    [own] = queries.keys_of(zone)
    message = dns.update.UpdateMessage("example.test.")
    message.add("@", 60, type_, own.ds[0] if type_ == "CDS" else own.dnskey)
    message.use_edns(0)
    reply = key.ask(message)
    assert rcode_of(reply) == "REFUSED"
    (option,) = reply.options
    assert isinstance(option, dns.edns.EDEOption)
    assert f"the panel generates the {type_} record for its own key {own.tag}" in (option.text or "")
    assert holds(zone, zone.name, dns.rdatatype.from_text(type_)) == ()


@pytest.mark.parametrize("type_", ["RRSIG", "NSEC", "NSEC3"])
def test_what_powerdns_makes_is_refused_with_the_reason(zone: Zone, key: Key, type_: str) -> None:
    texts = {
        "RRSIG": "A 13 3 60 20261224000000 20261101000000 1 example.test. AAAA",
        "NSEC": "example.test. A",
        "NSEC3": "1 0 0 - 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR A",
    }
    message = dns.update.UpdateMessage("example.test.")
    message.add("www", 60, type_, texts[type_])
    message.use_edns(0)
    reply = key.ask(message)
    assert rcode_of(reply) == "REFUSED"
    (option,) = reply.options
    assert isinstance(option, dns.edns.EDEOption)
    assert f"{type_} records can’t be edited, because PowerDNS creates them" in (option.text or "")


def test_a_refusal_is_explained_to_who_speaks_edns(zone: Zone, key: Key) -> None:
    message = adds()
    message.absent("www")
    message.use_edns(0)
    (option,) = key.ask(message).options
    assert isinstance(option, dns.edns.EDEOption)
    assert option.text == "www.example.test. has records"


def test_a_key_may_send_so_many_messages_in_a_minute(zone: Zone, make_key: MakeKey) -> None:
    key = make_key("slow.test.", requests_per_minute=2)
    assert [rcode_of(key.ask(adds(f"192.0.2.{n}"))) for n in (1, 2, 3)] == ["NOERROR", "NOERROR", "REFUSED"]
    after = NOW + timedelta(minutes=1)
    assert rcode_of(key.ask(adds("192.0.2.4"), at=after, now=after)) == "NOERROR"


def test_a_bad_signature_is_notauth_and_changes_nothing(zone: Zone, key: Key, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dnspanel")
    key.tsig = dns.tsig.Key("key.test.", b"guessed")
    (reply,) = replies(key.sign(adds()))
    found = dns.message.from_wire(reply, keyring=False)
    assert (rcode_of(found), found.tsig_error) == ("NOTAUTH", dns.rcode.BADSIG)
    assert Publication.objects.count() == 1
    assert "refused from=192.0.2.53: BADSIG for the key key.test." in caplog.text


def test_an_update_is_one_line_in_the_log_without_any_rdata(
    zone: Zone, key: Key, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dnspanel")
    key.ask(adds())
    assert caplog.messages == ["updated zone=example.test. key=key.test. from=192.0.2.53 acts=1 sequence=2"]


def test_a_database_that_is_away_is_servfail(zone: Zone, key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**_: object) -> None:
        raise DatabaseError("away")

    monkeypatch.setattr(module.zone_patches, "publish_patches", fails)
    assert rcode_of(key.ask(adds())) == "SERVFAIL"
    monkeypatch.setattr(module.tsig_signatures, "verify", lambda *_, **__: fails())
    (reply,) = replies(key.sign(adds()))
    assert rcode_of(dns.message.from_wire(reply)) == "SERVFAIL"


# Questions


@pytest.mark.parametrize("type_", ["SOA", "NS"])
def test_anybody_may_ask_for_the_soa_and_ns_of_a_zone(zone: Zone, type_: str) -> None:
    reply = unsigned(dns.message.make_query("Example.TEST.", type_))
    assert rcode_of(reply) == "NOERROR"
    assert reply.flags & dns.flags.AA
    assert [dns.rdatatype.to_text(rrset.rdtype) for rrset in reply.answer] == [type_]


def test_a_name_inside_of_a_zone_is_answered_with_its_soa_as_the_authority(zone: Zone) -> None:
    for name in ("_acme-challenge.www.example.test.", "www.example.test.", "nothing.example.test."):
        reply = unsigned(dns.message.make_query(name, "SOA"))
        assert (rcode_of(reply), reply.answer) == ("NOERROR", [])
        assert [str(rrset.name) for rrset in reply.authority] == ["example.test."]


@pytest.mark.parametrize(
    ("name", "type_"), [("test.", "SOA"), ("www.example.test.", "A"), ("example.test.", "ANY"), (".", "NS")]
)
def test_other_questions_are_refused(zone: Zone, name: str, type_: str) -> None:
    assert rcode_of(unsigned(dns.message.make_query(name, type_))) == "REFUSED"


def test_a_signed_question_has_a_signed_answer(zone: Zone, key: Key) -> None:
    reply = key.ask(dns.message.make_query("example.test.", "SOA"))
    assert (rcode_of(reply), reply.had_tsig) == ("NOERROR", True)


def test_an_answer_that_is_too_long_for_a_datagram_says_so(make_zone: MakeZone) -> None:
    servers = [f"name-server-number-{number}.some-long-name.example.net." for number in range(40)]
    make_zone(f"@ 3600 NS {' | '.join(servers)}")
    query = dns.message.make_query("example.test.", "NS")
    (short,), (full,) = replies(query.to_wire()), replies(query.to_wire(), over_tcp=True)
    assert len(short) <= 512
    assert dns.message.from_wire(short).flags & dns.flags.TC
    assert len(dns.message.from_wire(full).answer[0]) == 40


def test_other_opcodes_and_versions_of_edns_are_not_known(zone: Zone) -> None:
    inverse, status = dns.message.make_query("example.test.", "SOA"), dns.message.make_query("example.test.", "SOA")
    inverse.set_opcode(dns.opcode.IQUERY)
    status.set_opcode(dns.opcode.STATUS)
    assert [rcode_of(unsigned(message)) for message in (inverse, status)] == ["NOTIMP", "NOTIMP"]
    newer = dns.message.make_query("example.test.", "SOA")
    newer.use_edns(1)
    assert rcode_of(unsigned(newer)) == "BADVERS"


# Transfers


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("type_", ["AXFR", "IXFR"])
def test_a_signed_transfer_is_whole_and_every_message_of_it_is_signed(
    make_zone: MakeZone, key: Key, type_: str
) -> None:
    make_zone(*(f"h{number} 300 A 192.0.2.1" for number in range(3000)))
    query = dns.message.make_query("example.test.", type_)
    wires = replies(key.sign(query), over_tcp=True)
    assert len(wires) > 2
    context, records = None, 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dns.message.time.time", NOW.timestamp)
        for wire in wires:
            message = dns.message.from_wire(
                wire,
                keyring=key.tsig,
                request_mac=query.mac,
                xfr=True,
                multi=True,
                tsig_ctx=context,
                one_rr_per_rrset=True,
            )
            context, records = message.tsig_ctx, records + len(message.answer)
            assert message.had_tsig
    assert records == 3000 + 2 + 2


def test_a_transfer_needs_tcp_a_key_and_a_zone_that_it_may_know(zone: Zone, make_key: MakeKey, key: Key) -> None:
    query = dns.message.make_query("example.test.", "AXFR")
    assert rcode_of(unsigned(query, over_tcp=True)) == "REFUSED"
    assert rcode_of(key.ask(query)) == "REFUSED"
    blind = make_key("blind.test.", scope=(Grant(frozenset({Right.READ}), zones=frozenset({zone.pk + 1})),))
    query = dns.message.make_query("example.test.", "AXFR")
    assert rcode_of(blind.ask(query, over_tcp=True)) == "NOTAUTH"


# Garbage


def test_answers_are_never_answered(zone: Zone) -> None:
    assert replies(dns.message.make_response(dns.message.make_query("example.test.", "SOA")).to_wire()) == []


@pytest.mark.parametrize("length", range(12))
def test_what_is_shorter_than_a_header_is_not_answered(length: int) -> None:
    assert replies(bytes(length)) == []


def test_what_has_no_form_gets_its_header_back(zone: Zone) -> None:
    (reply,) = replies(dns.message.make_query("example.test.", "SOA", id=4711).to_wire()[:-1])
    message = dns.message.from_wire(reply)
    assert (message.id, rcode_of(message), len(reply)) == (4711, "FORMERR", 12)


@pytest.mark.parametrize("flags", [0x0000, 0x2800])
def test_a_message_without_any_question_has_no_form(zone: Zone, key: Key, flags: int) -> None:
    (reply,) = replies(b"\0\1" + flags.to_bytes(2, "big") + bytes(8))
    assert rcode_of(dns.message.from_wire(reply)) in {"FORMERR", "REFUSED"}


def test_random_bytes_and_damaged_messages_are_survived(zone: Zone, key: Key) -> None:
    """Answers contain only an rcode, and damaged messages change no zone. The seed makes failures repeatable."""
    chance = random.Random(4)
    intact = [key.sign(adds()), adds().to_wire(), dns.message.make_query("www.example.test.", "SOA").to_wire()]
    for round_ in range(3000):
        if round_ % 3 == 0:
            wire = bytearray(chance.randbytes(chance.randrange(12, 120)))
            wire[2] &= 0x2F
            wire[4:12] = bytes(chance.choice((0, 0, 0, 1, 1, 2)) for _ in range(8))
        else:
            wire = bytearray(chance.choice(intact))
            for _ in range(chance.randrange(1, 6)):
                wire[chance.randrange(2, len(wire))] = chance.randrange(256)
            if chance.random() < 0.3:
                del wire[chance.randrange(12, len(wire)) :]
        for reply in replies(bytes(wire), over_tcp=bool(round_ % 2)):
            assert len(reply) >= 12
            assert reply[:2] == wire[:2]
    # A signature doesn't cover the TTL and letter case of its own record. The update itself was never changed.
    assert holds(zone, "new.example.test.") in {(), ("192.0.2.77",)}
    assert Publication.objects.count() <= 2


def test_an_update_while_publishing_is_held_may_be_sent_again_later(zone: Zone, key: Key) -> None:
    before = Publication.objects.count()
    publish_hold.hold(reason="ns1 knows more.", now=NOW)
    reply = key.ask(adds())
    assert rcode_of(reply) == "SERVFAIL"
    assert Publication.objects.count() == before
    publish_hold.release()
    assert rcode_of(key.ask(adds(), at=LATER, now=LATER)) == "NOERROR"


def test_an_update_with_a_value_that_nodes_cannot_read_back_is_refused(
    zone: Zone, key: Key, caplog: pytest.LogCaptureFixture
) -> None:
    message = dns.update.UpdateMessage("example.test.")
    message.add("www", 60, "CAA", '0 issue ""')
    with caplog.at_level(logging.INFO):
        assert rcode_of(key.ask(message)) == "REFUSED"
    assert "SERVFAIL" in caplog.text
    assert holds(zone, "www.example.test.", rdtypes.CAA) == ()
