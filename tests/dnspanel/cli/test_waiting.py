"""Tests of commands that wait for nodes, when the canary refuses the publication."""

from dnspanel.zones.models import Zone
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.taken_back import REASON, refusing, take_back

ADDRESS = ("records", "set", "example.test", "www", "A", "192.0.2.1", "--ttl", "60")


def test_what_is_taken_back_is_a_refusal_with_the_reason(run: Run, active_node: MakeNode) -> None:
    node = active_node("ns1")
    assert run("zones", "create", "example.test").code == 0
    with refusing(2, lambda sequence: take_back(sequence, node)):
        done = run(*ADDRESS, "--wait")
    assert (done.code, REASON in done.err) == (1, True)
    waited = run("wait", "2")
    assert (waited.code, REASON in waited.err) == (1, True)
    assert run("wait", "--zone", "example.test").code == 0
    assert Zone.objects.get().rrsets.filter(name="www.example.test.").count() == 0
