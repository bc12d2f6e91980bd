"""Tests of the texts for agents' reports."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes.reported import explain_rebuild, read_report, release
from replication import __version__

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
WELL: dict[str, Any] = {
    "state": "in order",
    "machine": "ab" * 32,
    "map_used": 0.12,
    "disk_free_bytes": 41,
    "disk_bytes": 100,
    "versions": {"agent": __version__, "powerdns": "4.7.3", "lmdb": "0.9.31"},
    "clock": NOW.timestamp() + 0.4,
}


def node(**told: Any) -> Node:
    return Node(name="ns1", schema=4, report={**WELL, **told}, reported_at=NOW)


def test_a_well_node_gives_no_reason_for_remarks() -> None:
    reported = read_report(node())
    assert reported.remarks == ()
    assert (reported.powerdns, reported.agent, reported.lmdb) == ("4.7.3", __version__, "0.9.31")
    assert reported.disk_free_share == 0.41
    assert not reported.is_old


def test_a_node_that_was_never_heard_has_no_facts_and_no_remarks() -> None:
    reported = read_report(Node(versions={"powerdns": "4.7.3"}))
    assert (reported.heard, reported.remarks, reported.powerdns) == (False, (), "4.7.3")
    assert (reported.map_used, reported.disk_free_share, reported.clock_ahead) == (None, None, None)


@pytest.mark.parametrize(
    ("told", "remark"),
    [
        ({"wanted_schema": 5, "installed_powerdns": "4.9.5"}, "PowerDNS 4.9.5 needs a rebuild"),
        ({"wanted_schema": 6}, "PowerDNS 5.0 or 5.1 needs a rebuild"),
        ({"diverged_count": 1}, "1 zone differs"),
        ({"resolver_problem": "its resolver does not answer"}, "ALIAS resolver not found"),
        ({"diverged_count": 1200}, "1,200 zones differ"),
        ({"map_used": 0.82}, "map 82 % full"),
        ({"disk_free_bytes": 5}, "disk 95 % full"),
        ({"disk_free_inodes": 1, "disk_inodes": 100}, "disk 99 % full"),
        ({"clock": NOW.timestamp() - 310}, "clock 5 min behind"),
        ({"clock": NOW.timestamp() + 2.6}, "clock 3 s ahead"),
        ({"machine": ""}, "agent update needed"),
        ({"versions": {"agent": "0.1.0"}}, "agent outdated"),
    ],
)
def test_what_a_person_should_know(told: dict[str, Any], remark: str) -> None:
    assert read_report(node(**told)).remarks == (remark,)


def test_a_version_that_cannot_be_compared_is_not_called_older() -> None:
    reported = read_report(node(versions={"agent": "of my own"}))
    assert (reported.is_older, reported.remarks) == (None, ())


def test_the_schema_that_a_node_has_is_not_wanted_anew() -> None:
    same = node(wanted_schema=4)
    assert read_report(same).needed_schema == 0
    assert explain_rebuild(same, read_report(same)) == ""


def test_a_rebuild_is_explained_in_sentences() -> None:
    upgraded = node(wanted_schema=5, installed_powerdns="4.9.5")
    words = explain_rebuild(upgraded, read_report(upgraded))
    assert words.startswith("PowerDNS 4.9.5 on ns1 needs LMDB schema 5")


def test_releases_in_words() -> None:
    assert release(9) == "with schema 9"
