"""The agent's port: the clients that it accepts, and a stuck client, which doesn't keep others out.

Tests `agent.channel` too.
"""

import contextlib
import hashlib
import os
import socket
import ssl
import time
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from replication.errors import Gap, NodeUnreachable, Refused, WrongClock
from replication.node_client import NodeClient
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.servers import Authority
from tests.replication.panel import Panel, records, small_zone


def raw(node: RunningNode, context: ssl.SSLContext, request: bytes) -> bytes:
    """Return the agent's answer to these bytes, read until the agent closes the connection or stops sending."""
    answer = b""
    plain = socket.create_connection(("127.0.0.1", node.files.port), timeout=5)
    with plain, context.wrap_socket(plain) as tls, contextlib.suppress(TimeoutError):
        tls.sendall(request)
        tls.settimeout(0.5)
        while piece := tls.recv(4096):
            answer += piece
    return answer


def test_the_panel_is_let_in(shared_node: RunningNode) -> None:
    deadline = time.monotonic() + 5
    while (status := shared_node.client.status()).state != "new: nothing applied yet":
        assert time.monotonic() < deadline, "the agent looks for PowerDNS every second"
        time.sleep(0.1)
    assert (status.node, status.position, status.schema) == ("ns1", None, 4)
    assert status.versions["powerdns"][0].isdigit()
    assert status.versions["lmdb"].startswith("0.9.")


def test_without_a_certificate_nobody_is_let_in(shared_node: RunningNode) -> None:
    context = ssl.create_default_context(cafile=shared_node.authority.path)
    context.check_hostname = False
    with NodeClient("127.0.0.1", shared_node.files.port, context) as client, pytest.raises(NodeUnreachable):
        client.status()


def test_a_certificate_of_another_authority_is_not_let_in(shared_node: RunningNode, tmp_path: Path) -> None:
    context = Authority(tmp_path).client_context()
    context.verify_mode = ssl.CERT_NONE
    with NodeClient("127.0.0.1", shared_node.files.port, context) as client, pytest.raises(NodeUnreachable):
        client.status()


def test_another_nodes_certificate_is_not_the_panels(shared_node: RunningNode) -> None:
    other = NodeClient("127.0.0.1", shared_node.files.port, shared_node.authority.client_context("ns2"))
    with other, pytest.raises(NodeUnreachable):
        other.status()
    # A node with the panel's name isn't accepted either: its certificate is for servers.
    context = ssl.create_default_context(cafile=shared_node.authority.path)
    context.check_hostname = False
    context.load_cert_chain(*shared_node.authority.issue("panel", "liar", ExtendedKeyUsageOID.SERVER_AUTH))
    with NodeClient("127.0.0.1", shared_node.files.port, context) as client, pytest.raises(NodeUnreachable):
        client.status()


@pytest.mark.parametrize(
    ("days", "words"), [(400, "the node’s clock is 400 days ahead"), (-400, "the node’s clock is 400 days behind")]
)
def test_an_agent_whose_clock_is_off_says_so_and_does_nothing_else(
    shared_node: RunningNode, days: int, words: str
) -> None:
    """Previously, the handshake failed with "certificate expired", and the node was offline without a reason."""
    authority = shared_node.authority
    shifted = timedelta(days=-days)  # for that agent: its clock is right, but the panel's certificate isn't valid
    context = authority.client_context(shifted=shifted)
    with NodeClient("127.0.0.1", shared_node.files.port, context) as client:
        for act in (client.status, lambda: client.samples(0), client.log, client.check, client.certificate_request):
            with pytest.raises(WrongClock) as caught:
                act()
            assert abs(caught.value.clock - time.time()) < 60
        with NodeClient("127.0.0.1", shared_node.files.port, context) as new, pytest.raises(WrongClock):
            new.push(b"x", 1)
    with pytest.raises(WrongClock, match=words):
        raise WrongClock(host="ns1", port=8533, clock=time.time() + days * 86_400, now=time.time())
    assert shared_node.client.status().node == "ns1"


def test_the_panel_speaks_only_to_the_agent_with_the_pinned_certificate(shared_node: RunningNode) -> None:
    context = shared_node.authority.client_context()
    presented = ssl.PEM_cert_to_DER_cert((shared_node.authority.directory / "node.pem").read_text())
    pin = hashlib.sha256(presented).hexdigest()
    with NodeClient("127.0.0.1", shared_node.files.port, context, certificate_sha256=pin) as client:
        assert client.status().node == "ns1"
    other = NodeClient("127.0.0.1", shared_node.files.port, context, certificate_sha256="0" * 64)
    with other, pytest.raises(Refused, match="unexpected certificate"):
        other.status()


# Silent clients occupied all 64 slots, and the panel was refused for as long as they stayed.
@pytest.mark.parametrize("source", ["127.0.0.1", "127.1.{}.1"], ids=["of the panel's address", "of many addresses"])
def test_clients_that_are_stuck_keep_the_panel_out_of_nothing(shared_node: RunningNode, source: str) -> None:
    address = ("127.0.0.1", shared_node.files.port)
    with contextlib.ExitStack() as stuck:
        for number in range(200):
            stuck.enter_context(socket.create_connection(address, source_address=(source.format(number), 0)))
        for _ in range(3):
            with NodeClient(*address, shared_node.authority.client_context()) as client:
                assert client.status().node == "ns1"


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /v2/status HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /v1/samples?after=x HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /v1/status?samples_after=-1 HTTP/1.1\r\n\r\n", b"400"),
        (b"PUT /v1/other HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", b"404"),
        (b"PUT /v1/segments HTTP/1.1\r\n\r\n", b"411"),
        (b"PUT /v1/segments HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"411"),
        (b"PUT /v1/segments HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n", b"413"),
        (b"DELETE /v1/segments HTTP/1.1\r\n\r\n", b"501"),
        (b"nonsense\r\n\r\n", b"400"),
    ],
)
def test_requests_of_no_protocol_are_refused(shared_node: RunningNode, request_bytes: bytes, status: bytes) -> None:
    answer = raw(shared_node, shared_node.authority.client_context(), request_bytes)
    assert answer.startswith(b"HTTP/1.1 " + status), answer
    assert b'"message":' in answer
    assert shared_node.client.status().position is None


def test_a_body_that_ends_too_early_is_no_push(node: RunningNode, panel: Panel) -> None:
    sealed = panel.create(small_zone("example.test."))
    context = node.authority.client_context()
    with socket.create_connection(("127.0.0.1", node.files.port)) as plain, context.wrap_socket(plain) as tls:
        tls.sendall(b"PUT /v1/segments HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(sealed) + sealed[:-5])
    assert node.client.status().position is None
    assert node.client.push(sealed, len(sealed)).position.sequence == 1


def test_a_damaged_segment_is_refused_with_a_message_and_nothing_is_written(node: RunningNode, panel: Panel) -> None:
    sealed = bytearray(panel.create(small_zone("example.test.")))
    sealed[60] ^= 1
    with pytest.raises(Refused, match="signature") as refused:
        node.client.push(bytes(sealed), len(sealed))
    assert refused.value.error == "BadSignature"
    status = node.client.status()
    assert status.position is None
    assert "signature" in status.refusal
    assert status.state.startswith("stopped applying, still serving")


def test_a_gap_is_answered_with_the_nodes_position(node: RunningNode, panel: Panel) -> None:
    first, _, third = (panel.create(small_zone(f"{letter}.test.")) for letter in "abc")
    node.client.push(first, len(first))
    with pytest.raises(Gap) as gap:
        node.client.push(third, len(third))
    assert gap.value.have is not None
    assert gap.value.have.sequence == 1


def test_a_large_push_waits_on_disk_and_not_in_memory(node: RunningNode, panel: Panel) -> None:
    noise = [records("example.test.", f"t{n}", "TXT", 60, f'"{os.urandom(120).hex()}"') for n in range(9000)]
    sealed = panel.create(small_zone("example.test.", *noise))
    assert len(sealed) > 1 << 20
    ack = node.client.push(sealed, len(sealed))
    assert ack.digest_records == panel.store.digests()[1]
    assert node.client.status().peak_rss_bytes < 64 << 20
    state = node.files.directory / "state"
    assert sorted(path.name for path in state.iterdir()) == ["agent.lock", "machine", "running"]


def test_samples_are_given_from_a_moment_on(shared_node: RunningNode) -> None:
    deadline = time.monotonic() + 6
    while len(samples := shared_node.client.samples(0)) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert shared_node.client.samples(samples[0].at)[0] == samples[1]
    status, with_it = shared_node.client.status_and_samples(samples[0].at)
    assert (status.position, with_it[0]) == (shared_node.client.status().position, samples[1])
    assert samples[-1].qps is not None
    assert samples[-1].memory_bytes > 0
