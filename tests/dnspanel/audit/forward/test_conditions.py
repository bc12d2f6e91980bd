"""Tests of alert conditions for audit log destinations that fail, are behind, or reject entries."""

from typing import Any

import pytest

from dnspanel.audit.forward.destination_health import DestinationHealth
from tests.dnspanel.condition_inputs import ago, found, inputs


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, []),
        ({"failing_since": ago(minutes=4), "behind": 3}, []),
        ({"failing_since": ago(minutes=5), "behind": 3}, [("panel.evidence", "warning")]),
        ({"failing_since": ago(hours=1), "behind": 3}, [("panel.evidence", "critical")]),
        ({"behind": 3, "oldest_at": ago(minutes=9)}, []),
        ({"behind": 3, "oldest_at": ago(minutes=10)}, [("panel.evidence_behind", "warning")]),
        ({"behind": 3, "oldest_at": ago(days=9), "sent_at": ago(minutes=1)}, []),
        ({"behind": 3, "oldest_at": ago(days=9), "sent_at": ago(hours=1)}, [("panel.evidence_behind", "warning")]),
        ({"behind": 3, "oldest_at": ago(days=9), "begun_at": ago(minutes=1)}, []),
        ({"rejected_at": ago(hours=23)}, [("panel.evidence_rejected", "warning")]),
        ({"rejected_at": ago(hours=25)}, []),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_a_destination_of_the_audit_log_that_takes_nothing_is_behind_or_would_not_keep_something(
    given: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    destination = DestinationHealth(1, "SIEM", **{"behind": 0, **given})
    assert found(inputs(destinations=(destination,))) == expected
