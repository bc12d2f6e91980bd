"""Tests of SPF lookups over DNS: the count and limits of receivers, and the resulting addresses."""

from collections.abc import Iterator

import pytest

from dnspanel.fleet.dnssec import dns_exchange
from dnspanel.fleet.dnssec.resolver import Resolver
from dnspanel.fleet.lookups import spf_lookups
from dnspanel.fleet.lookups.spf_lookups import SpfLook, follow_spf
from tests.dnspanel.fleet.dnssec.nameservers import RESOLVER, nobody, resolver_of, serving
from tests.ports import free_port

OWNER = "example.test."
RECORDS = (
    ("one.test.", "TXT", '"v=spf1 ip4:192.0.2.0/24 include:two.test -all"'),
    ("two.test.", "TXT", '"v=spf1 a:host.test mx:mx.test ip6:2001:db8::/32 ?all"'),
    ("host.test.", "A", "198.51.100.1"),
    ("mx.test.", "MX", "10 host.test."),
    ("loop.test.", "TXT", '"v=spf1 include:loop.test ~all"'),
    ("twice.test.", "TXT", '"v=spf1 a" "x"'),
    ("no-spf.test.", "TXT", '"something else"'),
    ("alias.test.", "CNAME", "two.test."),
    ("end.test.", "TXT", '"v=spf1 ip4:203.0.113.1 -all"'),
    *((f"chain{at}.test.", "TXT", f'"v=spf1 include:chain{at + 1}.test -all"') for at in range(40)),
)


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    monkeypatch.setattr(dns_exchange, "TRY_SECONDS", 0.3)
    port = free_port()
    with serving({RESOLVER: resolver_of({}, *RECORDS)}, port):
        yield Resolver(((RESOLVER, port),))


def followed(text: str, resolver: Resolver) -> SpfLook:
    return follow_spf(text, OWNER, resolver=resolver)


def test_includes_are_followed_and_each_look_up_counts(resolver: Resolver) -> None:
    look = followed("v=spf1 include:one.test ip4:192.0.2.9 ~all", resolver)
    assert [(step.depth, step.term.text, step.number) for step in look.steps] == [
        (0, "include:one.test", 1),
        (1, "ip4:192.0.2.0/24", 0),
        (1, "include:two.test", 2),
        (2, "a:host.test", 3),
        (2, "mx:mx.test", 4),
        (2, "ip6:2001:db8::/32", 0),
        (2, "?all", 0),
        (1, "-all", 0),
        (0, "ip4:192.0.2.9", 0),
        (0, "~all", 0),
    ]
    assert look.lookups == 4
    assert look.is_complete
    assert not look.is_too_much
    expected = "v=spf1 ip4:192.0.2.0/24 ip4:198.51.100.1 ip6:2001:db8::/32 ip4:192.0.2.9 ~all"
    assert look.flattened_record == expected


def test_more_than_ten_is_too_much_and_counting_ends(resolver: Resolver) -> None:
    look = followed("v=spf1 include:chain0.test ~all", resolver)
    assert look.is_too_much
    assert look.lookups == spf_lookups.MOST_LOOKUPS
    assert not look.is_complete


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("v=spf1 include:nothing.test -all", "nothing.test. doesn’t have an SPF record"),
        ("v=spf1 include:no-spf.test -all", "no-spf.test. doesn’t have an SPF record"),
        ("v=spf1 include:loop.test -all", "include each other"),
        ("v=spf1 a:nothing.test -all", "nothing.test. doesn’t have an address"),
        ("v=spf1 include:a..b -all", "isn’t a valid domain name"),
    ],
)
def test_what_receivers_cannot_follow_is_told(resolver: Resolver, text: str, fault: str) -> None:
    assert fault in " ".join(step.fault for step in followed(text, resolver).steps)


def test_look_ups_without_an_answer_are_counted(resolver: Resolver) -> None:
    look = followed("v=spf1 a:n1.test a:n2.test a:n3.test -all", resolver)
    assert look.void == 3
    assert look.is_too_void


def test_an_alias_and_a_redirect_are_followed_and_a_macro_stays(resolver: Resolver) -> None:
    assert followed("v=spf1 include:alias.test -all", resolver).lookups == 3
    redirected = followed("v=spf1 redirect=end.test", resolver)
    assert redirected.flattened_record == "v=spf1 ip4:203.0.113.1 -all"
    look = followed("v=spf1 exists:%{i}.x.test ptr a:host.test/24 -ip4:192.0.2.1 -all", resolver)
    assert look.lookups == 3
    assert look.unfollowed == ("exists:%{i}.x.test", "ptr", "a:host.test/24")
    assert not look.is_complete


def test_a_resolver_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns_exchange, "TRY_SECONDS", 0.1)
    monkeypatch.setattr(spf_lookups, "SECONDS", 0.5)
    port = free_port()
    with serving({RESOLVER: nobody}, port):
        look = followed("v=spf1 include:one.test include:two.test -all", Resolver(((RESOLVER, port),)))
    assert not look.is_complete
    assert "no answer" in look.steps[0].fault
