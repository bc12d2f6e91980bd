"""The checklist for the delegation of a zone."""

from typing import Any

import pytest

from dnspanel.transfer.cutover.delegation_checklist import Point, Sides, Verdict, checklist, text_of
from dnspanel.transfer.cutover.dns_probe import Answer, Found, Server
from dnspanel.transfer.cutover.parent_servers import Delegation
from dnspanel.transfer.exports.exported_rows import Row
from replication.dns import rdata, rdtypes
from tests.people import NOW

ZONE = "move.test."
FINE, TO_DO, UNKNOWN = Verdict.FINE, Verdict.TO_DO, Verdict.UNKNOWN
SOA = "ns1.new.test. hostmaster.new.test. {} 10800 3600 604800 3600"
ROWS: list[Row] = [
    (ZONE, rdtypes.SOA, 3600, (SOA.format(10),), (), ""),
    (ZONE, rdtypes.NS, 3600, ("ns1.new.test.", "ns2.move.test."), (), ""),
    ("ns2.move.test.", rdtypes.A, 3600, ("192.0.2.2", "192.0.2.99"), ("192.0.2.99",), ""),
]
NODES = [Server("ns1", "192.0.2.1"), Server("ns2", "192.0.2.2")]
GOOD = Delegation(
    parent="test.",
    nameservers=frozenset({"ns1.new.test.", "ns2.move.test."}),
    ttl=7200,
    glue={"ns2.move.test.": {"192.0.2.2"}},
    ds=(),
)
ADDRESSES: dict[str, frozenset[str] | None] = {
    "ns1.new.test.": frozenset({"192.0.2.1"}),
    "ns2.move.test.": frozenset({"192.0.2.2"}),
}


class KnownWorld:
    """A replacement for Resolver that returns fixed delegations and addresses."""

    def __init__(
        self, delegation: Delegation | None = GOOD, addresses: dict[str, frozenset[str] | None] = ADDRESSES
    ) -> None:
        self._delegation, self._addresses = delegation, addresses

    def delegation(self, zone: str) -> Delegation | None:
        return self._delegation

    def addresses(self, name: str) -> frozenset[str] | None:
        return self._addresses.get(name)


def soa_answer(serial: int) -> Answer:
    wire = rdata.to_wire(rdtypes.SOA, SOA.format(serial))
    return Answer(0, True, (Found(ZONE, rdtypes.SOA, 3600, frozenset({wire})),))


def points(
    world: KnownWorld | None = None, rows: list[Row] = ROWS, old_soa: Answer | None = None, differences: int = 0
) -> dict[str, Point]:
    sides = Sides(ZONE, rows, old_soa or soa_answer(9), differences)
    resolver: Any = world or KnownWorld()
    return {point.code: point for point in checklist(sides, NODES, resolver, NOW)}


def test_a_zone_that_has_moved_well_has_nothing_left_to_do() -> None:
    found = points()
    assert {point.verdict for point in found.values()} == {FINE}
    assert list(found) == ["answers", "serial", "ttl", "nameservers", "parent", "glue", "ds"]


def test_differing_answers_come_first() -> None:
    found = points(differences=1)["answers"]
    assert (found.verdict, found.message) == (TO_DO, "1 answer from our nodes differs from the old server’s.")


@pytest.mark.parametrize(
    ("old", "verdict"), [(10, FINE), (9, FINE), (11, TO_DO), (2**32 - 5, FINE), (2**31 + 5, TO_DO)]
)
def test_serials_compare_as_secondaries_do(old: int, verdict: Verdict) -> None:
    assert points(old_soa=soa_answer(old))["serial"].verdict == verdict


def test_a_silent_server_has_no_serial() -> None:
    assert points(old_soa=Answer(None))["serial"].verdict == UNKNOWN


def test_long_ttls_are_listed_with_the_moment_when_caches_forget() -> None:
    rows: list[Row] = [*ROWS, ("www." + ZONE, rdtypes.A, 86_400, ("192.0.2.9",), (), "")]
    found = points(rows=rows)["ttl"]
    assert found.verdict == TO_DO
    assert found.lines == ("www A: 86400 s, cached until 2026-11-22 12:00 UTC if lowered now",)
    many: list[Row] = [(f"h{number}.{ZONE}", rdtypes.A, 7200, ("192.0.2.9",), (), "") for number in range(30)]
    assert points(rows=[*ROWS, *many])["ttl"].lines[-1] == "and 10 more with lower TTLs"


def test_name_servers_must_lead_to_our_nodes() -> None:
    astray = ADDRESSES | {"ns1.new.test.": frozenset({"192.0.2.1", "192.0.2.66"}), "ns2.move.test.": frozenset()}
    found = points(KnownWorld(addresses=astray))["nameservers"]
    assert found.verdict == TO_DO
    assert found.lines == (
        "ns1.new.test. resolves to 192.0.2.1, 192.0.2.66",
        "ns2.move.test. doesn’t resolve to a public address",
    )


def test_the_parent_is_told_what_to_remove_and_add() -> None:
    old = Delegation(parent="test.", nameservers=frozenset({"ns1.old.test.", "ns2.move.test."}), ttl=7200, ds=())
    found = points(KnownWorld(old))
    assert found["parent"].lines == (
        "remove ns1.old.test.",
        "add ns1.new.test.",
        "resolvers will follow within 7200 s (TTL at the parent)",
    )
    assert found["glue"].verdict == TO_DO
    assert found["glue"].lines == ("ns2.move.test. 192.0.2.2",)


def test_a_zone_without_a_delegation_gets_one() -> None:
    found = points(KnownWorld(Delegation(parent="test.", ds=())))["parent"]
    assert found.message == "test. doesn’t delegate the zone."
    assert found.lines == ("add ns1.new.test.", "add ns2.move.test.")


def test_ds_records_at_the_parent_stop_the_move() -> None:
    signed = Delegation(parent="test.", nameservers=GOOD.nameservers, glue=GOOD.glue, ds=("1 13 2 ab",), ds_ttl=3600)
    found = points(KnownWorld(signed))["ds"]
    assert found.verdict == TO_DO
    assert "wait 3600 s" in found.message
    assert found.lines == ("DS 1 13 2 ab",)


def test_what_is_unknown_is_not_guessed() -> None:
    found = points(KnownWorld(None, {}))
    assert {code for code, point in found.items() if point.verdict == UNKNOWN} == {
        "nameservers",
        "parent",
        "glue",
        "ds",
    }


def test_the_list_can_be_sent_around_and_stored() -> None:
    found = list(points(KnownWorld(None, {}), differences=2).values())
    text = text_of(ZONE, found)
    assert text.startswith("Delegation checklist for move.test.\n[ ] 2 answers from our nodes differ")
    assert "\n[x] Our serial 10 isn’t lower than the old server’s serial 9.\n" in text
    assert "\n[?] The glue at the parent hasn’t been checked.\n    ns2.move.test. 192.0.2.2\n" in text
    assert [Point.from_json(point.to_json()) for point in found] == found
