"""Comparison jobs between a real PowerDNS as the old server and another one as the panel's node."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.advisory_locks import Lock
from dnspanel.fleet.models import Node
from dnspanel.transfer.cutover import dns_probe
from dnspanel.transfer.cutover import server_comparison as cutover_check
from dnspanel.transfer.errors import WrongState
from dnspanel.transfer.exports.exported_zones import Selection
from dnspanel.transfer.models import (
    Action,
    CutoverCheck,
    CutoverDifference,
    CutoverZone,
    ImportJob,
    ImportZone,
    RunState,
)
from tests.dnspanel.fleet.conftest import active_node as active_node
from tests.dnspanel.fleet.conftest import publisher_directory as publisher_directory
from tests.dnspanel.fleet.conftest import waiting_node as waiting_node
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.oracle import powerdns
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ("a.test.", "b.test.", "c.test.")
TEXT = """\
@ 3600 IN SOA ns1.example.net. hostmaster.example.net. {serial} 10800 3600 604800 3600
@ 3600 IN NS ns1.example.net.
@ 3600 IN NS ns2.example.net.
www 300 IN A {address}
"""


@pytest.fixture(scope="module")
def ports() -> Iterator[tuple[int, int]]:
    """Run the old server and the panel's node, which differ in www.b.test. and in all serials. Yield their ports."""
    try:
        installation = powerdns.native()
    except powerdns.Unavailable as exc:
        pytest.skip(str(exc))
    with ExitStack() as stack:
        found = []
        for serial in (5, 6):
            place = stack.enter_context(installation.place(f"server{serial}"))
            for zone in NAMES:
                address = f"192.0.2.{serial}" if zone == "b.test." else "192.0.2.1"
                place.load_zone(zone, TEXT.format(serial=serial, address=address))
            found.append(stack.enter_context(place.server()))
        yield found[0], found[1]


@pytest.fixture
def check(ports: tuple[int, int], active_node: Any, make_zone: MakeZone, alice: User) -> CutoverCheck:
    """Return a waiting comparison of all zones."""
    for name in NAMES:
        make_zone("www 300 A 192.0.2.1", name=name)
    node = active_node("ns1")
    Node.objects.filter(pk=node.pk).update(dns_address="127.0.0.1", dns_port=ports[1])
    return make_check(alice, ports)


@pytest.fixture(autouse=True)
def allowed(settings: Any) -> None:
    settings.SOURCE_NETWORKS = ["127.0.0.0/8"]


def make_check(author: User, ports: tuple[int, int], **more: Any) -> CutoverCheck:
    # A resolver that refuses all queries, because this file does not test the parents' answers.
    return cutover_check.create_check(
        server="127.0.0.1", port=ports[0], author=author, now=NOW, resolver="127.0.0.1", resolver_port=ports[0], **more
    )


def done(check: CutoverCheck) -> CutoverCheck:
    cutover_check.run_check(check.pk)
    check.refresh_from_db()
    assert check.state == RunState.DONE, check.failure
    return check


def test_every_zone_is_compared_and_differences_are_kept(check: CutoverCheck) -> None:
    done(check)
    assert (check.zones, check.zones_total, check.differences, check.expected) == (3, 3, 1, 3)
    [difference] = CutoverDifference.objects.exclude(kind="serial")
    assert (difference.zone, difference.name, difference.kind) == ("b.test.", "www.b.test.", "records")
    assert (difference.old, difference.new, difference.node) == ("300 A 192.0.2.5", "300 A 192.0.2.6", "ns1")
    zone = CutoverZone.objects.get(name="b.test.")
    assert (zone.differences, zone.expected) == (1, 1)
    assert {point["code"]: point["verdict"] for point in zone.checklist}["answers"] == "to do"
    assert check.questions == sum(each.questions for each in CutoverZone.objects.all()) == 3 * 10


def test_what_a_killed_worker_recorded_is_not_queried_again(
    check: CutoverCheck, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutover_check, "_ZONES_AT_ONCE", 1)
    record = cutover_check._record
    calls = 0

    class Killed(BaseException):
        """An exception that ends the worker as a killed process would."""

    def dying(*args: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise Killed
        record(*args)

    monkeypatch.setattr(cutover_check, "_record", dying)
    with pytest.raises(Killed):
        cutover_check.run_check(check.pk)
    assert cutover_check.unfinished_checks() == [check.pk]
    assert CutoverZone.objects.count() == 1
    done(check)
    assert calls == 4
    assert (check.zones, check.differences, check.expected) == (3, 1, 3)
    assert list(CutoverZone.objects.order_by("name").values_list("name", flat=True)) == list(NAMES)


def test_a_cancelled_comparison_keeps_what_it_found(
    check: CutoverCheck, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutover_check, "_ZONES_AT_ONCE", 1)
    record = cutover_check._record

    def then_cancel(*args: Any) -> None:
        record(*args)
        cutover_check.cancel_check(check=check, by=alice, now=NOW)

    monkeypatch.setattr(cutover_check, "_record", then_cancel)
    assert cutover_check.run_check(check.pk).endswith("cancelled")
    check.refresh_from_db()
    assert (check.state, check.zones, CutoverZone.objects.count()) == (RunState.CANCELLED, 1, 1)
    with pytest.raises(WrongState):
        cutover_check.cancel_check(check=check, by=alice, now=NOW)
    assert cutover_check.run_check(check.pk).endswith("nothing to do")


def test_a_server_that_does_not_answer_ends_the_comparison(
    check: CutoverCheck, alice: User, ports: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dns_probe, "TRIES", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        CutoverCheck.objects.filter(pk=check.pk).update(port=silent.getsockname()[1])
        cutover_check.run_check(check.pk)
    check.refresh_from_db()
    assert check.state == RunState.FAILED
    assert check.failure == f"127.0.0.1 port {check.port} didn’t respond: no answer."


def test_only_the_zones_of_an_import_are_compared(check: CutoverCheck, alice: User, ports: tuple[int, int]) -> None:
    job = ImportJob.objects.create(title="x", author=alice, created_at=NOW, phase_at=NOW, source="axfr")
    for name, action in (("a.test.", Action.NOTHING), ("b.test.", Action.FAILED), ("c.test.", Action.CREATE)):
        ImportZone.objects.create(job=job, piece=1, name=name, path=name, zone_id=1, action=action)
    other = done(make_check(alice, ports, job=job))
    assert set(CutoverZone.objects.filter(check_run=other).values_list("name", flat=True)) == {"a.test.", "c.test."}


def test_a_selection_is_compared(check: CutoverCheck, alice: User, ports: tuple[int, int]) -> None:
    other = done(make_check(alice, ports, selection=Selection(search="b.test")))
    assert [zone.name for zone in CutoverZone.objects.filter(check_run=other)] == ["b.test."]


def test_only_so_many_differences_are_kept(check: CutoverCheck, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutover_check, "MOST_KEPT", 2)
    done(check)
    assert CutoverDifference.objects.count() == 2
    assert (check.differences, check.expected) == (1, 3)


def test_a_fleet_without_nodes_has_nothing_to_compare(check: CutoverCheck, alice: User, ports: Any) -> None:
    Node.objects.update(state="drained")
    with pytest.raises(WrongState, match="No active node"):
        make_check(alice, ports)


def test_one_person_cannot_start_any_number(check: CutoverCheck, alice: User, bob: User, ports: Any) -> None:
    make_check(alice, ports)
    with pytest.raises(WrongState, match="unfinished"):
        make_check(alice, ports)
    make_check(bob, ports)


def test_two_workers_do_not_work_on_one_comparison(check: CutoverCheck) -> None:
    from django.db import connection

    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [Lock.COMPARISON, check.pk])
        assert cutover_check.run_check(check.pk).endswith("another worker is at it")
        cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [Lock.COMPARISON, check.pk])
    other.close()
    done(check)
