"""Tests of delegation checks over DNS: servers that answer, lame servers, and different NS sets."""

from collections.abc import Callable, Mapping

import dns.message
import dns.rcode
import dns.rrset
import pytest

from dnspanel.fleet.dnssec import dns_exchange
from dnspanel.fleet.dnssec.resolver import Resolver
from dnspanel.fleet.lookups import delegations
from dnspanel.fleet.lookups.delegations import Delegation, DelegationLook, look_up_delegations
from tests.dnspanel.fleet.dnssec.nameservers import (
    PARENT,
    RESOLVER,
    ZONE,
    Answers,
    changed,
    nobody,
    reply_to,
    resolver_of,
    serving,
)
from tests.ports import free_port

A, B, ABOVE = "127.0.9.1", "127.0.9.2", "127.0.9.3"
NS_A, NS_B = "a.ns.test.", "b.ns.test."
BOTH = (NS_A, NS_B)
Look = Callable[..., DelegationLook]


def answers(*hosts: str, aa: bool = True) -> Answers:
    """Return a server that answers with these NS records for the zone."""

    def answer(query: dns.message.Message, is_tcp: bool) -> dns.message.Message:
        assert not query.flags & dns.flags.RD
        reply = reply_to(query, aa=aa)
        if hosts:
            reply.answer.append(dns.rrset.from_text(query.question[0].name, 60, "IN", "NS", *hosts))
        return reply

    return answer


def refers(*hosts: str) -> Answers:
    """Return a parent's server that delegates the zone to these name servers."""

    def answer(query: dns.message.Message, is_tcp: bool) -> dns.message.Message:
        reply = reply_to(query, aa=not hosts)
        if hosts:
            reply.authority.append(dns.rrset.from_text(ZONE, 60, "IN", "NS", *hosts))
        return reply

    return answer


def refused(query: dns.message.Message, is_tcp: bool) -> dns.message.Message:
    reply = reply_to(query, aa=False)
    reply.set_rcode(dns.rcode.REFUSED)
    return reply


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Look:
    """Return a function that checks a delegation through servers with scripted answers."""
    monkeypatch.setattr(dns_exchange, "TRY_SECONDS", 0.3)
    port = free_port()

    def look_at(
        servers: Mapping[str, Answers],
        hosts: tuple[str, ...] = BOTH,
        networks: tuple[str, ...] = ("127.0.0.0/8",),
        known: Mapping[str, tuple[str, ...]] | None = None,
        is_own: bool = False,
    ) -> DelegationLook:
        more = [(NS_A, "A", A), (NS_B, "A", B)]
        resolver = resolver_of({"ns.parent.test.": (ABOVE,)}, *more)
        with serving({RESOLVER: resolver, **servers}, port):
            [found] = look_up_delegations(
                [Delegation(ZONE, hosts, known or {}, is_own)],
                resolver=Resolver(((RESOLVER, port),)),
                networks=networks,
                port=port,
            )
        return found

    return look_at


def test_servers_that_answer_with_authority_and_agree_are_no_fault(look: Look) -> None:
    found = look({A: answers(*BOTH), B: answers(*BOTH)})
    assert found.answering == (f"{NS_A} {A}", f"{NS_B} {B}")
    assert (found.faults, found.more, found.fewer) == ((), (), ())


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (nobody, "no answer"),
        (refused, "response code REFUSED"),
        (answers(*BOTH, aa=False), f"not authoritative for {ZONE}"),
        (answers(), f"no NS records for {ZONE}"),
    ],
    ids=["silent", "refused", "lame", "without"],
)
def test_a_server_that_does_not_answer_for_the_zone_is_named_with_the_reason(
    look: Look, server: Answers, reason: str
) -> None:
    found = look({A: answers(*BOTH), B: server})
    assert found.answering == (f"{NS_A} {A}",)
    assert found.faults == (f"{NS_B} {B}: {reason}",)
    assert (found.more, found.fewer) == ((), ())


def test_servers_that_do_not_resolve_or_are_not_public_are_not_asked(look: Look) -> None:
    found = look({A: answers(*BOTH)}, hosts=(NS_A, "gone.ns.test."))
    assert found.faults == ("gone.ns.test.: no address",)
    hidden = look({A: answers(*BOTH)}, hosts=(NS_A,), networks=())
    assert hidden.answering == ()
    assert hidden.faults == (f"{NS_A} doesn’t have a public address",)
    assert (hidden.more, hidden.fewer) == ((), ()), "nobody said anything"


def test_addresses_of_our_records_count_before_those_of_the_resolver(look: Look) -> None:
    found = look({B: answers(NS_A)}, hosts=(NS_A,), known={NS_A: (B,)})
    assert found.answering == (f"{NS_A} {B}",)


def test_sets_that_differ_are_told_in_both_directions(look: Look) -> None:
    found = look({A: answers(NS_A, "c.ns.test."), B: answers(NS_A)})
    assert (found.more, found.fewer) == (("c.ns.test.",), (NS_B,))


def test_sets_of_many_servers_are_compared_completely(look: Look) -> None:
    many = [f"b{number:02}.ns.test." for number in range(30)]
    found = look({A: answers(*many, NS_A, "z.ns.test.")}, hosts=(NS_A, *many))
    assert (found.more, found.fewer) == (("z.ns.test.",), ())


def test_the_own_servers_are_compared_with_what_the_parent_has(look: Look) -> None:
    same = look({A: answers(*BOTH), B: answers(*BOTH), ABOVE: refers(*BOTH)}, is_own=True)
    assert (same.faults, same.more, same.fewer) == ((), (), ())
    other = look({A: answers(*BOTH), B: answers(*BOTH), ABOVE: refers(NS_A, "old.ns.test.")}, is_own=True)
    assert (other.more, other.fewer) == (("old.ns.test.",), (NS_B,))
    none = look({A: answers(*BOTH), B: answers(*BOTH), ABOVE: refers()}, is_own=True)
    assert (none.more, none.fewer) == ((), BOTH)


def test_a_parent_s_server_that_has_the_zone_too_says_nothing_of_the_delegation(look: Look) -> None:
    found = look({A: answers(*BOTH), B: answers(*BOTH), ABOVE: answers("x.ns.test.")}, is_own=True)
    assert (found.faults, found.more, found.fewer) == ((), (), ())


def test_a_parent_that_does_not_answer_is_said(look: Look) -> None:
    found = look({A: answers(*BOTH), B: answers(*BOTH), ABOVE: refused}, is_own=True)
    [fault] = found.faults
    assert fault.startswith(f"no server for {PARENT} returned the name servers for {ZONE}: ns.parent.test. {ABOVE}:")
    lame = changed(refers(*BOTH), lambda reply: reply.authority.clear())
    [fault] = look({A: answers(*BOTH), B: answers(*BOTH), ABOVE: lame}, is_own=True).faults
    assert fault.endswith("not authoritative")


def test_no_more_than_so_many_are_looked_at_in_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delegations, "SECONDS", 0.0)
    many = [Delegation(f"d{number}.test.", ("a.test.",)) for number in range(delegations.MOST_DELEGATIONS + 5)]
    found = look_up_delegations(many, resolver=Resolver(((RESOLVER, free_port()),)), networks=())
    assert len(found) == delegations.MOST_DELEGATIONS
    assert all(each.faults and not each.answering for each in found)
