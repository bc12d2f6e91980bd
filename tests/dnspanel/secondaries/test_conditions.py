"""Tests of alert conditions for secondaries that are late, silent or answer differently."""

from dataclasses import replace

from dnspanel.secondaries.queries import DifferingSecondary, LateSecondary
from tests.dnspanel.condition_inputs import ago, inputs, only


def test_a_secondary_that_is_behind_or_silent_is_one_trouble() -> None:
    late = LateSecondary("partner", 3, "a.test.", ago(minutes=9), None, 1)
    silent = LateSecondary("partner", 0, "", None, ago(minutes=9), 1)
    one, other = (only(inputs(late=(each,))) for each in (late, silent))
    assert (one.key, one.about) == (other.key, other.about) == ("secondary:partner", ("secondary:1",))
    assert (one.kind, one.severity) == ("secondary.late", "warning")
    assert one.message == "The secondary partner has been behind on 3 zones for 9 min. The first is a.test."
    assert (other.kind, other.severity) == ("secondary.silent", "critical")
    assert only(inputs(late=(replace(late, zones=1),))).message.startswith(
        "The secondary partner has been behind on a.test for"
    )


def test_a_secondary_that_differs_from_its_zones_is_critical() -> None:
    differing = DifferingSecondary("partner", 3, "a.test.", ago(minutes=9), "www.a.test. A: it answers nothing.", 1)
    one = only(inputs(differing=(differing,)))
    assert (one.key, one.kind, one.severity) == ("secondary.differs:partner", "secondary.differs", "critical")
    assert one.message == (
        "The secondary partner has given wrong answers for 3 zones for 9 min. The first is a.test. "
        "www.a.test. A: it answers nothing."
    )
