"""A fresh, durable stack for one benchmark, without sample zones or traffic. It is removed at the end."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from dnspanel.demo.stack import Stack, StackShape
from replication.wire.protocol import Status
from tests.stack import until

ROOT = Path(__file__).resolve().parent.parent.parent
SYNC_POLL_SECONDS = 0.001


class BenchStack:
    """The running stack of a benchmark. This process is set up like one of the panel's processes."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.dns_addresses = [("127.0.0.1", node.dns_port) for node in stack.nodes]

    def wait_until_in_sync(self, *, sequence: int | None = None, timeout: float = 60) -> None:
        """Wait until the panel reports that every node confirmed `sequence`, by default the head of the log."""
        from dnspanel.fleet.models import Node, NodeState
        from dnspanel.zones.models import LogHead

        wanted = LogHead.objects.get().sequence if sequence is None else sequence
        deadline = time.monotonic() + timeout
        behind = Node.objects.filter(state=NodeState.ACTIVE, acked__lt=wanted)
        while behind.exists():
            if time.monotonic() > deadline:
                late = behind.values_list("name", "acked", "refusal")
                raise TimeoutError(f"not in sync with {wanted} after {timeout:.0f} s: {list(late)}")
            time.sleep(SYNC_POLL_SECONDS)

    def wait_until_searchable(self, *, timeout: float = 3600) -> None:
        """Wait until the data for searches (texts, complaints) is up to date, so that it causes no work later."""
        from dnspanel.zones.models import ComplaintProgress, LogHead, SearchProgress

        wanted = LogHead.objects.get().sequence
        texts = SearchProgress.objects.filter(sequence__gte=wanted, last_zone=None)
        complaints = ComplaintProgress.objects.filter(sequence__gte=wanted, is_complete=True)
        until(lambda: texts.exists() and complaints.exists(), seconds=timeout, what=f"searches follow to {wanted}")

    def agent_rss_mb(self) -> list[float]:
        """Return the current resident memory of each agent in MiB, including mapped pages of the LMDB."""
        pids = [self.stack.supervisor.pid(f"{name}-agent") for name in self.stack.node_names]
        return [psutil.Process(pid).memory_info().rss / 2**20 for pid in pids if pid]

    def supervisor_pid(self) -> int:
        """Return the id of the process that started all others of the stack."""
        return psutil.Process(self.stack.supervisor.pid("redis")).ppid()

    def restart_agents(self) -> None:
        """Restart every agent as a new process, so that its reported maximums cover only later work."""
        for name in self.stack.node_names:
            killed = self.stack.supervisor.kill(f"{name}-agent", signal.SIGTERM)
            self.stack.supervisor.wait_for_another(f"{name}-agent", than=killed)

    def status(self) -> list[Status]:
        """Return the current status of each agent."""
        from dnspanel.fleet.models import Authority, Node
        from dnspanel.fleet.nodes.authority import client_ssl_context
        from replication.node_client import NodeClient

        context = client_ssl_context(Authority.objects.get())
        found = []
        for node in Node.objects.order_by("name"):
            client = NodeClient(node.agent_host, node.agent_port, context, certificate_sha256=node.pins)
            found.append(client.status())
            client.close()
        return found

    def bytes_pushed(self) -> list[int]:
        """Return the bytes that the push worker sent to each agent on its open TCP connections, including TLS."""
        pid = self.stack.supervisor.pid("push")
        return [self._bytes_sent(pid, node.agent_port) for node in self.stack.nodes]

    @staticmethod
    def _bytes_sent(pid: int | None, port: int) -> int:
        listing = subprocess.run(
            ["ss", "-H", "-O", "-tinp", "dst", f"127.0.0.1:{port}"], check=True, capture_output=True, text=True
        ).stdout
        mine = [line for line in listing.splitlines() if f"pid={pid}," in line]
        return sum(int(found.group(1)) for line in mine if (found := re.search(r"bytes_sent:(\d+)", line)))


@contextlib.contextmanager
def bench_stack(name: str, *, ring0: bool = True) -> Iterator[BenchStack]:
    """Start a fresh stack under var/bench, and set up Django in this process with its environment."""
    directory = ROOT / "var" / "bench" / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with (
        Stack(directory, StackShape(sample_zones=False, traffic=False, ring0=ring0)) as stack,
        panel_of(stack) as bench,
    ):
        yield bench
    shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def panel_of(stack: Stack) -> Iterator[BenchStack]:
    """Set up Django in this process with the environment of the running stack."""
    os.environ.update(stack.env)
    import django

    django.setup()
    try:
        yield BenchStack(stack)
    finally:
        from django.db import connections

        connections.close_all()


def answer_as_web() -> None:
    """Make Django in this process answer test clients like a web process, with everything loaded at the start."""
    from django.conf import settings
    from django.urls import get_resolver

    from replication.garbage import leave_out_what_is_loaded

    settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.ALLOWED_HOSTS = ["localhost"]
    get_resolver().check()
    leave_out_what_is_loaded()
