"""A real dnsdist in front of two real nodes. One node no longer accepts changes.

Tests `front.dnsdist` and `front.__main__` too.
"""

import contextlib
import json
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from replication import verify
from replication.errors import BadBytes, NotServed
from replication.front.front import Front
from replication.front.front_config import FrontConfig, read_config
from tests.ports import free_port
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.servers import PDNS_SERVER, short_directory
from tests.replication.front.servers import RunningDnsdist, two_nodes, until
from tests.replication.panel import Panel, records, small_zone

ZONE = "example.test."
WWW = "www.example.test."
ROOT = Path(__file__).parents[3]

if PDNS_SERVER is None or shutil.which("dnsdist") is None:
    pytest.skip("pdns_server or dnsdist is not installed", allow_module_level=True)


@dataclass
class Site:
    """Two nodes, a dnsdist in front of them, and a front that runs a check when a test calls it."""

    panel: Panel
    nodes: list[RunningNode]
    path: Path
    config: FrontConfig
    front: Front
    dnsdist: RunningDnsdist

    def push(self, sealed: bytes, *to: int) -> None:
        for at in to:
            self.nodes[at].client.push(sealed, len(sealed))

    def answer(self) -> str:
        """Return the address that a client gets, or the rcode if there is none."""
        message = verify.ask("127.0.0.1", self.config.listen[0].port, WWW, 1, 5)
        found = [data.to_text() for rrset in message.answer for data in rrset]
        return found[0] if found else message.rcode().name

    def answers(self) -> set[str]:
        return {self.answer() for _ in range(40)}

    def states(self) -> list[str]:
        return [server.state for server in self.front.numbers().servers]

    def has_states(self, *states: str) -> bool:
        with contextlib.suppress(NotServed):
            return self.states() == list(states)
        return False

    def www(self, last: int) -> bytes:
        return self.panel.change(ZONE, records(ZONE, "www", "A", 300, f"192.0.2.{last}"))


@pytest.fixture
def site(panel: Panel) -> Iterator[Site]:
    with contextlib.ExitStack() as stack:
        nodes = stack.enter_context(two_nodes())
        created = panel.create(small_zone(ZONE))
        for node in nodes:
            node.client.push(created, len(created))
        directory = stack.enter_context(short_directory())
        path = directory / "front.toml"
        backends = "".join(
            f'[[backends]]\nname = "ns{at}"\naddress = "127.0.0.1:{node.pdns.port}"\nweight = {1 + at}\n'
            for at, node in enumerate(nodes)
        )
        path.write_text(
            f'state_dir = "state"\nlisten = ["127.0.0.1:{free_port()}"]\ncores = 2\n'
            f"control_port = {free_port()}\napi_port = {free_port()}\n{backends}"
        )
        config = read_config(path)
        front = Front(config)
        assert front.write()
        dnsdist = RunningDnsdist(config)
        stack.callback(dnsdist.kill)
        dnsdist.start()
        site = Site(panel, nodes, path, config, front, dnsdist)
        until(lambda: site.has_states("up", "up"), "both nodes are in rotation")
        yield site


def test_a_node_that_stops_taking_changes_leaves_rotation_and_comes_back(site: Site) -> None:
    site.front.look(0.0)
    change = site.www(2)
    site.push(change, 0)
    site.front.look(1.0)
    assert site.answers() == {"192.0.2.1", "192.0.2.2"}, "a change needs its moment"
    verdicts = site.front.look(2.0).verdicts
    assert (verdicts["ns1"].is_in, verdicts["ns1"].behind) == (False, 1)
    assert site.states() == ["up", "DOWN"]
    assert site.answers() == {"192.0.2.2"}
    site.push(change, 1)
    site.front.look(3.0)
    until(lambda: site.has_states("up", "up"), "the node is in rotation again")
    assert site.answers() == {"192.0.2.2"}


def test_a_dnsdist_that_is_killed_begins_with_the_rotation_that_was(site: Site) -> None:
    site.front.look(0.0)
    site.push(site.www(2), 0)
    site.front.look(1.0)
    site.front.look(2.0)
    site.dnsdist.kill()
    site.front.look(3.0)
    site.dnsdist.start()
    until(lambda: site.has_states("up", "DOWN"), "dnsdist runs again")
    assert site.answers() == {"192.0.2.2"}
    site.dnsdist.kill()
    (site.config.rotation_dir / "rotation.conf").unlink()
    site.dnsdist.start()
    until(lambda: site.has_states("up", "up"), "dnsdist runs, and was told nothing")
    site.front.look(4.0)
    assert site.states() == ["up", "DOWN"], "what dnsdist does is compared each time"


def test_never_fewer_than_the_minimum_are_left(site: Site) -> None:
    front = Front(replace(site.config, minimum=2))
    front.look(0.0)
    site.push(site.www(2), 0)
    front.look(1.0)
    verdict = front.look(9.0).verdicts["ns1"]
    assert verdict.is_in
    assert (
        verdict.reason == "The node has been 1 change behind for 8.0 s. The node stays in rotation because "
        "at least 2 nodes must remain."
    )
    site.nodes[0].pdns.kill()
    until(lambda: site.has_states("down", "up"), "dnsdist finds out by itself who does not answer")
    Front(site.config).look(10.0)
    assert site.answers() == {"192.0.2.1"}, "an old answer, where nobody has a newer one"


def test_nothing_stale_comes_out_of_the_cache_once_a_look_saw_the_change(site: Site) -> None:
    front = Front(replace(site.config, cache_entries=1000))
    assert front.write()
    assert site.dnsdist.wait() == 0, "the running one was ended, for its supervisor to start it again"
    site.dnsdist.start()
    until(lambda: site.has_states("up", "up"), "both nodes are in rotation")
    for last in range(2, 60):
        before = site.answers()
        site.push(site.www(last), 0, 1)
        front.look(float(last))
        assert site.answers() == {f"192.0.2.{last}"}, before
    assert front.numbers().cache_hits > 2000


def test_a_configuration_with_which_dnsdist_would_not_start_changes_nothing(site: Site) -> None:
    before = site.config.conf_path.read_text()
    assert not site.front.write(), "it is written"
    broken = replace(site.config, tls_certificate="/nowhere.pem", tls_key="/nowhere.key")
    with pytest.raises(BadBytes, match=r"/nowhere\.pem"):
        Front(broken).write()
    (site.config.rotation_dir / "rotation.conf").write_text("getServer(")
    with pytest.raises(BadBytes, match=r"dnsdist\.conf"):
        Front(replace(site.config, cores=1)).write()
    assert site.config.conf_path.read_text() == before
    assert site.answers() == {"192.0.2.1"}


def test_clients_may_ask_over_tls_and_https(site: Site) -> None:
    certificate, key = site.nodes[0].authority.issue("localhost", "front")
    dot, doh = free_port(), free_port()
    files = {"tls_certificate": str(certificate), "tls_key": str(key)}
    assert Front(replace(site.config, dot_port=dot, doh_port=doh, **files)).write()
    assert site.dnsdist.wait() == 0
    site.dnsdist.start()
    until(lambda: site.has_states("up", "up"), "both nodes are in rotation")
    for way, port in (("+tls", dot), ("+https", doh)):
        kdig = subprocess.run(
            ["kdig", way, "+short", "@127.0.0.1", "-p", str(port), WWW], capture_output=True, text=True, check=False
        )
        assert kdig.stdout == "192.0.2.1\n", kdig.stderr
    numbers = site.front.numbers()
    assert (numbers.queries, numbers.tcp) == (2, 2), "each is counted once"


def test_a_renewed_certificate_is_read_by_the_dnsdist_that_runs_once_it_fits(site: Site) -> None:
    certificate, key = site.nodes[0].authority.issue("localhost", "front")
    config = replace(site.config, dot_port=free_port(), doh_port=free_port())
    front = Front(replace(config, tls_certificate=str(certificate), tls_key=str(key)))
    assert front.write()
    assert site.dnsdist.wait() == 0
    site.dnsdist.start()
    until(lambda: site.has_states("up", "up"), "both nodes are in rotation")
    front.look(0.0)

    def served() -> set[str]:
        return {ssl.get_server_certificate(("127.0.0.1", port)) for port in (config.dot_port, config.doh_port)}

    former, former_key = certificate.read_text(), key.read_text()
    assert served() == {former}
    site.nodes[0].authority.issue("localhost", "front")
    renewed_key = key.read_text()
    key.write_text(former_key)
    front.look(1.0)
    assert served() == {former}, "one of the two alone does not fit"
    key.write_text(renewed_key)
    front.look(2.0)
    assert served() == {certificate.read_text()} != {former}
    assert site.dnsdist.runs


def test_transfers_and_changes_do_not_come_this_way(site: Site) -> None:
    port = site.config.listen[0].port
    axfr = subprocess.run(
        ["dig", "+tcp", "@127.0.0.1", "-p", str(port), ZONE, "AXFR"], capture_output=True, text=True, check=False
    )
    assert "Transfer failed" in axfr.stdout
    update = f"server 127.0.0.1 {port}\nzone {ZONE}\nupdate add {WWW} 60 A 192.0.2.9\nsend\n"
    refused = subprocess.run(["nsupdate"], input=update, capture_output=True, text=True, check=False)
    assert "REFUSED" in refused.stderr


def test_the_command_line_looks_after_it_and_tells_its_numbers(site: Site) -> None:
    def command(name: str) -> list[str]:
        return [sys.executable, "-m", "replication.front", name, "--config", str(site.path)]

    conf = subprocess.run(command("conf"), capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert conf == site.config.conf_path.read_text()
    agent = subprocess.Popen(command("run"), cwd=ROOT, stderr=subprocess.PIPE)
    try:
        change = site.www(2)
        until(lambda: site.nodes[1].pdns.questions() > 20, "the front looks")
        site.push(change, 0)
        until(lambda: site.has_states("up", "DOWN"), "the late node leaves")
        site.push(change, 1)
        until(lambda: site.has_states("up", "up"), "and comes back")
    finally:
        agent.send_signal(signal.SIGTERM)
        _, log = agent.communicate(timeout=30)
    assert agent.returncode == 0
    assert b"backend=ns1 goes out of rotation: The node" in log
    assert b"backend=ns1 goes into rotation: The node is up to date" in log
    status = json.loads(subprocess.run(command("status"), capture_output=True, cwd=ROOT, check=True).stdout)
    assert [server["position"].rpartition("=")[2] for server in status["servers"]] == ["2", "2"]
    site.dnsdist.kill()
    down = subprocess.run(command("status"), capture_output=True, text=True, cwd=ROOT, check=False)
    assert (down.returncode, down.stderr.partition(":")[0]) == (1, "NotServed")
