"""Rows 10, 12 to 18, 39 and 47: segments are cut, altered, forged, duplicated, out of order, old or missing."""

import base64
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dnspanel.demo.stack import Stack
from replication.errors import NodeUnreachable
from replication.node_client import NodeClient
from tests.faults import acts, forgery, lmdb_files
from tests.faults.conftest import NewChecker, Run
from tests.faults.disk import cut, flip_bit
from tests.faults.member import Member
from tests.faults.panel import ActFailed, Panel
from tests.stack import until

pytestmark = pytest.mark.faults

CURED_SECONDS = 120.0
RSS_GROWTH = 32 << 20


@pytest.fixture
def zone(panel: Panel, faulty: Stack) -> Iterator[str]:
    name = f"segment-{time.time_ns()}.test."
    panel.do(acts.create_zone, name=name)
    yield name
    panel.do(acts.delete_zone, name=name)


def edit(panel: Panel, zone: str, *, times: int = 1) -> int:
    values = [{f"www.{zone} TXT": f'"{time.monotonic_ns()} {n}"'} for n in range(times)]
    return panel.do(acts.change_many, zone=zone, values=values)


def segments_of(panel: Panel, after: int, up_to: int) -> list[dict[str, object]]:
    """Wait until segments reach `up_to`, and return the stored segments after `after`."""
    until(
        lambda: panel.do(acts.rows, sql="SELECT coalesce(max(last), 0) FROM publish_segment")[0][0] >= up_to,
        seconds=60,
        what="the edits in segments",
    )
    return panel.do(forgery.stored_segments, after=after)


def refusal(panel: Panel, node: Member, body: str) -> ActFailed:
    """Push these bytes and return the node's refusal. Check that nothing was applied. Call it without active edits."""
    node.wait_until_in_sync()
    before = lmdb_files.sequence(node.files.lmdb), panel.do(forgery.status, name=node.name)["digest_records"]
    with pytest.raises(ActFailed) as refused:
        panel.do(forgery.push, name=node.name, body=body)
    after = lmdb_files.sequence(node.files.lmdb), panel.do(forgery.status, name=node.name)["digest_records"]
    assert after == before
    return refused.value


def cut_short(sealed: str) -> str:
    content = base64.b64decode(sealed)
    return base64.b64encode(content[: len(content) // 2]).decode()


def flipped(sealed: str) -> str:
    content = bytearray(base64.b64decode(sealed))
    content[len(content) // 2] ^= 1
    return base64.b64encode(content).decode()


def lie_to(
    faulty: Stack, panel: Panel, node: Member, zone: str, damage: Callable[[Path], None], new_checker: NewChecker
) -> None:
    """Damage stored segments that a node needs. Check that the node reaches the head in another way."""
    with new_checker(edits_per_second=5) as checker:
        checker.add(node.server)
        panel.do(acts.drain, name=node.name)
        before = lmdb_files.sequence(node.files.lmdb)
        head = edit(panel, zone, times=3)
        found = segments_of(panel, before, head)
        for segment in found:
            damage(faulty.directory / "panel" / "segments" / str(segment["object"]))
        panel.do(acts.resume, name=node.name)
        cure(panel, node)
        checker.more(5)
    checker.judge()
    assert lmdb_files.sequence(node.files.lmdb) > before


def cure(panel: Panel, node: Member) -> None:
    """Let the panel find the damage, make a snapshot as its maintenance does, and send the snapshot to the node."""
    node.wait_until_in_sync(seconds=CURED_SECONDS, meanwhile=lambda: panel.do(acts.maintain))


@pytest.mark.row(10)
def test_a_segment_cut_in_the_middle_is_refused_and_fetched_again(
    faulty: Stack, panel: Panel, member: Member, zone: str, new_checker: NewChecker
) -> None:
    head = edit(panel, zone)
    sealed = str(segments_of(panel, head - 1, head)[-1]["body"])
    assert refusal(panel, member, cut_short(sealed)).kind in ("Refused", "BadSegment")
    lie_to(faulty, panel, member, zone, cut, new_checker)


@pytest.mark.row(12)
def test_a_bit_flipped_in_the_bucket_is_never_applied(
    faulty: Stack, panel: Panel, member: Member, zone: str, new_checker: NewChecker
) -> None:
    head = edit(panel, zone)
    sealed = str(segments_of(panel, head - 1, head)[-1]["body"])
    assert "signature" in str(refusal(panel, member, flipped(sealed))).lower()
    lie_to(faulty, panel, member, zone, lambda path: flip_bit(path, path.stat().st_size // 2), new_checker)


@pytest.mark.row(18)
def test_a_segment_missing_from_the_bucket_is_made_up_for_by_a_snapshot(
    faulty: Stack, panel: Panel, member: Member, zone: str, new_checker: NewChecker
) -> None:
    lie_to(faulty, panel, member, zone, Path.unlink, new_checker)


@pytest.mark.row(13)
def test_a_valid_segment_of_another_cluster_is_refused(panel: Panel, member: Member, new_checker: NewChecker) -> None:
    with new_checker(member.server, edits_per_second=2) as checker:
        checker.stop_edits()
        member.wait_until_in_sync()
        assert "cluster" in str(refusal(panel, member, panel.do(forgery.forged, name=member.name, fault="cluster")))
    checker.judge()


@pytest.mark.row(14)
def test_a_stolen_node_certificate_opens_no_door_and_signs_nothing(
    faulty: Stack, panel: Panel, member: Member, new_checker: NewChecker
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(member.files.identity / "ca.pem")
    context.load_cert_chain(member.files.identity / "node.pem", member.files.identity / "node.key")
    forged = panel.do(forgery.forged, name=member.name, fault="key")
    assert "signature" in str(refusal(panel, member, forged)).lower()
    with new_checker(edits_per_second=5) as checker:
        for node in faulty.nodes:  # a node's key gives no access to other agents
            with NodeClient("127.0.0.1", node.agent_port, context) as thief, pytest.raises(NodeUnreachable):
                thief.status()
        panel.do(acts.revoke, name=member.name)
        sequence = edit(panel, _any_zone(panel))
        checker.more(10)
        assert lmdb_files.sequence(member.files.lmdb) < sequence, "a revoked node was sent something"
    checker.judge()


def _any_zone(panel: Panel) -> str:
    name = f"any-{time.time_ns()}.test."
    panel.do(acts.create_zone, name=name)
    return name


@pytest.mark.row(15)
def test_whoever_replays_the_past_changes_nothing(
    panel: Panel, member: Member, zone: str, new_checker: NewChecker
) -> None:
    first = edit(panel, zone)
    keys = panel.do(acts.sealed_keys)
    old = segments_of(panel, first - 1, first)
    edit(panel, zone, times=3)
    with new_checker(member.server, edits_per_second=5) as checker:
        checker.more(5)
        checker.stop_edits()
        member.wait_until_in_sync()
        before = panel.do(forgery.status, name=member.name)
        for segment in old:
            ack = panel.do(forgery.push, name=member.name, body=segment["body"])
            assert ack["sequence"] == before["position"]["sequence"], "an old segment moved the node back"
        panel.do(acts.make_newer_keys)
        panel.do(acts.send_keys, name=member.name)
        known = panel.do(forgery.status, name=member.name)["signing_keys"]
        panel.do(acts.try_keys, name=member.name, sealed=keys)
        assert panel.do(forgery.status, name=member.name)["signing_keys"] == known, "an old list of keys was taken"
        assert panel.do(forgery.status, name=member.name)["digest_records"] == before["digest_records"]
    checker.judge()


@pytest.mark.row(16)
def test_duplicate_segments_are_acknowledged_and_change_nothing(
    panel: Panel, member: Member, zone: str, new_checker: NewChecker, run: Run
) -> None:
    head = edit(panel, zone, times=3)
    found = segments_of(panel, head - 3, head)
    with new_checker(member.server, edits_per_second=2) as checker:
        checker.stop_edits()
        member.wait_until_in_sync()
        before = panel.do(forgery.status, name=member.name)
        for _ in range(run.times * run.few(3, 50)):
            for segment in found:
                ack = panel.do(forgery.push, name=member.name, body=segment["body"])
                assert ack["sequence"] == before["position"]["sequence"]
                assert ack["digests"] == before["digest_main"] + before["digest_records"]
    checker.judge()


@pytest.mark.row(17)
def test_a_segment_that_comes_too_early_is_refused_as_a_gap(
    panel: Panel, member: Member, zone: str, new_checker: NewChecker, run: Run
) -> None:
    with new_checker(edits_per_second=5) as checker:
        panel.do(acts.drain, name=member.name)
        member_at = lmdb_files.sequence(member.files.lmdb)
        head = edit(panel, zone)
        head = _separately(panel, zone, head)
        early = segments_of(panel, member_at, head)[-1]
        rss = panel.do(forgery.status, name=member.name)["rss_bytes"]
        for _ in range(run.few(20, 500)):
            assert refusal_of_gap(panel, member, str(early["body"]))
        grown = panel.do(forgery.status, name=member.name)["rss_bytes"] - rss
        assert grown < RSS_GROWTH, f"the agent grew by {grown} bytes"
        panel.do(acts.resume, name=member.name)
        member.wait_until_in_sync()
    checker.judge()


def refusal_of_gap(panel: Panel, node: Member, body: str) -> bool:
    try:
        panel.do(forgery.push, name=node.name, body=body)
    except ActFailed as exc:
        return exc.kind == "Gap"
    return False


def _separately(panel: Panel, zone: str, head: int) -> int:
    """Make one more edit that is stored in a separate segment."""
    segments_of(panel, head - 1, head)
    later = edit(panel, zone)
    segments_of(panel, head, later)
    return later


@pytest.mark.row(39)
def test_what_a_later_release_writes_stops_the_node_in_words(
    panel: Panel, member: Member, zone: str, new_checker: NewChecker
) -> None:
    with new_checker(edits_per_second=5) as checker:
        checker.add(member.server)
        checker.more(5)
        checker.stop_edits()
        member.wait_until_in_sync()
        for fault in ("version", "kind"):
            refused = refusal(panel, member, panel.do(forgery.forged, name=member.name, fault=fault))
            assert refused.message, "no words"
            assert refused.message in panel.do(forgery.status, name=member.name)["refusal"]
        assert "still serving" in panel.do(forgery.status, name=member.name)["state"]
        edit(panel, zone)
        member.kill_agent()
        member.start_agent()  # another release of the agent, or the same again, continues from here
        member.wait_until_in_sync()
        assert panel.do(forgery.status, name=member.name)["refusal"] == ""
    checker.judge()
    assert checker.silent[member.name] < 10


@pytest.mark.row(47)
def test_a_store_of_segments_that_lies_and_then_dies_holds_up_nobody_for_long(
    faulty: Stack, panel: Panel, member: Member, zone: str, new_checker: NewChecker
) -> None:
    lie_to(faulty, panel, member, zone, lambda path: path.write_bytes(b"a lie" * 100), new_checker)
    store = faulty.directory / "panel" / "segments"
    away = store.with_name("segments-away")
    with new_checker(member.server) as checker:
        checker.more(10)
        store.rename(away)
        store.touch()  # a file in place of the directory, so nothing can be read or written
        try:
            checker.more(5)
        finally:
            store.unlink()
            away.rename(store)
        checker.more(10)
    checker.judge()
    assert max(checker.silent.values()) < 10
