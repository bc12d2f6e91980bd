"""Fixtures of the forwarding tests: chained audit log entries, and destinations on this machine."""

from collections.abc import Callable
from typing import Any

import pytest

from dnspanel import outbound
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import User
from dnspanel.audit.forward.destinations import Terms, create_destination
from dnspanel.audit.forward.models import Destination, Kind
from dnspanel.zones.audit import audit_links
from tests.dnspanel.webhooks.receiver import HOST
from tests.people import NOW, alice, bob

__all__ = ["alice", "bob"]

MakeDestination = Callable[..., Destination]


@pytest.fixture
def at_home(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow destinations on this machine and plain HTTP, and resolve the receiver's name to it."""
    settings.EVIDENCE_NETWORKS, settings.OUTBOUND_HTTP = ["127.0.0.0/8"], True
    settings.OUTBOUND_NETWORKS = []
    settings.PANEL_URL = "https://panel.test"
    real = outbound.resolve_host
    monkeypatch.setattr(
        outbound, "resolve_host", lambda host, port: ["127.0.0.1"] if host == HOST else real(host, port)
    )


@pytest.fixture
def make_destination(at_home: None, alice: User) -> MakeDestination:
    """Return a function that creates a destination, by default OpenTelemetry from the start of the log."""

    def make(address: str, kind: Kind = Kind.OTLP, **terms: Any) -> Destination:
        given = {"name": "SIEM", "from_beginning": True, **terms}
        return create_destination(kind=kind, terms=Terms(address=address, **given), by=alice, now=NOW)

    return make


def linked(alice: User, *actions: str, **details: Any) -> None:
    """Add entries with these actions to the audit log and its chain, in this order."""
    for action in actions:
        audit.record(action=action, by=alice, now=NOW, target="Ours", **details)
    audit_links.link_new_acts()
