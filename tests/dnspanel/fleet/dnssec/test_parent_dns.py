"""Tests of queries to each server of a parent. Tests `dnssec.dns_exchange` and `dnssec.resolver` too."""

import errno
import socket
from collections.abc import Callable, Mapping
from typing import Any

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rrset
import pytest

from dnspanel.fleet.dnssec import dns_exchange, parent_dns
from dnspanel.fleet.dnssec.parent_dns import ParentLook, look_at_parent
from dnspanel.fleet.dnssec.resolver import Resolver, resolver_of_settings
from tests.dnspanel.fleet.dnssec.nameservers import (
    DS,
    OTHER,
    PARENT,
    RESOLVER,
    ZONE,
    Answers,
    changed,
    cut_short,
    has,
    nobody,
    resolver_of,
    serving,
)
from tests.oracle import powerdns
from tests.ports import free_port

LOOPBACK = ["127.0.0.0/8"]
A, B = "127.0.9.1", "127.0.9.2"
HOSTS: Mapping[str, tuple[str, ...]] = {"a.ns.test.": (A,), "b.ns.test.": (B,)}
Look = Callable[..., ParentLook]


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Look:
    """Return a function that queries the parent through servers with scripted answers."""
    monkeypatch.setattr(dns_exchange, "TRY_SECONDS", 0.3)
    port = free_port()

    def look_at(
        servers: Mapping[str, Answers], resolver: Answers | None = None, networks: list[str] = LOOPBACK
    ) -> ParentLook:
        with serving({RESOLVER: resolver or resolver_of(HOSTS), **servers}, port):
            return look_at_parent(ZONE, resolver=Resolver(((RESOLVER, port),)), networks=networks, port=port)

    return look_at


def test_every_address_of_every_server_is_asked(look: Look) -> None:
    resolver = resolver_of({"a.ns.test.": (A, "127.0.9.3"), "b.ns.test.": (B,)})
    found = look({A: has(DS), B: has(DS, OTHER, ttl=7200), "127.0.9.3": has(DS)}, resolver)
    assert found == ParentLook(
        PARENT,
        {f"a.ns.test. {A}": (DS,), "a.ns.test. 127.0.9.3": (DS,), f"b.ns.test. {B}": tuple(sorted((DS, OTHER)))},
        7200,
    )


def test_one_that_has_another_ds_or_none_is_seen(look: Look) -> None:
    found = look({A: has(OTHER), B: has(ttl=60)})
    assert (found.servers, found.ttl, found.silent) == ({f"a.ns.test. {A}": (OTHER,), f"b.ns.test. {B}": ()}, 3600, "")


def test_that_there_is_none_is_cached_for_the_lesser_of_two_times(look: Look) -> None:
    for ttl, expected in ((60, 60), (900, 300)):
        assert look({A: has(ttl=ttl), B: has(ttl=ttl)}).ttl == expected


def test_a_name_that_the_parent_does_not_have_has_no_ds(look: Look) -> None:
    gone = changed(has(), lambda reply: reply.set_rcode(dns.rcode.NXDOMAIN))
    found = look({A: gone, B: gone})
    assert (set(found.servers.values()), found.ttl, found.silent) == ({()}, 300, "")


def test_an_answer_that_is_cut_short_comes_by_tcp(look: Look) -> None:
    found = look({A: cut_short(has(DS)), B: has(DS)})
    assert (set(found.servers.values()), found.silent) == ({(DS,)}, "")


def _lame(reply: dns.message.Message) -> None:
    reply.flags &= ~dns.flags.AA


def _refused(reply: dns.message.Message) -> None:
    reply.answer.clear()
    reply.set_rcode(dns.rcode.REFUSED)


def _of_the_zone_itself(reply: dns.message.Message) -> None:
    reply.answer.clear()
    reply.authority.append(dns.rrset.from_text(ZONE, 60, "IN", "SOA", "ns. hostmaster. 1 2 3 4 5"))


def _nothing(reply: dns.message.Message) -> None:
    reply.answer.clear()


def _many(reply: dns.message.Message) -> None:
    texts = [f"{number} 13 2 {'ab' * 32}" for number in range(65)]
    reply.answer[:] = [dns.rrset.from_text(ZONE, 60, "IN", "DS", *texts)]


def _another_question(reply: dns.message.Message) -> None:
    reply.question[0].name = dns.name.from_text("other.parent.test.")


def _another_id(reply: dns.message.Message) -> None:
    reply.id ^= 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_lame, "not authoritative for parent.test."),
        (_refused, "REFUSED"),
        (_of_the_zone_itself, "answer from zone.parent.test. instead of parent.test."),
        (_nothing, "no DS records and no denial from parent.test."),
        (_many, "more than 64 DS records"),
        (_another_question, "no answer"),
        (_another_id, "no answer"),
    ],
)
def test_an_answer_that_is_not_the_parents_does_not_count(
    look: Look, change: Callable[[dns.message.Message], None], message: str
) -> None:
    wrong = changed(has(DS), change)
    found = look({A: cut_short(wrong) if change is _many else wrong, B: has(DS)})
    assert found.servers == {f"b.ns.test. {B}": (DS,)}
    assert found.silent == f"Some servers for parent.test. didn’t respond: a.ns.test. {A}: {message}."


@pytest.mark.parametrize("reply", [b"\0" * 5, b"\xff" * 600])
def test_bytes_that_are_no_message_are_no_answer(look: Look, reply: bytes) -> None:
    def garbage(query: dns.message.Message, is_tcp: bool) -> bytes:
        return query.id.to_bytes(2, "big") + reply

    found = look({A: garbage, B: cut_short(garbage)})
    assert found.servers == {}
    assert f"a.ns.test. {A}: no answer" in found.silent
    assert f"b.ns.test. {B}: truncated over UDP, then over TCP: malformed answer" in found.silent


def test_one_that_is_silent_is_named_and_asked_twice(look: Look) -> None:
    queries: list[int] = []

    def second_time(query: dns.message.Message, is_tcp: bool) -> "dns.message.Message | bytes | None":
        queries.append(query.id)
        return has(DS)(query, is_tcp) if len(queries) == 2 else None

    found = look({A: nobody, B: second_time})
    assert found.silent == f"Some servers for parent.test. didn’t respond: a.ns.test. {A}: no answer."
    assert found.servers == {f"b.ns.test. {B}": (DS,)}


def test_a_name_server_behind_an_alias_is_asked(look: Look) -> None:
    resolver = resolver_of({"b.ns.test.": (B,)}, (PARENT, "NS", "a.ns.test."), ("a.ns.test.", "CNAME", "c.ns.test."),
                           ("c.ns.test.", "A", A))  # fmt: skip
    assert look({A: has(DS), B: has(DS)}, resolver).servers.keys() == {f"a.ns.test. {A}", f"b.ns.test. {B}"}


def test_aliases_in_a_circle_are_no_address(look: Look) -> None:
    resolver = resolver_of({"b.ns.test.": (B,)}, (PARENT, "NS", "a.ns.test."), ("a.ns.test.", "CNAME", "a.ns.test."))
    found = look({B: has(DS)}, resolver)
    assert "a.ns.test." in found.silent
    assert found.servers == {f"b.ns.test. {B}": (DS,)}


def test_a_name_server_without_an_address_is_named(look: Look) -> None:
    found = look({B: has(DS)}, resolver_of({"a.ns.test.": (), "b.ns.test.": (B,)}))
    assert found.silent == "Some servers for parent.test. didn’t respond: a.ns.test.: no address."


def test_addresses_that_the_panel_may_not_ask_are_neither_asked_nor_told(look: Look) -> None:
    def never(query: dns.message.Message, is_tcp: bool) -> None:
        raise AssertionError(query)

    found = look({A: never, B: has(DS)}, networks=[f"{B}/32"])
    assert found.silent == ("Some servers for parent.test. didn’t respond: a.ns.test. doesn’t have a public address.")
    assert found.servers.keys() == {f"b.ns.test. {B}"}


def test_more_servers_than_can_be_asked_are_not_asked(look: Look) -> None:
    many = {f"{number}.ns.test.": (A,) for number in range(33)}
    assert look({}, cut_short(resolver_of(many))).silent == "parent.test. has more than 32 name servers."
    many = {f"{number}.ns.test.": (A, B, "127.0.9.3") for number in range(22)}
    assert look({}, cut_short(resolver_of(many))).silent == (
        "The name servers for parent.test. have more than 64 addresses."
    )


def test_a_family_without_a_route_is_left_out_where_names_have_the_other(
    look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel reports the missing IPv6 route at once. A patch does it on machines with IPv6."""
    monkeypatch.setattr(parent_dns, "has_route", lambda address, port: ":" not in address)
    networks = [*LOOPBACK, "fd00::/8"]
    both = resolver_of({"a.ns.test.": (A, "fd00::1"), "b.ns.test.": (B,)})
    found = look({A: has(DS), B: has(DS)}, both, networks)
    assert (found.servers.keys(), found.silent) == ({f"a.ns.test. {A}", f"b.ns.test. {B}"}, "")
    only = resolver_of({"a.ns.test.": ("fd00::1",), "b.ns.test.": (B,)})
    assert "a.ns.test. fd00::1: " in look({B: has(DS)}, only, networks).silent


@pytest.mark.parametrize(
    ("number", "expected"), [(errno.ENETUNREACH, False), (errno.EADDRNOTAVAIL, False), (errno.EPERM, True)]
)
def test_what_the_kernel_says_of_a_route(monkeypatch: pytest.MonkeyPatch, number: int, expected: bool) -> None:
    class Refusing(socket.socket):
        def connect(self, address: object) -> None:
            raise OSError(number, "no")

    assert dns_exchange.has_route("127.0.0.1")
    monkeypatch.setattr(socket, "socket", Refusing)
    assert dns_exchange.has_route("127.0.0.1") is expected


def test_a_resolver_that_is_silent_or_broken_is_said(look: Look) -> None:
    assert look({}, nobody).silent == "zone.parent.test.’s parent couldn’t be found: resolver: no answer."
    broken = changed(resolver_of({}), lambda reply: reply.set_rcode(dns.rcode.SERVFAIL))
    assert look({}, broken).silent == (
        "zone.parent.test.’s parent couldn’t be found: the resolver answered SERVFAIL for parent.test.."
    )


def test_the_next_resolver_is_asked_when_one_is_silent(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    with serving({RESOLVER: nobody, "127.0.9.5": resolver_of(HOSTS)}, port):
        monkeypatch.setattr(dns_exchange, "TRY_SECONDS", 0.2)
        found = Resolver(((RESOLVER, port), ("127.0.9.5", port))).zone_of("a.b.c.parent.test.", deadline=2**62)
        assert (found.name, found.nameservers) == (PARENT, tuple(HOSTS))


def test_the_root_has_no_parent() -> None:
    assert look_at_parent(".", resolver=Resolver(()), networks=[]).silent == "The root zone doesn’t have a parent."


def test_resolvers_are_those_of_the_settings_else_the_systems(settings: Any) -> None:
    settings.DNS_RESOLVERS = ["192.0.2.53", "[2001:db8::53]:5300"]
    assert resolver_of_settings().servers == (("192.0.2.53", 53), ("2001:db8::53", 5300))
    settings.DNS_RESOLVERS = []
    assert all(port == 53 for _, port in resolver_of_settings().servers)


def test_a_powerdns_says_what_it_holds() -> None:
    """The same server is the resolver and the parent."""
    try:
        installation = powerdns.native()
    except powerdns.Unavailable as exc:
        pytest.skip(str(exc))
    lines = "@ 3600 IN SOA ns.test. hostmaster.test. 1 10800 3600 604800 900\n@ 3600 IN NS ns.test.\n"
    lines += f"ns 3600 IN A 127.0.0.1\nsigned.deep 7200 IN NS ns.elsewhere.test.\nsigned.deep 3600 IN DS {DS}\n"
    lines += "plain 7200 IN NS ns.elsewhere.test.\n"
    with installation.place("parent") as place:
        place.load_zone("test.", lines)
        place.pdnsutil("rectify-all-zones")
        with place.server() as port:
            resolver = Resolver((("127.0.0.1", port),))
            for zone, expected, ttl in (("signed.deep.test.", (DS,), 3600), ("plain.test.", (), 900)):
                found = look_at_parent(zone, resolver=resolver, networks=LOOPBACK, port=port)
                assert found == ParentLook("test.", {"ns.test. 127.0.0.1": expected}, ttl)
