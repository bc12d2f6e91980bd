"""Ring 0, a canary and the rest on a real stack, with publications that PowerDNS 4.7 cannot serve."""

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import dns.exception
import pytest

from dnspanel.demo import unprivileged
from dnspanel.demo.demo_nodes import DemoNode
from dnspanel.demo.stack import Stack
from tests.flow.test_bootstrap import wait_for_port
from tests.flow.validator import Validator
from tests.stack import ask, new_stack, run_inside, until, wait_until_in_sync

pytestmark = pytest.mark.flow

SECONDS = 20.0
VERIFY_SECONDS = 3
# Valid for the panel, by the registry of algorithms. PowerDNS 4.7 knows only two of them, and answers SERVFAIL.
POISON = ("IPSECKEY", "10 1 3 192.0.2.38 AQIDBA==")


def change(stack: Stack, zone: str, label: str, type: str = "A", *values: str) -> int:
    name = f"{label}.{zone}" if label else zone
    return int(run_inside(stack, "stages.change", zone, name, type, *values))


def acked(stack: Stack) -> dict[str, int]:
    """Return the acknowledged sequence of each node, including ring 0."""
    found: dict[str, int] = run_inside(stack, "stages.acked")
    return found


def delivery(stack: Stack) -> dict[str, Any]:
    """Return the delivery's settings, or the defaults if none are stored."""
    found: dict[str, Any] | None = run_inside(stack, "stages.delivery")
    return found or {"stopped_reason": "", "pinned": None, "stopped_whole": False}


def answers_with(node: DemoNode, name: str, value: str) -> bool:
    return ask(node, name).rdata == (value,)


@pytest.fixture(scope="module")
def staged() -> Iterator[Stack]:
    """Start a stack with ring 0, a group with ns1, a group with ns2 and ns3, and three zones."""
    with new_stack("staged", sample_zones=False, traffic=False) as stack:
        run_inside(stack, "stages.set_up_groups", VERIFY_SECONDS)
        wait_until_in_sync(stack, seconds=60)
        yield stack


@pytest.fixture(autouse=True)
def fleet_in_sync(staged: Stack) -> Iterator[None]:
    """Wait for a fleet in sync before each test. Afterward, release stops and pins."""
    wait_until_in_sync(staged, seconds=60)
    yield
    run_inside(staged, "stages.release_delivery")
    wait_until_in_sync(staged, seconds=60)


def test_ring_0_is_first_then_the_canary_and_the_rest_once_the_canary_answered_well(staged: Stack) -> None:
    sequence = change(staged, "stages1.test.", "first", "A", "192.0.2.10")
    for node in staged.servers:
        until(
            lambda node=node: answers_with(node, "first.stages1.test.", "192.0.2.10"), seconds=SECONDS, what=node.name
        )
    wait_until_in_sync(staged)
    acks = [tuple(ack) for ack in run_inside(staged, "stages.acks_since", sequence)]
    at = dict(reversed(acks))
    assert [name for name, _ in acks][:2] == ["ring0", "ns1"]
    assert min(at["ns2"], at["ns3"]) - at["ns1"] >= VERIFY_SECONDS


def test_while_the_rest_waits_its_nodes_say_for_whom(staged: Stack) -> None:
    run_inside(staged, "stages.verify_canary_for", 20)
    change(staged, "stages1.test.", "words", "A", "192.0.2.11")
    until(lambda: answers_with(staged.nodes[0], "words.stages1.test.", "192.0.2.11"), seconds=SECONDS, what="ns1")
    until(
        lambda: run_inside(staged, "stages.descriptions_of_nodes")["ns2"][0] == "held back",
        seconds=15,
        what="ns2 is held back",
    )
    words = run_inside(staged, "stages.descriptions_of_nodes")
    assert words["ns3"][1].endswith("waiting until canary has answered correctly for 20 s.")
    assert words["fleet"] == ["ok", "Live: 3 nodes, canary"]
    assert "ring0" not in words
    run_inside(staged, "stages.verify_canary_for", VERIFY_SECONDS)


def test_a_canary_that_does_not_answer_stops_the_rest_until_a_person_resumes(staged: Stack) -> None:
    staged.supervisor.stop(["ns1-pdns"])
    try:
        sequence = change(staged, "stages1.test.", "refused", "A", "192.0.2.12")
        until(lambda: bool(delivery(staged)["stopped_reason"]), seconds=60, what="delivery stopped")
        assert "ns1 in canary rejects" in delivery(staged)["stopped_reason"]
        positions = acked(staged)
        assert positions["ring0"] >= sequence
        assert max(positions["ns2"], positions["ns3"]) < sequence
        assert ask(staged.nodes[1], "refused.stages1.test.").rcode == "NXDOMAIN"
    finally:
        staged.supervisor.start(["ns1-pdns"])
    until(lambda: acked(staged)["ns1"] >= sequence, seconds=60, what="the canary is well again")
    assert acked(staged)["ns2"] < sequence  # only a person can resume
    run_inside(staged, "stages.resume_delivery")
    until(lambda: answers_with(staged.nodes[2], "refused.stages1.test.", "192.0.2.12"), seconds=SECONDS, what="ns3")


def test_a_zone_deleted_under_its_questions_stops_at_the_canary(staged: Stack) -> None:
    """After the deletion, clients get REFUSED. The share rises at the canary, and other nodes keep the zone."""
    run_inside(staged, "stages.verify_canary_for", 20)
    over = threading.Event()

    def clients() -> None:
        while not over.is_set():
            ask(staged.nodes[0], "www.stages3.test.", timeout=5.0)
            time.sleep(0.002)

    querying = threading.Thread(target=clients)
    querying.start()
    try:
        # The baseline: wait until other tests' failures are a small share.
        until(
            lambda: run_inside(staged, "stages.share_of_failed_answers") < 0.2,
            seconds=90,
            what="good answers of the canary",
        )
        run_inside(staged, "stages.delete_zone", "stages3.test.")
        until(lambda: bool(delivery(staged)["stopped_reason"]), seconds=30, what="delivery stopped")
    finally:
        over.set()
        querying.join()
    assert "SERVFAIL or REFUSED" in delivery(staged)["stopped_reason"]
    assert ask(staged.nodes[0], "www.stages3.test.").rcode == "REFUSED"
    assert answers_with(staged.nodes[1], "www.stages3.test.", "192.0.2.1")
    assert answers_with(staged.nodes[2], "www.stages3.test.", "192.0.2.1")
    run_inside(staged, "stages.verify_canary_for", VERIFY_SECONDS)
    run_inside(staged, "stages.restore_zone", "stages3.test.")
    run_inside(staged, "stages.resume_delivery")
    until(lambda: answers_with(staged.nodes[0], "www.stages3.test.", "192.0.2.1"), seconds=SECONDS, what="it is back")


def test_a_pinned_fleet_stays_where_it_is_and_goes_on_when_it_is_unpinned(staged: Stack) -> None:
    run_inside(staged, "stages.pin_delivery")
    before = acked(staged)
    change(staged, "stages1.test.", "pinned", "A", "192.0.2.13")
    time.sleep(3)  # time for two turns of beat, in which nothing may happen
    assert acked(staged) == before
    assert ask(staged.ring0, "pinned.stages1.test.").rcode == "NXDOMAIN" if staged.ring0 else False
    run_inside(staged, "stages.unpin_delivery")
    until(lambda: answers_with(staged.nodes[2], "pinned.stages1.test.", "192.0.2.13"), seconds=SECONDS, what="ns3")


def test_a_stopped_fleet_gets_nothing_not_even_ring_0(staged: Stack) -> None:
    run_inside(staged, "stages.stop_delivery")
    before = acked(staged)
    change(staged, "stages1.test.", "stopped", "A", "192.0.2.14")
    time.sleep(3)  # as above
    assert acked(staged) == before
    run_inside(staged, "stages.resume_delivery")
    until(lambda: answers_with(staged.nodes[2], "stopped.stages1.test.", "192.0.2.14"), seconds=SECONDS, what="ns3")


def _watch_for_failures(stack: Stack, names: list[str], over: threading.Event, seen: list[str]) -> threading.Thread:
    """Query all public nodes for these names repeatedly. Collect answers that no client may get."""

    def watch() -> None:
        while not over.is_set():
            for node in stack.nodes:
                for name in names:
                    if (rcode := ask(node, name, POISON[0], timeout=5.0).rcode) in ("SERVFAIL", "FORMERR"):
                        seen.append(f"{node.name} {name} {rcode}")
            time.sleep(0.005)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_poison_is_taken_back_and_no_other_node_ever_answers_with_it_while_edits_go_on(staged: Stack) -> None:
    over, seen = threading.Event(), []
    watcher = _watch_for_failures(staged, ["poison.stages2.test."], over, seen)
    try:
        poison = change(staged, "stages2.test.", "poison", *POISON)
        after = change(staged, "stages1.test.", "beside", "A", "192.0.2.15")
        until(
            lambda: bool(run_inside(staged, "stages.failed_reason", poison)),
            seconds=40,
            what="the publication is marked",
        )
        later = change(staged, "stages2.test.", "later", "A", "192.0.2.16")
        for name, value in (("beside.stages1.test.", "192.0.2.15"), ("later.stages2.test.", "192.0.2.16")):
            for node in staged.servers:
                until(lambda n=node, a=name, v=value: answers_with(n, a, v), seconds=60, what=f"{node.name} {name}")
    finally:
        over.set()
        watcher.join()
    assert seen == []
    assert poison < after < later
    found = run_inside(staged, "stages.isolation", poison)
    assert found["reason"] == "PowerDNS failed to answer a query for poison.stages2.test. IPSECKEY: SERVFAIL."
    assert found["channel"] == "system"
    assert found["said"].startswith(f"Publication {poison} is taken back")
    assert found["merged"]
    # An earlier test's snapshot may have replaced the segment.
    assert found["one segment"] == [True] or found["pruned"]
    assert ask(staged.nodes[0], "poison.stages2.test.", "IPSECKEY").rcode == "NXDOMAIN"


def test_a_poisoned_new_zone_is_in_the_trash_and_nobody_else_ever_had_it(staged: Stack) -> None:
    over, seen = threading.Event(), []
    watcher = _watch_for_failures(staged, ["bad.stages9.test."], over, seen)
    try:
        poison = int(run_inside(staged, "stages.create", "stages9.test.", ["bad.stages9.test.", *POISON]))
        until(
            lambda: bool(run_inside(staged, "stages.failed_reason", poison)),
            seconds=40,
            what="the publication is marked",
        )
        change(staged, "stages1.test.", "after-zone", "A", "192.0.2.17")
        for node in staged.servers:
            until(lambda n=node: answers_with(n, "after-zone.stages1.test.", "192.0.2.17"), seconds=60, what=node.name)
    finally:
        over.set()
        watcher.join()
    assert seen == []
    assert {ask(node, "stages9.test.", "SOA").rcode for node in staged.servers} == {"REFUSED"}
    assert run_inside(staged, "stages.has_zone", "stages9.test.") is False


def test_a_poison_among_many_rrsets_is_found_by_its_name_and_whoever_waits_hears_of_it_at_once(staged: Stack) -> None:
    # Previously 64 of 155 RRsets were checked, so the zone stayed, with SERVFAIL at `www` "on 4/4 nodes". When it was
    # found, waiting people were told that all nodes answered.
    reason, seconds = run_inside(staged, "stages.create_poisoned", "stages8.test.", *POISON)
    assert reason.startswith("PowerDNS failed to answer a query for h77.stages8.test. ")
    assert seconds < 30
    # They are informed while servers still remove the zone.
    for node in staged.servers:
        until(lambda n=node: ask(n, "stages8.test.", "SOA").rcode == "REFUSED", seconds=60, what=node.name)


SIGNED = "signed.test."


def test_signatures_that_do_not_validate_are_stopped_at_ring_0(staged: Stack) -> None:
    keys = run_inside(staged, "stages.create_signed", SIGNED)
    wait_until_in_sync(staged, seconds=60)
    with Validator(staged.nodes, SIGNED, keys, [f"www.{SIGNED}", SIGNED, f"nothing.{SIGNED}"]) as validator:
        bad = int(run_inside(staged, "stages.missign", SIGNED))
        until(
            lambda: bool(run_inside(staged, "stages.failed_reason", bad)), seconds=40, what="the publication is marked"
        )
        reason = run_inside(staged, "stages.failed_reason", bad)
        after = change(staged, SIGNED, "after", "A", "192.0.2.20")
        until(lambda: min(acked(staged).values()) >= after, seconds=60, what="every node has what came after")
        questions = validator.questions
        until(lambda: validator.questions > questions + 100, seconds=30, what="one more round")
    sys.stdout.write(f"{reason}\n")
    assert reason.startswith(f"{SIGNED} doesn’t validate: wrong answer for {SIGNED} DNSKEY with DNSSEC")
    assert "a signature that is bogus" in reason
    assert validator.faults == [], validator.faults[:5]
    assert validator.questions > 200
    assert run_inside(staged, "stages.keys_of", SIGNED) == keys
    for node in staged.servers:
        [dnskey] = ask(node, SIGNED, "DNSKEY").rdata
        assert [str(dnskey).replace(" ", "")] == [key.replace(" ", "") for key in keys]


def test_a_poison_that_comes_to_ring_0_in_a_snapshot_reaches_no_other_node(staged: Stack) -> None:
    """Agents check only a sample of a snapshot. Previously ring 0's ack released all of it to the other nodes."""
    zone = "arriving.test."
    keys = run_inside(staged, "stages.create_signed", zone)
    for number in range(40):  # more than a sample would find
        run_inside(staged, "stages.create", f"beside{number}.test.")
    wait_until_in_sync(staged, seconds=60)
    over, seen = threading.Event(), []
    watcher = _watch_for_failures(staged, ["arrives.stages2.test."], over, seen)
    with Validator(staged.nodes, zone, keys, [f"www.{zone}", zone, f"nothing.{zone}"]) as validator:
        try:
            run_inside(staged, "stages.stop_delivery")
            poison = change(staged, "stages2.test.", "arrives", *POISON)
            bad = int(run_inside(staged, "stages.missign", zone))
            until(lambda: run_inside(staged, "stages.is_encoded"), seconds=30, what="the edits in segments")
            made = run_inside(staged, "stages.send_snapshot", "ring0")
            assert made >= bad > poison
            until(
                lambda: all(run_inside(staged, "stages.failed_reasons", poison, bad)),
                seconds=60,
                what="both are marked",
            )
            reasons = run_inside(staged, "stages.failed_reasons", poison, bad)
            after = change(staged, zone, "after", "A", "192.0.2.20")
            until(lambda: min(acked(staged).values()) >= after, seconds=60, what="every node has what came after")
            questions = validator.questions
            until(lambda: validator.questions > questions + 100, seconds=30, what="one more round")
        finally:
            over.set()
            watcher.join()
    assert run_inside(staged, "stages.waiting_snapshots") == []
    assert seen == []
    assert validator.faults == [], validator.faults[:5]
    sys.stdout.write("\n".join([*reasons, ""]))
    assert "PowerDNS failed to answer a query for arrives.stages2.test. IPSECKEY: SERVFAIL." in reasons
    assert any(
        each.startswith(f"{zone} doesn’t validate: wrong answer for {zone} DNSKEY with DNSSEC") for each in reasons
    )


# A fault outside publications: PowerDNS itself no longer returns the keys of one zone.
FAULTY = """function prequery(packet)
    local name, type = packet:getQuestion()
    if type ~= pdns.DNSKEY or tostring(name) ~= "%s" then
        return false
    end
    packet:setRcode(2)
    return true
end
"""


@contextmanager
def faulty(stack: Stack, nodes: Sequence[DemoNode], zone: str) -> Iterator[None]:
    """Let these servers answer SERVFAIL for the zone's DNSKEY inside the block."""
    for node in nodes:
        unprivileged.write(node.pdns / "faulty.lua", FAULTY % zone)
        conf = (node.pdns / "pdns.conf").read_text()
        unprivileged.write(node.pdns / "pdns.conf", f"{conf}lua-prequery-script={node.pdns / 'faulty.lua'}\n")
    started_again(stack, nodes)
    for node in nodes:
        assert ask(node, zone, "DNSKEY").rcode == "SERVFAIL"
        assert ask(node, zone, "SOA").rcode == "NOERROR"
    try:
        yield
    finally:
        for node in nodes:
            node.configure()
        started_again(stack, nodes)


def started_again(stack: Stack, nodes: Sequence[DemoNode]) -> None:
    for node in nodes:
        killed = stack.supervisor.kill(f"{node.name}-pdns")
        stack.supervisor.wait_for_another(f"{node.name}-pdns", than=killed)
    for node in nodes:
        until(lambda n=node: answers_at_all(n), seconds=30, what=node.name)


def lose_files(stack: Stack, node: DemoNode) -> None:
    """Delete the node's LMDB, and restart its agent and PowerDNS."""
    parts = [f"{node.name}-agent", f"{node.name}-pdns"]
    stack.supervisor.stop(parts)
    for path in node.pdns.glob("pdns.lmdb*"):
        path.unlink()
    stack.supervisor.start(parts[:1])
    wait_for_port(node.agent_port)
    stack.supervisor.start(parts[1:])


def answers_at_all(node: DemoNode) -> bool:
    try:
        return ask(node, "stages1.test.", "SOA", timeout=0.5).rcode == "NOERROR"
    except dns.exception.Timeout:
        return False


def test_a_zone_whose_chain_is_broken_by_no_publication_holds_up_no_other(staged: Stack) -> None:
    """The fault is at ring 0 and at the canary, which could delay all others. ns2 and ns3 still validate."""
    zone = "outside.test."
    keys = run_inside(staged, "stages.create_signed", zone)
    wait_until_in_sync(staged, seconds=60)
    at_fault = [node for node in staged.servers if node.name in ("ring0", "ns1")]
    well = [node for node in staged.servers if node not in at_fault]
    with Validator(well, zone, keys, [f"www.{zone}", zone, f"nothing.{zone}"]) as validator:
        with faulty(staged, at_fault, zone):
            own = change(staged, zone, "own", "A", "192.0.2.30")
            other = change(staged, "stages1.test.", "besides", "A", "192.0.2.31")
            for node in staged.servers:
                until(lambda n=node: answers_with(n, "besides.stages1.test.", "192.0.2.31"), seconds=60, what=node.name)
                assert answers_with(node, f"own.{zone}", "192.0.2.30")
            until(lambda: min(acked(staged).values()) >= other, seconds=60, what="every node's ack")
            assert run_inside(staged, "stages.unproven_zones") == [["ns1", zone], ["ring0", zone]]
            assert run_inside(staged, "stages.failed_reasons", own, other) == ["", ""]
            assert delivery(staged)["stopped_reason"] == ""
            host = urlsplit(staged.url).netloc
            until(lambda: bool(run_inside(staged, "stages.pages", zone, host)["alerts"]), seconds=30, what="the alert")
            told = run_inside(staged, "stages.pages", zone, host)
            # A complete snapshot arrives, too, even at a node that has lost everything.
            lost = next(node for node in at_fault if node.name == "ns1")
            lose_files(staged, lost)
            run_inside(staged, "stages.send_snapshot", "ring0")
            until(
                lambda: run_inside(staged, "stages.waiting_snapshots") == [], seconds=60, what="both have the snapshot"
            )
            until(lambda: answers_with(lost, f"own.{zone}", "192.0.2.30"), seconds=60, what="ns1 answers from it")
            assert run_inside(staged, "stages.unproven_zones") == [["ns1", zone], ["ring0", zone]]
            # A change of the signing must validate here, too. Otherwise it is withdrawn.
            bad = int(run_inside(staged, "stages.missign", zone))
            until(
                lambda: bool(run_inside(staged, "stages.failed_reason", bad)),
                seconds=60,
                what="the publication is marked",
            )
            later = change(staged, "stages1.test.", "later-still", "A", "192.0.2.32")
            until(lambda: min(acked(staged).values()) >= later, seconds=60, what="every node goes on behind it")
        until(
            lambda: run_inside(staged, "stages.unproven_zones") == [],
            seconds=90,
            what=lambda: f"the zone validates everywhere again: {run_inside(staged, 'stages.unproven_problems')}",
        )
        after = change(staged, zone, "after", "A", "192.0.2.33")
        until(lambda: min(acked(staged).values()) >= after, seconds=60, what="proved as ever")
    assert validator.faults == [], validator.faults[:5]
    sys.stdout.write(f"{told['alerts'][0]}\n")
    assert f"{zone} on ns1 and ring0 for" in told["alerts"][0]
    assert "DNSSEC validation of this zone fails" in told["zone"]
    assert "no such RRset (SERVFAIL)" in told["zone"]
    assert f'<dt>Validation failures</dt> <dd> <ul> <li> <span class="mono">{zone}</span>' in told["node"]


def test_a_ring_0_whose_powerdns_was_killed_is_started_again_and_blames_nobody(staged: Stack) -> None:
    killed = staged.supervisor.kill("ring0-pdns")
    sequence = change(staged, "stages1.test.", "killed", "A", "192.0.2.18")
    staged.supervisor.wait_for_another("ring0-pdns", than=killed)
    until(lambda: answers_with(staged.nodes[2], "killed.stages1.test.", "192.0.2.18"), seconds=60, what="ns3")
    assert run_inside(staged, "stages.failed_reason", sequence) == ""


def test_without_its_agent_ring_0_is_waited_for_as_long_as_the_setting_says(staged: Stack) -> None:
    staged.supervisor.stop(["ring0-agent"])
    try:
        sequence = change(staged, "stages1.test.", "away", "A", "192.0.2.19")
        time.sleep(5)  # some turns of beat, in which no other node may get it
        assert acked(staged)["ns1"] < sequence
        until(lambda: answers_with(staged.nodes[0], "away.stages1.test.", "192.0.2.19"), seconds=90, what="ns1")
    finally:
        staged.supervisor.start(["ring0-agent"])
