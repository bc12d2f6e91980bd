"""Badges for kinds of faults."""

import pytest

from dnspanel.transfer.imports.queries import FaultKind
from dnspanel.web.imports.fault_kinds import fault_kinds_for_display


@pytest.mark.parametrize(
    ("severity", "tone", "icon"),
    [("error", "bad", "error"), ("warning", "warn", "alert"), ("note", "info", "info"), ("other", "info", "info")],
)
def test_the_badge_shows_how_bad_it_is(severity: str, tone: str, icon: str) -> None:
    (kind,) = fault_kinds_for_display([FaultKind("rdata", severity, 3, "not an address")])
    assert (kind.tone, kind.icon) == (tone, icon)
    assert (kind.code, kind.count, kind.sample) == ("rdata", 3, "not an address")
