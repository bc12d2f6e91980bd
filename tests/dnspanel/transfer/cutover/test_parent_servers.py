"""Delegations as parent name servers report them. One real PowerDNS serves parent and hosts, and is the resolver."""

import socket
from collections.abc import Iterator

import pytest

from dnspanel.transfer.cutover.parent_servers import Delegation, Resolver
from tests.oracle import powerdns

PARENT = """\
@ 3600 IN SOA ns.test. hostmaster.test. 1 10800 3600 604800 3600
@ 3600 IN NS ns.test.
ns 3600 IN A 127.0.0.1
host 300 IN A 192.0.2.7
host 300 IN AAAA 2001:db8::7
move 7200 IN NS ns1.old
move 7200 IN NS ns1.move
move 3600 IN DS 1 13 2 abababababababababababababababababababababababababababababababab
ns1.move 7200 IN A 192.0.2.1
ns1.old 7200 IN A 192.0.2.2
deep.er 7200 IN NS host
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    try:
        installation = powerdns.native()
    except powerdns.Unavailable as exc:
        pytest.skip(str(exc))
    with installation.place("parent") as place:
        place.load_zone("test.", PARENT)
        place.pdnsutil("rectify-all-zones")
        with place.server() as port:
            yield port


def resolver(port: int) -> Resolver:
    return Resolver("127.0.0.1", port, parent_port=port, allows=lambda address: True)


def test_a_delegation_comes_with_its_glue_and_ds(port: int) -> None:
    assert resolver(port).delegation("move.test.") == Delegation(
        parent="test.",
        nameservers=frozenset({"ns1.old.test.", "ns1.move.test."}),
        ttl=7200,
        glue={"ns1.move.test.": {"192.0.2.1"}, "ns1.old.test.": {"192.0.2.2"}},
        ds=("1 13 2 " + "ab" * 32,),
        ds_ttl=3600,
    )


def test_the_parent_may_be_several_labels_up(port: int) -> None:
    found = resolver(port).delegation("deep.er.test.")
    assert found is not None
    assert (found.parent, found.nameservers, found.ds) == ("test.", {"host.test."}, ())


def test_a_zone_that_is_not_delegated_has_no_nameservers(port: int) -> None:
    assert resolver(port).delegation("nobody.test.") == Delegation(parent="test.", ds=())


def test_a_host_has_its_addresses_or_none(port: int) -> None:
    one = resolver(port)
    assert one.addresses("host.test.") == {"192.0.2.7", "2001:db8::7"}
    assert one.addresses("nobody.test.") == frozenset()


def test_addresses_that_are_not_allowed_are_neither_told_nor_asked(port: int) -> None:
    one = Resolver("127.0.0.1", port, parent_port=port, allows=lambda address: address == "192.0.2.7")
    assert one.addresses("host.test.") == {"192.0.2.7"}
    assert one.delegation("move.test.") is None  # the parent's server is at 127.0.0.1


def test_queries_end_when_no_resolver_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    from dnspanel.transfer.cutover import parent_servers

    monkeypatch.setattr(parent_servers, "SECONDS", 0.05)
    queried: list[str] = []
    exchange = parent_servers._exchange

    def counted(address: str, port: int, name: str, type: int, *, is_recursive: bool = False) -> object:
        queried.append(name)
        return exchange(address, port, name, type, is_recursive=is_recursive)

    monkeypatch.setattr(parent_servers, "_exchange", counted)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        one = Resolver("127.0.0.1", silent.getsockname()[1], allows=lambda address: True)
        assert [one.addresses(f"h{number}.test.") for number in range(20)] == [None] * 20
        assert one.delegation("a.test.") is None
    assert len(queried) == 3


def test_the_root_has_no_parent() -> None:
    assert Resolver("127.0.0.1", 9, allows=lambda address: True).delegation(".") is None
