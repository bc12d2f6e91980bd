"""Tests of `manage.py approve_node`: before it approves, it shows the fingerprint that `join` prints."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import node_lifecycle
from tests.dnspanel.fleet.conftest import MakeNode, signing_request

pytestmark = pytest.mark.django_db


def request_from(node: Node) -> str:
    """Send an enrollment request for this node. Return the fingerprint that `join` prints."""
    code = node_lifecycle.make_code(node=node, now=timezone.now(), by=None)
    waiting = node_lifecycle.submit_request(code=code, csr_pem=signing_request(), now=timezone.now())
    assert isinstance(waiting, node_lifecycle.Waiting)
    return waiting.fingerprint


def run(*words: str) -> str:
    out = StringIO()
    call_command("approve_node", *words, stdout=out)
    return out.getvalue()


def test_both_sides_show_one_fingerprint(waiting_node: MakeNode) -> None:
    """Regression test: the command printed the certificate's fingerprint, which `join` never shows, and too late."""
    fingerprint = request_from(waiting_node("ns1"))
    lines = run("ns1", "--fingerprint", fingerprint).splitlines()
    assert lines == [
        "The server that wants to join as ns1 has the fingerprint",
        fingerprint,
        "ns1 is approved and active.",
    ]
    assert Node.objects.get().certificate_sha256 not in "".join(lines)


def test_without_a_comparison_nothing_is_approved(waiting_node: MakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())  # without a terminal to ask
    fingerprint = request_from(waiting_node("ns1"))
    with pytest.raises(CommandError, match=f"approve_node ns1 --fingerprint {fingerprint}"):
        run("ns1")
    with pytest.raises(CommandError, match="printed a different fingerprint"):
        run("ns1", "--fingerprint", "0" * 64)
    assert Node.objects.get().state == NodeState.AWAITING_APPROVAL


def test_who_asked_for_nothing_is_not_approved(waiting_node: MakeNode, active_node: MakeNode) -> None:
    waiting_node("ns1")
    active_node("ns2")
    for name in ("ns1", "ns2", "ns3"):
        with pytest.raises(CommandError):
            run(name, "--fingerprint", "0" * 64)
