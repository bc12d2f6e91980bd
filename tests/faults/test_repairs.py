"""Rows 11 and 44: a node's files are altered by a flipped bit, a damaged tree or a foreign write."""

import itertools
import subprocess
import time
from collections.abc import Iterator

import pytest

from dnspanel.demo.stack import Stack
from tests.faults import acts, forgery
from tests.faults.checker import is_at_head
from tests.faults.conftest import NewChecker
from tests.faults.disk import flip_bit, offsets_of
from tests.faults.lmdb_pages import branch_pages, tear
from tests.faults.member import Member
from tests.faults.panel import Panel
from tests.stack import until

pytestmark = pytest.mark.faults

# By the fault table, plus a minute for a machine with two cores.
FOUND_SECONDS = 60.0 + 60.0
REBUILT_SECONDS = 240.0
_numbers = itertools.count(time.time_ns())


@pytest.fixture
def zone(panel: Panel, faulty: Stack, member: Member) -> Iterator[str]:
    name = f"altered-{next(_numbers)}.test."
    panel.do(acts.create_zone, name=name, values={f"www.{name} TXT": f'"needle {name}"'})
    member.wait_until_in_sync()
    yield name
    panel.do(acts.delete_zone, name=name)


def wait_until_mended(panel: Panel, node: Member, zone: str, *, seconds: float = FOUND_SECONDS) -> None:
    """Wait until the zone's divergence was found and repaired, without any other divergence."""

    def mended() -> bool:
        return [row[:1] + row[2:] for row in panel.do(acts.divergences, name=node.name)] == [[zone, True, ""]]

    try:
        until(mended, seconds=seconds, what=f"{zone} found and repaired")
    except TimeoutError as exc:
        found = panel.do(acts.divergences, name=node.name), panel.do(acts.events, name=node.name)
        raise TimeoutError(f"{exc}; the panel knows {found}; the agent said: {node.output()}") from exc


@pytest.mark.row(11)
def test_a_flipped_bit_in_a_record_is_found_and_that_zone_repaired(
    panel: Panel, member: Member, zone: str, new_checker: NewChecker
) -> None:
    with new_checker(member.server, edits_per_second=5) as checker:
        needle = f"needle {zone}".encode()
        for offset in list(offsets_of(member.files.records, needle)):
            flip_bit(member.files.records, offset, bit=1)
        panel.do(acts.check_now, name=member.name)
        wait_until_mended(panel, member, zone)
        checker.more(5)
    checker.judge()


@pytest.mark.row(11)
def test_a_tree_that_cannot_be_read_is_built_beside_and_swapped(
    panel: Panel, member: Member, zone: str, new_checker: NewChecker
) -> None:
    """Here the test restarts PowerDNS after the agent has ended it, or after it crashed at the damage."""
    values = {f"n{n}.{zone} TXT": f'"{n} {"x" * 150}"' for n in range(400)}
    panel.do(acts.change, zone=zone, values=values)
    member.wait_until_in_sync()
    with new_checker(edits_per_second=5) as checker:
        for page in branch_pages(member.files.records):
            tear(member.files.records, page)
        panel.do(acts.check_now, name=member.name)
        panel.do(acts.change, zone=zone, values={f"n7.{zone} TXT": '"touched"'})

        def is_back() -> bool:
            member.keep_running()
            panel.do(acts.maintain)
            return is_at_head(panel.do(acts.positions), member.name)

        checker.stop_edits()
        try:
            until(is_back, seconds=REBUILT_SECONDS, what=f"{member.name} on new files")
        except TimeoutError as exc:
            known = panel.do(acts.events, name=member.name), panel.do(acts.positions)
            raise TimeoutError(f"{exc}; the panel knows {known}; the agent said: {member.output()}") from exc
    checker.judge()


@pytest.mark.row(44)
def test_what_a_stranger_wrote_with_pdnsutil_is_found_and_put_right(
    panel: Panel, member: Member, zone: str, new_checker: NewChecker
) -> None:
    with new_checker(member.server, edits_per_second=5) as checker:
        checker.more(5)
        command = ["pdnsutil", f"--config-dir={member.files.conf}", "replace-rrset", zone, "www", "TXT", '"a stranger"']
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        wait_until_mended(panel, member, zone)
        assert panel.do(forgery.status, name=member.name)["diverged"] == []
        checker.more(5)
    checker.judge()
