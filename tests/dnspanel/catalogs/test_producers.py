"""Tests of consumed catalogs that Knot DNS and PowerDNS generate, with groups and changes of ownership."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.catalogs import set_up_catalogs
from dnspanel.catalogs.models import Catalog, Listing
from dnspanel.catalogs.set_up_catalogs import RuleTerms
from dnspanel.primaries import refresh
from dnspanel.primaries.set_up_primaries import Terms
from dnspanel.zones.models import Zone
from tests.dnspanel.catalogs.conftest import FIRST, MEMBER, SECOND, ZONES, follow_one, names_here, take_turns
from tests.dnspanel.transfer.running import listening, needed, run, running, sqlite_powerdns
from tests.people import NOW
from tests.ports import free_port
from tests.stack import until

pytestmark = pytest.mark.django_db(transaction=True)

ONE, TWO, THREE = ZONES[:3]
CACHES = ("cache-ttl", "query-cache-ttl", "negquery-cache-ttl")


@pytest.fixture(autouse=True)
def loopback(settings: Any) -> None:
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]


def until_members(catalog: Catalog, zones: list[str]) -> None:
    """Wait until the catalog has exactly these members. Knot generates its catalog a moment after its configuration."""

    def are_here() -> bool:
        take_turns(catalog)
        return names_here(catalog) == zones

    until(are_here, seconds=20, what=lambda: f"{names_here(catalog)} {catalog.zone.transferred.error}")


@pytest.fixture
def knot(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    """Run a Knot DNS that generates the catalog. Yield its address and a function that sets members and groups."""
    needed("knotd", "knotc")
    port, conf = free_port(), tmp_path / "knot.conf"

    def name(**groups: str) -> None:
        members = ""
        for label, group in groups.items():
            zone = f"{label}.test."
            (tmp_path / f"{zone}zone").write_text(MEMBER.format(zone))
            group = f"    catalog-group: {group}\n" if group else ""
            members += f"  - domain: {zone}\n    catalog-role: member\n    catalog-zone: {FIRST}\n{group}"
        conf.write_text(
            f"server:\n    listen: 127.0.0.1@{port}\n    rundir: {tmp_path}\n    user: root\n"
            f"database:\n    storage: {tmp_path}\nlog:\n  - target: stderr\n    any: info\n"
            f"acl:\n  - id: all\n    address: 127.0.0.1\n    action: transfer\n"
            f"template:\n  - id: default\n    storage: {tmp_path}\n    acl: all\n"
            f"zone:\n  - domain: {FIRST}\n    catalog-role: generate\n{members}"
        )

    name(member0="gold", member1="")
    with running(["knotd", "-c", conf], tmp_path / "log", listening(port)):

        def reload(**groups: str) -> None:
            name(**groups)
            run("knotc", "-b", "-c", conf, "reload")

        yield f"127.0.0.1:{port}", reload


def test_of_knot_members_come_with_their_groups_and_leave(knot: tuple[str, Any], alice: User) -> None:
    address, reload = knot
    catalog = follow_one(alice, source=Terms([address]))
    gold = RuleTerms("gold", tags=["gold"])
    set_up_catalogs.set_rules(catalog=catalog, rules=[gold], author=alice, now=NOW)
    until_members(catalog, [ONE, TWO])
    assert Zone.objects.get(name=ONE).tags == ["gold"]
    assert refresh.take_turn(zone_id=Zone.objects.get(name=ONE).pk, clock=lambda: NOW) == "axfr"
    reload(member1="", member2="gold")
    until_members(catalog, [TWO, THREE])
    assert list(Listing.objects.get(zone_name=THREE).groups) == ["gold"]


def test_of_powerdns_members_come_with_their_groups_and_move_by_coo(tmp_path: Path, alice: User) -> None:
    powerdns = sqlite_powerdns(tmp_path)
    for catalog_name in (FIRST, SECOND):
        powerdns.pdnsutil("create-zone", catalog_name)
        powerdns.pdnsutil("set-kind", catalog_name, "producer")
    for zone in (ONE, TWO):
        powerdns.load_zone(zone, f"$ORIGIN {zone}\n{MEMBER.format(zone)}")
        powerdns.pdnsutil("set-kind", zone, "primary")
        powerdns.pdnsutil("set-catalog", zone, FIRST)
    powerdns.pdnsutil("set-option", ONE, "producer", "group", "gold")
    with powerdns.server(**{"allow-axfr-ips": "127.0.0.0/8", "primary": "yes", **dict.fromkeys(CACHES, 0)}) as port:
        first, second = (follow_one(alice, name, Terms([f"127.0.0.1:{port}"])) for name in (FIRST, SECOND))
        first, second = take_turns(first), take_turns(second)
        assert (names_here(first), first.broken_reason) == ([ONE, TWO], "")
        row = Listing.objects.get(zone_name=ONE)
        assert list(row.groups) == ["gold"]
        zone = Zone.objects.get(name=ONE)
        assert refresh.take_turn(zone_id=zone.pk, clock=lambda: NOW) == "axfr"
        # Both catalogs list the zone for a while, the first with its new catalog. In PowerDNS, a zone has one catalog.
        powerdns.pdnsutil("set-option", ONE, "producer", "coo", SECOND)
        powerdns.pdnsutil("increase-serial", FIRST)
        take_turns(first)
        assert Listing.objects.get(zone_name=ONE).coo == SECOND
        powerdns.pdnsutil("set-option", ONE, "producer", "coo", "")
        powerdns.pdnsutil("set-catalog", ONE, SECOND)
        for catalog_name in (FIRST, SECOND):
            powerdns.pdnsutil("increase-serial", catalog_name)
        take_turns(second)
        take_turns(first)
    assert (names_here(first), names_here(second)) == ([TWO], [ONE])
    assert Zone.objects.get(name=ONE, deleted_at=None).pk == zone.pk
