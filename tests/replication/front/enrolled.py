"""An enrolled front between the panel and two real nodes."""

import contextlib
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dns.exception
import dns.message
import dns.query

from replication import verify
from replication.agent.agent_config import Identity, format_identity
from replication.errors import ReplicationError
from replication.front.agent import FrontAgent
from replication.front.front_config import FrontConfig, read_config
from replication.node_client import NodeClient
from replication.wire.front_messages import Backend, Endpoint, FrontReport, FrontSettings
from replication.wire.position import Position
from replication.wire.protocol import Ack
from tests.ports import free_port
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.servers import Authority
from tests.replication.front.servers import SupervisedDnsdist, two_nodes, until
from tests.replication.panel import CLUSTER, EPOCH, PUBLIC_KEYS, Panel, records, small_zone

ZONE, OTHER = "example.test.", "other.test."


@dataclass
class Site:
    """Two nodes, a front in front of them, and the panel's connection to the front."""

    panel: Panel
    nodes: list[RunningNode]
    config: FrontConfig
    dnsdist: SupervisedDnsdist
    client: NodeClient
    running: contextlib.ExitStack  # the front's agent
    authority: Authority

    def settings(self, **changes: object) -> FrontSettings:
        backends = tuple(
            Backend(f"ns{at}", Endpoint("127.0.0.1", node.pdns.port)) for at, node in enumerate(self.nodes, 1)
        )
        fields = {"backends": backends, "cache_entries": 1000, "behind_seconds": 0.5} | changes
        return FrontSettings(**fields)  # type: ignore[arg-type]

    def set_up(self, **changes: object) -> None:
        self.client.set_up_front(self.settings(**changes))

    def start_agent(self) -> None:
        """Run the front's agent with the current contents of front.toml."""
        self.client.close()
        self.running.enter_context(running_front(read_config(self.config.state_dir.parent / "front.toml")))

    def publish(self, last: int, *to: int, zone: str = ZONE) -> tuple[bytes, list[threading.Thread]]:
        """Publish a change of `www` to the nodes with these indexes. Return the segment and the pushing threads."""
        sealed = self.panel.change(zone, records(zone, "www", "A", 300, f"192.0.2.{last}"))
        threads = [threading.Thread(target=self.nodes[at].client.push, args=(sealed, len(sealed))) for at in to]
        for thread in threads:
            thread.start()
        return sealed, threads

    def push(self, sealed: bytes) -> Ack:
        return self.client.push(sealed, len(sealed), may_defer=True)

    def answer(self, zone: str = ZONE) -> str:
        message = verify.ask("127.0.0.1", self.config.listen[0].port, f"www.{zone}", 1, 5)
        found = [data.to_text() for rrset in message.answer for data in rrset]
        return found[0] if found else message.rcode().name

    def answers(self, zone: str = ZONE) -> set[str]:
        return {self.answer(zone) for _ in range(40)}

    def answers_over_tcp(self) -> set[str]:
        """Return the answers to 20 queries over TCP, more connections than dnsdist has threads for them."""
        query = dns.message.make_query(f"www.{ZONE}", "A")
        port = self.config.listen[0].port
        messages = [dns.query.tcp(query, "127.0.0.1", timeout=5, port=port) for _ in range(20)]
        return {data.to_text() for message in messages for rrset in message.answer for data in rrset}

    def answers_at_all(self) -> bool:
        with contextlib.suppress(dns.exception.DNSException, ReplicationError, OSError):
            return self.answer().startswith("192.0.2.")
        return False

    def report(self) -> FrontReport:
        found = self.client.status().front
        assert found is not None
        return FrontReport.from_json(found)

    def hits_grow(self) -> bool:
        """Return True if the cache answered questions in the last second."""
        samples = self.client.samples(0)
        return bool(samples) and samples[-1].packet_hits > 0

    def rotation(self) -> str:
        """Return the names of the nodes that dnsdist queries, separated by spaces."""
        return " ".join(backend.name for backend in self.report().backends if backend.is_in and backend.is_up)


@contextlib.contextmanager
def running_front(config: FrontConfig) -> Iterator[FrontAgent]:
    stop = threading.Event()
    # No answer is on its way here for as long as in production.
    with FrontAgent(config, hold_seconds=1.0) as agent:
        serving = threading.Thread(target=agent.serve, args=(stop,))
        serving.start()
        try:
            yield agent
        finally:
            stop.set()
            serving.join()


def enrolled_config(directory: Path, authority: Authority, *lines: str) -> FrontConfig:
    """Return the configuration after `enroll`. `lines` are the operator's additions to front.toml."""
    identity = directory / "identity"
    identity.mkdir()
    certificate, key = authority.issue("front1", "front")
    shutil.copy(certificate, identity / "node.pem")
    shutil.copy(key, identity / "node.key")
    (identity / "ca.pem").write_bytes(authority.pem)
    (identity / "identity.json").write_text(format_identity(Identity("front1", CLUSTER, 4, PUBLIC_KEYS)))
    path = directory / "front.toml"
    path.write_text(
        f'state_dir = "state"\nidentity_dir = "identity"\nlisten = ["127.0.0.1:{free_port()}"]\ncores = 2\n'
        f'panel_host = "127.0.0.1"\npanel_port = {free_port()}\n'
        f"control_port = {free_port()}\napi_port = {free_port()}\n" + "".join(f"{line}\n" for line in lines)
    )
    return read_config(path)


@contextlib.contextmanager
def enrolled_site(panel: Panel, directory: Path, *lines: str) -> Iterator[Site]:
    """Run two nodes that have both zones and are in rotation behind a front. `lines` go into front.toml."""
    with contextlib.ExitStack() as stack:
        nodes = stack.enter_context(two_nodes())
        authority = Authority(directory)
        config = enrolled_config(directory, authority, *lines)
        dnsdist = SupervisedDnsdist(config)
        stack.callback(dnsdist.stop)
        client = NodeClient("127.0.0.1", config.panel_port, authority.client_context(), answer_seconds=30)
        stack.callback(client.close)
        running = stack.enter_context(contextlib.ExitStack())
        site = Site(panel, nodes, config, dnsdist, client, running, authority)
        site.start_agent()
        dnsdist.supervise()
        created = panel.create(small_zone(ZONE), small_zone(OTHER))
        for node in nodes:
            node.client.push(created, len(created))
        site.set_up()
        until(lambda: site.rotation() == "ns1 ns2", "both nodes are in rotation")
        ack = site.push(created)
        assert (ack.position, ack.applied) == (Position(EPOCH, 1), None)
        yield site
