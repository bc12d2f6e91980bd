"""The panel leaves codes for its nodes and approves what they ask for."""

import threading
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.demo.container.admit import NobodyAsked, admit_nodes
from dnspanel.fleet.models import Node, NodeState
from replication.agent.enroll import enroll

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESSES = {"ns1": "192.0.2.1", "ns2": "192.0.2.2"}


def admit(codes: Path, *, seconds: float) -> None:
    admit_nodes(ADDRESSES, codes=codes, now=timezone.now(), seconds=seconds)


def test_nodes_that_find_their_code_become_active(tmp_path: Path, live_server: Any) -> None:
    def act_as(name: str) -> None:
        while not (code := tmp_path / f"{name}.code").exists():
            pass
        enroll(live_server.url, code.read_text(), tmp_path / name, say=lambda _: None)

    agents = [threading.Thread(target=act_as, args=[name]) for name in ADDRESSES]
    for agent in agents:
        agent.start()
    admit(tmp_path, seconds=30)
    for agent in agents:
        agent.join()
    assert set(Node.objects.values_list("name", "state")) == {(name, NodeState.ACTIVE) for name in ADDRESSES}
    assert all((tmp_path / name / "identity.json").exists() for name in ADDRESSES)


def test_nodes_that_never_ask_are_named(tmp_path: Path) -> None:
    with pytest.raises(NobodyAsked, match="ns1, ns2 did not ask"):
        admit(tmp_path, seconds=0)


def test_a_second_try_leaves_codes_that_work_and_no_second_node(tmp_path: Path, live_server: Any) -> None:
    for _ in range(2):
        with pytest.raises(NobodyAsked):
            admit(tmp_path, seconds=0)
    test_nodes_that_find_their_code_become_active(tmp_path, live_server)
    assert Node.objects.count() == len(ADDRESSES)
