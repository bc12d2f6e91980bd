"""Tests of the check of new keys in multi-signer zones, at every address of every name server."""

from collections.abc import Callable

import dns.flags
import dns.message
import dns.rrset
import pytest

from dnspanel.fleet.dnssec.keys_at_servers import look_at_signers
from dnspanel.fleet.dnssec.resolver import Resolver
from dnspanel.zones.dnssec import key_material
from tests.dnspanel.fleet.dnssec.nameservers import RESOLVER, Answers, reply_to, serving
from tests.ports import free_port

ZONE = "zone.test."
FIRST, SECOND = "127.0.0.2", "127.0.0.3"
NEW, OLD = (key_material.generate(13).public for _ in range(2))
KEYS = [(256, 13, NEW)]
TAG = key_material.key_tag(256, 13, NEW)


def has(*keys: bytes, ttl: int = 600, aa: bool = True) -> Answers:
    def answer(query: dns.message.Message, is_tcp: bool) -> dns.message.Message:
        reply = reply_to(query, aa=aa)
        texts = [key_material.dnskey_text(256, 13, key) for key in keys]
        if texts:
            reply.answer.append(dns.rrset.from_text(ZONE, ttl, "IN", "DNSKEY", *texts))
        return reply

    return answer


def addresses(query: dns.message.Message, is_tcp: bool) -> dns.message.Message:
    reply = reply_to(query, aa=False)
    [question] = query.question
    found = {"a.ns.test.": FIRST, "b.ns.test.": SECOND}.get(question.name.to_text())
    if question.rdtype == 1 and found:
        reply.answer.append(dns.rrset.from_text(question.name, 60, "IN", "A", found))
    return reply


Look = Callable[..., tuple[str, int]]


@pytest.fixture
def look() -> Look:
    port = free_port()

    def run(first: Answers, second: Answers, names: tuple[str, ...] = ("a.ns.test.", "b.ns.test.")) -> tuple[str, int]:
        with serving({RESOLVER: addresses, FIRST: first, SECOND: second}, port):
            found = look_at_signers(
                ZONE, names, KEYS, resolver=Resolver(((RESOLVER, port),)), networks=["127.0.0.0/8"], port=port
            )
        return found.lack, found.ttl

    return run


def test_every_name_server_has_to_have_the_new_key(look: Look) -> None:
    assert look(has(OLD, NEW), has(NEW, ttl=900)) == ("", 900)
    lack, ttl = look(has(OLD, NEW), has(OLD))
    assert lack == (
        f"Some name servers for {ZONE} don’t have the DNSKEY records: b.ns.test. {SECOND}: missing key {TAG}."
    )
    assert ttl == 600


@pytest.mark.parametrize(
    ("answers", "fault"),
    [
        (has(), "no DNSKEY records"),
        (has(NEW, aa=False), "not authoritative"),
        (lambda query, is_tcp: None, "no answer"),
        (has(*(key_material.generate(13).public for _ in range(65))), "more than 64 keys"),
    ],
    ids=["none", "resolver", "silent", "many"],
)
def test_an_answer_that_does_not_count_is_one_that_lacks_the_key(look: Look, answers: Answers, fault: str) -> None:
    assert look(has(NEW), answers)[0].endswith(f"b.ns.test. {SECOND}: {fault}.")


def test_a_name_server_without_an_address_and_a_zone_without_any_are_told(look: Look) -> None:
    assert "c.ns.test.: no address" in look(has(NEW), has(NEW), ("a.ns.test.", "c.ns.test."))[0]
    assert look(has(NEW), has(NEW), ()) == (f"{ZONE} has no name servers or too many (0).", 0)
