"""Alert conditions of zones: silent hooks, records that outlive their expiry, and signatures about to expire."""

from dataclasses import replace
from datetime import timedelta

from dnspanel.conditions import NamedZones
from dnspanel.zones.conditions import HookInputs
from tests.dnspanel.condition_inputs import ago, inputs, only
from tests.people import NOW


def test_a_publish_hook_that_does_not_answer_is_critical_where_nothing_is_published_by_that() -> None:
    must = HookInputs(7, "“Names”", "every zone", ago(minutes=3), refuses=True)
    condition = only(inputs(hooks=(must,)))
    assert (condition.key, condition.kind, condition.severity) == ("panel.hook:7", "panel.hook", "critical")
    assert condition.message == (
        "The publish hook “Names” hasn’t responded for 3 min. Publications for every zone are refused."
    )
    passing = only(inputs(hooks=(replace(must, refuses=False),)))
    assert (passing.severity, "continue without a response" in passing.message) == ("warning", True)


def test_a_reverted_publication_is_information_that_leads_to_it() -> None:
    condition = only(inputs(failed=((7, "It crashed.", 8),)))
    assert (condition.severity, condition.about) == ("info", ("publication:7",))
    assert condition.message == "Publication 7 was reverted: It crashed."
    assert only(inputs(failed=((7, "It crashed.", None),))).severity == "critical"


def test_records_that_stay_though_they_expired_are_told_by_their_zones() -> None:
    condition = only(inputs(expired=NamedZones(2, (("a.test.", ago(hours=3)), ("b.test.", ago(hours=1))))))
    assert (condition.key, condition.kind, condition.severity) == ("panel.expired", "panel.expired", "warning")
    assert condition.about == ("zone:a.test.", "zone:b.test.")
    assert condition.message == (
        "2 zones (a.test. for 3 h, b.test. for 60 min): a record has expired but couldn’t be deleted. "
        "Its row shows the reason."
    )


def test_signatures_that_zones_came_with_are_told_before_they_end() -> None:
    found = NamedZones(2, (("a.test.", NOW + timedelta(days=3)), ("b.test.", NOW + timedelta(days=6))))
    condition = only(inputs(ending=found))
    assert (condition.key, condition.kind, condition.severity) == ("panel.signatures", "panel.signatures", "warning")
    assert condition.message == (
        "2 zones (a.test. in 3 days, b.test. in 6 days): the imported signatures are about to expire. "
        "Import the zones with new signatures."
    )
    for end, words in ((NOW + timedelta(days=2), "in 2 days"), (ago(hours=3), "for 3 h")):
        condition = only(inputs(ending=NamedZones(1, (("a.test.", end),))))
        assert condition.severity == "critical"
        assert f"1 zone (a.test. {words}): the imported signatures" in condition.message
