"""Tests of alert conditions for signed zones that don't validate at their parents or on nodes."""

from dnspanel.conditions import NamedZones
from tests.dnspanel.condition_inputs import ago, inputs, only


def test_zones_that_do_not_validate_on_nodes_are_one_alert_that_names_both() -> None:
    condition = only(inputs(unproven=NamedZones(1, (("a.test. on ns1 and ring0", ago(hours=3)),))))
    assert (condition.key, condition.severity) == ("panel.unproven", "critical")
    assert condition.message.startswith("1 zone (a.test. on ns1 and ring0 for 3 h): signatures from PowerDNS")


def test_zones_that_their_parents_mislead_are_one_alert() -> None:
    zones = tuple((f"z{number}.test.", ago(hours=3)) for number in range(20))
    condition = only(inputs(misled=NamedZones(1234, zones)))
    assert (condition.key, condition.severity) == ("panel.ds", "critical")
    assert condition.message.startswith("1,234 zones (z0.test. for 3 h, z1.test. for 3 h, ")
    assert "z19.test. for 3 h, and 1,214 more): DNSSEC validation from the DS at the parent fails" in condition.message
    condition = only(inputs(unknown=NamedZones(1, (("a.test.", ago(days=4)),))))
    assert (condition.key, condition.severity) == ("panel.parents", "warning")
    assert condition.message == "1 zone (a.test. for 4 days): the DS at the parent couldn’t be checked."
    condition = only(inputs(rollovers=NamedZones(1, (("a.test.", ago(days=4)),))))
    assert (condition.key, condition.severity) == ("panel.rollovers", "warning")
