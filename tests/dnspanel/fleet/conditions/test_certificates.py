"""Tests of alert conditions for expiring certificates of nodes and of the panel."""

from datetime import timedelta

import pytest

from dnspanel.alerts.alert_rules import conditions
from tests.dnspanel.condition_inputs import found, inputs, node
from tests.people import NOW


@pytest.mark.parametrize(
    ("left", "expected", "words"),
    [
        (timedelta(days=31), None, ""),
        (timedelta(days=29), "warning", "expires in 29 days"),
        (timedelta(days=6), "critical", "expires in 6 days"),
        (timedelta(hours=-5), "critical", "expired 5 h ago"),
    ],
)
def test_certificates_of_nodes_and_of_the_panel(left: timedelta, expected: str | None, words: str) -> None:
    for given, kind in (
        (inputs(node(certificate_expires_at=NOW + left)), "node.certificate"),
        (inputs(certificate_expires_at=NOW + left), "panel.certificate"),
    ):
        assert found(given) == ([] if expected is None else [(kind, expected)])
        assert all(words in condition.message for condition in conditions(given, NOW))
