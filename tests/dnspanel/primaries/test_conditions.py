"""Tests of alert conditions for zones without transfers from their primaries."""

from dnspanel.conditions import NamedZones
from dnspanel.primaries.conditions import TransfersInputs
from tests.dnspanel.condition_inputs import ago, inputs, only


def test_zones_to_which_nothing_comes_from_their_primaries_are_told_with_the_reason_of_the_first() -> None:
    late = NamedZones(2, (("a.test.", ago(hours=3)), ("b.test.", ago(hours=1))))
    condition = only(inputs(transfers=TransfersInputs(late, "192.0.2.53 port 53 does not answer.")))
    assert (condition.key, condition.kind, condition.severity) == ("panel.transfers", "panel.transfers", "warning")
    assert condition.message == (
        "2 zones (a.test. for 3 h, b.test. for 60 min): transfers from the primaries are failing. "
        "First error: 192.0.2.53 port 53 does not answer."
    )
    condition = only(inputs(transfers=TransfersInputs(late, "The server answered REFUSED.", unserved=1)))
    assert condition.severity == "critical"
    assert (
        "1 zone isn’t served because it has expired or was never transferred. "
        "First error: The server answered REFUSED." in condition.message
    )
