"""The agent as a process beside a real pdns_server: what the panel may rely on."""

import time

from tests.replication.agent.conftest import RunningNode
from tests.replication.panel import Panel, records, small_zone

ZONE = "example.test."


def push(node: RunningNode, sealed: bytes) -> float:
    began = time.perf_counter()
    node.client.push(sealed, len(sealed))
    return (time.perf_counter() - began) * 1000


def test_an_acknowledged_change_is_what_powerdns_answers(node: RunningNode, panel: Panel) -> None:
    push(node, panel.create(small_zone(ZONE)))
    assert node.answer("www.example.test.") == ["192.0.2.1"]
    took = []
    for last in range(2, 60):
        took.append(push(node, panel.change(ZONE, records(ZONE, "www", "A", 300, f"192.0.2.{last}"))))
        assert node.answer("www.example.test.") == [f"192.0.2.{last}"]
    took.sort()
    print("ms", took[len(took) // 2], took[-1], "bytes", node.client.bytes_sent / 60, node.client.status())
