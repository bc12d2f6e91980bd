"""Rows 34 to 38: recreated zones, renames, many changes, mistakes and bad records."""

import contextlib
import http.client
import itertools
import json
import shutil
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import Stack
from tests.faults import acts
from tests.faults.conftest import NewChecker, Run
from tests.faults.panel import ActFailed, Panel
from tests.faults.test_import_kills import Import, write_archive
from tests.flow.validator import Validator
from tests.stack import ask_all, until

pytestmark = pytest.mark.faults

INTERACTIVE_SECONDS = 2.0 * 2
_numbers = itertools.count(time.time_ns())


def fresh_name() -> str:
    return f"edit-{next(_numbers)}.test."


@pytest.mark.row(34)
def test_a_zone_deleted_and_created_again_and_again_is_its_last_life_everywhere(
    faulty: Stack, panel: Panel, new_checker: NewChecker, run: Run
) -> None:
    """The zone cycles through a new key, no signing, and the first key. The last recreation has a new key."""
    name, last, keys = fresh_name(), 20 * run.times - 1, list[dict[str, Any]]()
    with new_checker() as checker:
        for life in range(last + 1):
            if life:
                panel.do(acts.delete_zone, name=name)
            panel.do(acts.create_zone, name=name, values={f"life{life}.{name} TXT": f'"{life}"'})
            if (last - life) % 3 != 1:
                again = keys[0]["private_key"] if keys and (last - life) % 3 == 2 else None
                keys.append(panel.do(acts.sign_zone, name=name, private_key=again))
        checker.more(5)
    checker.judge()
    assert len({key["dnskey"] for key in keys}) == 1 + last // 3
    answered = {text.replace(" ", "") for answer in ask_all(faulty, name, "DNSKEY") for text in answer.rdata}
    assert answered == {keys[-1]["dnskey"].replace(" ", "")}
    validator = Validator(faulty.nodes, name, [keys[-1]["dnskey"]], [])
    for node in faulty.nodes:
        assert validator.check(node, f"life{last}.{name}", "TXT") == ""
    for life in range(last + 1):
        wanted = (f'"{life}"',) if life == last else ()
        assert {answer.rdata for answer in ask_all(faulty, f"life{life}.{name}", "TXT")} == {wanted}


@pytest.mark.row(35)
def test_renames_case_wildcards_and_empty_names_leave_no_old_key(
    faulty: Stack, panel: Panel, new_checker: NewChecker
) -> None:
    name = fresh_name()
    panel.do(acts.create_zone, name=name, values={f"old.{name} AAAA": "2001:db8::1"})

    def renamed(old: str, new: str) -> None:
        panel.do(acts.change, zone=name, values={f"{old}.{name} AAAA": None, f"{new}.{name} AAAA": "2001:db8::1"})

    with new_checker() as checker:
        renamed("old", "new")
        renamed("new", "deep.below.empty")  # this creates below.empty and empty without records
        renamed("deep.below.empty", "*.below.empty")
        renamed("*.below.empty", "*")
        panel.do(acts.change, zone=name, values={f"a.b.{name} AAAA": "2001:db8::2"})
        panel.do(acts.change, zone=name, values={f"b.{name} AAAA": "2001:db8::3", f"a.b.{name} AAAA": None})
        with pytest.raises(ActFailed):  # the same name in other case is no change
            panel.do(acts.change, zone=name, values={f"B.{name.upper()} AAAA": "2001:db8::3"})
        panel.do(acts.move_to_team, zone=name)
        checker.more(5)
    checker.judge()
    for owner, wanted in (("old", "2001:db8::1"), ("x.y", "2001:db8::1"), ("b", "2001:db8::3")):
        assert {answer.rdata for answer in ask_all(faulty, f"{owner}.{name}", "AAAA")} == {(wanted,)}
    assert {answer.rcode for answer in ask_all(faulty, f"a.b.{name}", "AAAA")} == {"NXDOMAIN"}


@pytest.fixture
def directory(faulty: Stack) -> Iterator[Any]:
    path = faulty.directory / "storm"
    unprivileged.make_directory(path)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.mark.row(36)
def test_an_edit_storm_during_an_import_starves_neither(
    faulty: Stack, panel: Panel, directory: Any, new_checker: NewChecker, run: Run
) -> None:
    archive = directory / f"estate-{next(_numbers)}.tar.gz"
    write_archive(archive, zones=run.few(1_500, 30_000), records=run.few(15_000, 300_000))
    zone, waits = fresh_name(), list[float]()
    panel.do(acts.create_zone, name=zone)
    with new_checker(zones=1, edits_per_second=1_000) as checker:  # as fast as one author can edit one zone
        job = Import(faulty, archive)
        try:
            while job.process.poll() is None:
                done = panel.do(acts.change, zone=zone, values={f"www.{zone} TXT": f'"{time.time_ns()}"'})
                waits.append(until_everywhere(panel, faulty, done["sequence"]))
        finally:
            job.wait(seconds=600)
        assert len(waits) > 2, "the import was over before anybody could edit"
    checker.judge(seconds=300)
    waits.sort()
    p99 = waits[max(0, int(len(waits) * 0.99) - 1)]
    assert p99 < INTERACTIVE_SECONDS, f"an edit took {p99:.1f} s of {len(waits)}"


def until_everywhere(panel: Panel, stack: Stack, sequence: int) -> float:
    def there() -> bool:
        nodes = panel.do(acts.positions)["nodes"]
        return all(nodes[name][1] >= sequence for name in stack.node_names)

    return until(there, seconds=60, what=f"sequence {sequence} at every node")


@pytest.mark.row(37)
def test_many_zones_deleted_by_mistake_are_held_until_a_person_confirms(
    faulty: Stack, panel: Panel, new_checker: NewChecker
) -> None:
    prefix = f"mass-{next(_numbers)}-"
    before = count_zones(panel)  # other tests leave tens of thousands of zones
    panel.do(acts.create_many, prefix=prefix, count=max(400, before // 50), owners=1)
    token = panel.do(acts.make_token)
    zones = count_zones(panel)
    few = max(25, zones // 100 + 1)  # the guard's limit: a few zones, or one in a hundred
    tried = few + 20
    with new_checker(edits_per_second=5) as checker:
        statuses = [delete_by_api(faulty, token, f"{prefix}{number}.test.") for number in range(tried)]
        assert 409 in statuses, f"nobody stopped the script: {statuses}"
        stopped = statuses.index(409)
        assert stopped <= few, f"{stopped} of {zones} zones were gone before it was stopped"
        assert set(statuses[stopped:]) == {409}
        checker.more(10)
    checker.judge()
    for number in range(stopped, tried):
        assert {answer.rcode for answer in ask_all(faulty, f"h0.{prefix}{number}.test.")} == {"NOERROR"}


def count_zones(panel: Panel) -> int:
    found = panel.do(acts.rows, sql="SELECT count(*) FROM zones_zone WHERE deleted_at IS NULL")
    return int(found[0][0])


def delete_by_api(stack: Stack, token: str, zone: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(stack.url).netloc, timeout=60)
    with contextlib.closing(connection):
        connection.request("DELETE", f"/api/v2/zones/{zone}", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        json.loads(answer.read() or b"null")
        return answer.status


# Valid for the panel, by the registry of algorithms. PowerDNS 4.7 knows only two of them, and answers SERVFAIL.
POISON = "10 1 3 192.0.2.38 AQIDBA=="


@pytest.mark.row(38)
def test_a_change_that_powerdns_cannot_answer_with_stops_at_ring_0(
    faulty: Stack, panel: Panel, new_checker: NewChecker
) -> None:
    name = fresh_name()
    panel.do(acts.create_zone, name=name)
    with new_checker(edits_per_second=5) as checker:
        checker.more(5)
        poison = panel.do(acts.change, zone=name, values={f"poison.{name} IPSECKEY": POISON})["sequence"]
        until(lambda: bool(failed_reason(panel, poison)), seconds=120, what="the poison found by ring 0")
        later = panel.do(acts.change, zone=name, values={f"later.{name} TXT": '"later"'})["sequence"]
        until_everywhere(panel, faulty, later)
        assert {answer.rcode for answer in ask_all(faulty, f"poison.{name}", "IPSECKEY")} <= {"NXDOMAIN"}
        assert {answer.rdata for answer in ask_all(faulty, f"later.{name}", "TXT")} == {('"later"',)}
        checker.more(5)
    checker.judge()


def failed_reason(panel: Panel, sequence: int) -> str:
    found = panel.do(
        acts.rows, sql="SELECT failed_reason FROM zones_publication WHERE sequence = %s", parameters=[sequence]
    )
    return str(found[0][0])
