"""A node's metrics for Prometheus: over plain HTTP, only if configured, and with little memory."""

import contextlib
import http.client
import socket
import threading
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from replication import stats
from replication.agent.agent_metrics import MetricsServer
from replication.agent.powerdns.observe import Counters
from replication.agent.strangers import MOST
from replication.wire.protocol import Status
from tests.ports import free_port
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.servers import AgentFiles
from tests.replication.panel import Panel, small_zone


@pytest.fixture
def scraped(files: AgentFiles) -> int:
    """Return the port of the node's metrics. It opens shortly after the agent's own port."""
    port = free_port()
    files.settings["metrics_port"] = port
    files.write()
    return port


def get(port: int, path: str = "/metrics") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    deadline = time.monotonic() + 5
    while True:
        try:
            connection.connect()
            break
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "nobody listens"
            time.sleep(0.05)
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, body


def samples(text: str) -> dict[str, float]:
    """Return the values of samples, by their names and label values."""
    return {
        sample.name + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def resident_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / (1 << 20)


def test_a_node_tells_its_own_numbers_and_powerdnss(scraped: int, node: RunningNode, tmp_path: Path) -> None:
    panel = Panel(tmp_path)
    sealed = panel.create(small_zone("example.test."))
    node.client.push(sealed, len(sealed))
    panel.close()
    questions = 20
    for _ in range(questions):
        node.answer("www.example.test.")
    deadline = time.monotonic() + 10
    while (found := samples(get(scraped)[1])).get("dnspanel_powerdns_queries_total udp", 0) < questions:
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    assert found["dnspanel_segments_applied_total"] == 1
    assert found["dnspanel_agent_position"] == found["dnspanel_agent_answered"] == 1
    assert found["dnspanel_agent_powerdns_answers"] == 1
    assert 0 < found["dnspanel_agent_map_used_ratio"] < 1
    assert 0 < found["dnspanel_agent_disk_free_bytes"] < found["dnspanel_agent_disk_bytes"]
    assert found["dnspanel_powerdns_answers_total NOERROR"] >= questions
    lookups = [found[f"dnspanel_powerdns_cache_lookups_total packet {result}"] for result in ("hit", "miss")]
    assert sum(lookups) >= questions
    assert any(name.startswith("dnspanel_agent_info ") and "ns1" in name.split() for name in found)


def test_many_scrapes_cost_no_memory(scraped: int, node: RunningNode) -> None:
    for _ in range(50):
        get(scraped)
    before = resident_mib(node.agent.pid)
    for _ in range(300):
        assert get(scraped)[0] == 200
    assert resident_mib(node.agent.pid) - before < 2
    assert resident_mib(node.agent.pid) < 64


def test_one_path_is_served_and_nothing_can_be_sent(scraped: int, node: RunningNode) -> None:
    assert get(scraped, "/")[0] == 404
    assert get(scraped, "/v1/status")[0] == 404
    connection = http.client.HTTPConnection("127.0.0.1", scraped, timeout=5)
    connection.request("POST", "/metrics", b"x")
    assert connection.getresponse().status == 501
    connection.close()


def test_scrapers_that_are_stuck_hold_few_threads_and_keep_nobody_out(scraped: int, node: RunningNode) -> None:
    get(scraped)
    with contextlib.ExitStack() as stuck:
        for number in range(200):
            sock = socket.create_connection(("127.0.0.1", scraped), source_address=(f"127.1.{number}.1", 0))
            stuck.enter_context(sock)
        assert get(scraped)[0] == 200
        assert len(list(Path(f"/proc/{node.agent.pid}/task").iterdir())) < MOST + 20  # and the agent's own threads


def test_a_port_that_cannot_be_had_costs_the_metrics_and_not_the_node(files: AgentFiles, request: object) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        files.settings["metrics_port"] = taken.getsockname()[1]
        files.write()
        node: RunningNode = request.getfixturevalue("node")  # type: ignore[attr-defined]
        assert node.client.status().node == "ns1"
        assert "no metrics on 127.0.0.1 port" in node.agent.log()


def test_while_powerdns_is_down_its_counters_are_not_told() -> None:
    status = Status("ns1", None, b"", b"", 4, "new", unserved="timeout")
    counters = [None, Counters(0, 0, 1, 5, 6, 1, 2, 3, 4, 1500, 1 << 20, {"NOERROR": 11})]
    with MetricsServer(("127.0.0.1", 0), status=lambda: status, counters=counters.pop) as server:
        with_counters, without = samples(server.exposition().decode()), samples(server.exposition().decode())
    assert with_counters["dnspanel_powerdns_queries_total tcp"] == 6
    assert with_counters["dnspanel_powerdns_latency_seconds"] == 0.0015
    assert not [name for name in without if name.startswith("dnspanel_powerdns_")]
    assert without["dnspanel_agent_powerdns_answers"] == 0


def test_metrics_that_cannot_be_read_are_answered_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    def status() -> Status:
        raise OSError("the disk is gone")

    with MetricsServer(("127.0.0.1", 0), status=status, counters=lambda: None) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        answer = get(server.server_address[1])
        server.shutdown()
        serving.join()
    assert answer == (500, "The metrics could not be read; this agent's log says why.\n")
    assert "the disk is gone" in caplog.text


def test_every_metric_of_stats_is_told() -> None:
    status = Status("ns1", None, b"", b"", 4, "new")
    with MetricsServer(("127.0.0.1", 0), status=lambda: status, counters=lambda: None) as server:
        found = samples(server.exposition().decode())
    for name, metric in vars(stats).items():
        if isinstance(metric, stats.Counter | stats.Maximum):
            assert metric.name == f"dnspanel_{name.lower()}"
            assert f"{metric.name}_total" in found or metric.name in found
