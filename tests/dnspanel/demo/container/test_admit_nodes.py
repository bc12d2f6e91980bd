"""Tests of the compose installation's nodes: the panel writes codes for them and approves their requests."""

import contextlib
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.demo.container.admit_nodes import NoRequests, admit_nodes
from dnspanel.fleet.models import Node, NodeState
from replication.agent.joining.ask_to_enroll import NotEnrolled, enroll

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESSES = {"ns1": "192.0.2.1", "ns2": "192.0.2.2"}


def admit(codes: Path, *, seconds: float) -> None:
    admit_nodes(ADDRESSES, codes=codes, now=timezone.now(), seconds=seconds)


def act_as(name: str, *, directory: Path, panel: str) -> None:
    """Act as a node's container: try to enroll with the current code until it succeeds."""
    while not (directory / name / "identity.json").exists():
        with contextlib.suppress(FileNotFoundError, NotEnrolled):
            code = (directory / name / "code").read_text()
            enroll(panel, code, directory / name, say=lambda _: None, wait=lambda _: time.sleep(0.1))
        time.sleep(0.1)


def test_nodes_that_find_their_code_become_active(tmp_path: Path, live_server: Any) -> None:
    where = {"directory": tmp_path, "panel": live_server.url}
    agents = [threading.Thread(target=act_as, args=[name], kwargs=where) for name in ADDRESSES]
    for agent in agents:
        agent.start()
    admit(tmp_path, seconds=30)
    for agent in agents:
        agent.join()
    assert set(Node.objects.values_list("name", "state")) == {(name, NodeState.ACTIVE) for name in ADDRESSES}
    assert all((tmp_path / name / "identity.json").exists() for name in ADDRESSES)


def test_nodes_that_never_ask_are_named(tmp_path: Path) -> None:
    with pytest.raises(NoRequests, match="ns1, ns2 did not ask"):
        admit(tmp_path, seconds=0)


def test_a_second_try_leaves_codes_that_work_and_no_second_node(tmp_path: Path, live_server: Any) -> None:
    for _ in range(2):
        with pytest.raises(NoRequests):
            admit(tmp_path, seconds=0)
    test_nodes_that_find_their_code_become_active(tmp_path, live_server)
    assert Node.objects.count() == len(ADDRESSES)
