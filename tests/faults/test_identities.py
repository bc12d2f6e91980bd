"""Rows 43 and 46: two agents on the same files, one identity on two machines, and outdated certificates and keys."""

import shutil
import subprocess
import sys
import time

import pytest

from dnspanel.demo import ports, unprivileged
from dnspanel.demo.stack import Stack
from tests.faults import acts, forgery
from tests.faults.conftest import NewChecker
from tests.faults.member import Member
from tests.faults.panel import Panel
from tests.stack import until

pytestmark = pytest.mark.faults


@pytest.mark.row(43)
def test_a_second_agent_on_the_same_files_refuses_to_start(
    faulty: Stack, panel: Panel, member: Member, new_checker: NewChecker
) -> None:
    other = member.files.base / "second.toml"
    text = member.files.toml.read_text().replace(str(member.files.state), str(member.files.base / "second-state"))
    taken = {member.agent_port, member.dns_port, member.statistics_port, *faulty.ports.values()}
    text = text.replace(f"listen_port = {member.agent_port}", f"listen_port = {ports.choose(taken=taken)}")
    unprivileged.write(other, text)
    unprivileged.make_directory(member.files.base / "second-state")
    with new_checker(member.server) as checker:
        command = [sys.executable, "-m", "replication.agent", "run", "--config", str(other)]
        done = subprocess.run(
            [*unprivileged.prefix(), *command],
            env=faulty.env,
            cwd=unprivileged.CHECKOUT,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 1
        assert "in use by another process" in done.stderr
        checker.more(10)
    checker.judge()


@pytest.mark.row(43)
def test_an_identity_on_a_second_machine_is_noticed_and_gets_nothing(
    faulty: Stack, panel: Panel, member: Member, new_checker: NewChecker
) -> None:
    """The copy has the node's address, like a cloned machine, but its files are on another machine."""
    with new_checker(edits_per_second=5) as checker:
        checker.more(5)
        member.wait_until_in_sync()
        until(
            lambda: bool(panel.do(acts.node, name=member.name)["machine"]), seconds=60, what="the machine to be known"
        )
        member.kill_agent()
        copy = member.files.base / "clone"
        shutil.copytree(member.files.data, copy, symlinks=True)
        for path in (copy, *copy.rglob("*")):
            unprivileged.give(path)
        member.set(state_dir=str(copy / "state"))
        member.start_agent()
        until(
            lambda: bool(panel.do(acts.node, name=member.name)["other_machine"]), seconds=60, what="the panel to notice"
        )
        assert panel.do(acts.positions)["nodes"][member.name][2] != "live"
        before = panel.do(acts.node, name=member.name)["acked"]
        checker.more(10)
        assert panel.do(acts.node, name=member.name)["acked"] == before, "a second machine was sent something"
        member.kill_agent()
        member.set(state_dir=str(member.files.state))
        member.start_agent()
        panel.do(acts.keep_first_machine, name=member.name)
        member.wait_until_in_sync(seconds=120)
    checker.judge()


@pytest.mark.row(46)
def test_an_expired_certificate_concerns_its_own_node_and_is_told_in_words(
    faulty: Stack, panel: Panel, member: Member, new_checker: NewChecker
) -> None:
    with new_checker(edits_per_second=5) as checker:
        checker.more(5)
        member.kill_agent()
        certificate = panel.do(acts.expire_certificate, name=member.name)
        unprivileged.write(member.files.identity / "node.pem", certificate)
        member.start_agent()
        checker.more(10)
        until(lambda: "expired" in told(panel, member), seconds=90, what="words about the certificate")
        assert member.rcode(f"log.{checker.zone}", "TXT") == "NOERROR", "it no longer serves"
        fresh = panel.do(acts.renew_certificate, name=member.name)
        unprivileged.write(member.files.identity / "node.pem", fresh)
        member.kill_agent()
        member.start_agent()
        member.wait_until_in_sync(seconds=120)
    checker.judge()


def told(panel: Panel, node: Member) -> str:
    """Return the panel's state and events of a node, in lowercase."""
    return f"{panel.do(acts.positions)['nodes'][node.name]} {panel.do(acts.events, name=node.name)}".lower()


@pytest.mark.row(46)
def test_a_signing_key_rotated_while_a_node_was_away_reaches_it_when_it_is_back(
    faulty: Stack, panel: Panel, member: Member, new_checker: NewChecker
) -> None:
    with new_checker(edits_per_second=5) as checker:
        checker.more(5)
        member.wait_until_in_sync()
        member.kill_agent()
        panel.do(acts.make_newer_keys)
        panel.do(acts.use_newest_key)
        faulty.supervisor.stop(["publish"])  # at its next start it uses the new key
        faulty.supervisor.start(["publish"])
        checker.more(10)
        time.sleep(1)
        member.start_agent()
        member.wait_until_in_sync(seconds=120)
        wanted = set(panel.do(acts.public_keys))
        until(
            lambda: set(panel.do(forgery.status, name=member.name)["signing_keys"]) == wanted,
            seconds=120,
            what="the new list of keys at the node",
        )
    checker.judge()
