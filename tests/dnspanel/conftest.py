"""Fixtures for all tests of the panel."""

import pytest

from dnspanel.transfer.imports import import_pace


@pytest.fixture(autouse=True)
def nobody_waits_for_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make imports not wait for nodes: no node confirms anything here, so each piece would wait five seconds."""
    monkeypatch.setattr(import_pace, "MOST_SECONDS", 0.0)
