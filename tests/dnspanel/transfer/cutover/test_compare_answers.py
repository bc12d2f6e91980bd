"""Comparisons of the answers of two real PowerDNS servers."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from dnspanel.transfer.cutover import compare_answers
from dnspanel.transfer.cutover.compare_answers import Difference, compare_zones, questions_of
from dnspanel.transfer.cutover.dns_probe import Server
from dnspanel.transfer.models import DifferenceKind as Kind
from replication.dns import rdtypes
from tests.oracle import powerdns

ZONE = "move.test."
APEX = "@ 3600 IN SOA ns1.old.test. hostmaster.old.test. {serial} 10800 3600 604800 3600\n@ 3600 IN NS {ns}\n"
OLD = (
    APEX.format(serial=9, ns="ns1.old.test.")
    + """\
@ 300 IN MX 10 mail
mail 300 IN A 192.0.2.1
www 300 IN A 192.0.2.1
www 300 IN A 192.0.2.2
gone 300 IN A 192.0.2.3
ttl 300 IN A 192.0.2.4
out 300 IN CNAME www.elsewhere.test.
in 300 IN CNAME www
same 300 IN TXT "x"
"""
)
NEW = (
    APEX.format(serial=10, ns="ns1.new.test.")
    + """\
@ 300 IN MX 10 mail
mail 300 IN A 192.0.2.9
www 300 IN A 192.0.2.2
www 300 IN A 192.0.2.1
ttl 60 IN A 192.0.2.4
out 300 IN CNAME www.elsewhere.test.
in 300 IN CNAME www
same 300 IN TXT "x"
*.wild 300 IN A 192.0.2.8
"""
)
ELSEWHERE = APEX.format(serial=1, ns="ns1.old.test.") + "www 300 IN A 192.0.2.200\n"
QUESTIONS = questions_of(
    ZONE,
    [
        (f"{owner}{ZONE}", type_, 300, ("x",), (), "")
        for owner, type_ in (
            ("", rdtypes.MX),
            ("mail.", 1),
            ("www.", 1),
            ("gone.", 1),
            ("ttl.", 1),
            ("out.", 5),
            ("out.", 1),
            ("in.", 1),
            ("same.", 16),
            ("*.wild.", 1),
        )
    ],
)


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Server, Server]]:
    """Run the old server, which also serves the target zone of an alias, and the new server. Yield both."""
    try:
        installation = powerdns.native()
    except powerdns.Unavailable as exc:
        pytest.skip(str(exc))
    with ExitStack() as stack:
        found = []
        for name, text in (("old", OLD), ("new", NEW)):
            place = stack.enter_context(installation.place(name))
            place.load_zone(ZONE, text)
            if name == "old":
                place.load_zone("elsewhere.test.", ELSEWHERE)
            found.append(Server(name, "127.0.0.1", stack.enter_context(place.server())))
        yield found[0], found[1]


def test_differences_are_found_and_named(servers: tuple[Server, Server]) -> None:
    old, new = servers
    found = {(each.name.removesuffix(ZONE), each.type): each for each in compare_zones([(ZONE, QUESTIONS)], old, [new])}
    probe = next(name for name, _ in QUESTIONS if name.endswith(".wild." + ZONE)).removesuffix(ZONE)
    assert {key: each.kind for key, each in found.items()} == {
        ("", rdtypes.SOA): Kind.SERIAL,
        ("", rdtypes.NS): Kind.NAMESERVERS,
        ("mail.", rdtypes.A): Kind.RECORDS,
        ("gone.", rdtypes.A): Kind.RCODE,
        ("ttl.", rdtypes.A): Kind.TTL,
        (probe, rdtypes.A): Kind.RCODE,
    }
    assert found["mail.", 1] == Difference(
        ZONE, "mail." + ZONE, 1, Kind.RECORDS, "new", "300 A 192.0.2.1", "300 A 192.0.2.9"
    )
    assert (found["gone.", 1].old, found["gone.", 1].new) == ("300 A 192.0.2.3", "NXDOMAIN")


def test_a_server_is_no_different_from_itself(servers: tuple[Server, Server]) -> None:
    assert list(compare_zones([(ZONE, QUESTIONS)], servers[0], [servers[0], servers[0]])) == []


def test_a_server_without_the_zone_differs_in_everything(servers: tuple[Server, Server]) -> None:
    questions = [("elsewhere.test.", rdtypes.SOA), ("www.elsewhere.test.", rdtypes.A)]
    found = list(compare_zones([("elsewhere.test.", questions)], servers[0], [servers[1]]))
    assert [(each.kind, each.new) for each in found] == [(Kind.RCODE, "REFUSED, not authoritative")] * 2


def test_many_questions_are_sent_in_turns(servers: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = list(compare_zones([(ZONE, QUESTIONS)], servers[0], [servers[1]]))
    monkeypatch.setattr(compare_answers, "_QUERIES_AT_ONCE", 3)
    assert list(compare_zones([(ZONE, QUESTIONS)], servers[0], [servers[1]])) == at_once


def test_disabled_names_are_queried_and_wildcards_are_tried() -> None:
    rows = [
        ("off.a.test.", rdtypes.A, 60, ("192.0.2.1",), ("192.0.2.1",), ""),
        ("*.a.test.", rdtypes.TXT, 60, ('"x"',), (), ""),
        ("alias.a.test.", rdtypes.ALIAS, 60, ("cdn.test.",), (), ""),
    ]
    questions = questions_of("a.test.", rows)
    assert ("off.a.test.", rdtypes.A) in questions
    assert ("alias.a.test.", rdtypes.AAAA) in questions
    assert ("a.test.", rdtypes.DNSKEY) in questions
    assert not any(name.startswith("*") for name, _ in questions)
    assert len(set(questions)) == len(questions)
    assert questions == questions_of("a.test.", rows)
