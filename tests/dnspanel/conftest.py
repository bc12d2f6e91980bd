"""What all tests of the panel have."""

import pytest

from dnspanel.transfer.imports import import_pace


@pytest.fixture(autouse=True)
def nobody_waits_for_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no nodes: nothing encodes here unless a test does, and each piece of an import would wait its
    five seconds.
    """
    monkeypatch.setattr(import_pace, "MOST_SECONDS", 0.0)
