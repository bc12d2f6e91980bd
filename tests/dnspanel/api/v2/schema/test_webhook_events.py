"""Tests of the webhooks in the document: a delivered request of each kind matches its description exactly."""

import copy
import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from dnspanel.accounts.models import User
from dnspanel.alerts.watch import OVER_AFTER, keep
from dnspanel.api.v2.schema.webhook_events import EVENTS, HEADERS
from dnspanel.webhooks import hooks
from dnspanel.webhooks.collect_events import STEADY
from dnspanel.webhooks.deliver_events import deliver_next
from dnspanel.webhooks.models import EventKind, Webhook
from dnspanel.zones.drafts.draft import replace_rrset
from dnspanel.zones.models import Zone
from dnspanel.zones.requests import publish_requests
from tests.dnspanel.alerts.test_watch import late
from tests.dnspanel.api import recording
from tests.dnspanel.api.described import described
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.taken_back import take_back
from tests.dnspanel.webhooks.conftest import MakeWebhook, at_home, receiver, webhook
from tests.dnspanel.webhooks.happening import hear, import_ended, later, notice_all, prove, publish
from tests.dnspanel.webhooks.receiver import Received, Receiver, is_signed
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW

__all__ = ["at_home", "receiver", "webhook"]


def section(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = described()["webhooks"][kind]["post"]
    return found


def closed() -> dict[str, Any]:
    """Return the document's components with undescribed members forbidden."""
    components: dict[str, Any] = copy.deepcopy(described()["components"])
    for schema in components["schemas"].values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return components


def everything_happens(bob: User, made: Webhook, node: Any) -> None:
    """Cause at least one event of each kind for the webhook."""
    first = publish("one.test.", bob)
    prove(node, first.sequence, now=later(0.04))
    hear(node, now=later(1))
    zone = Zone.objects.get(name="one.test.")
    replace_rrset(author=bob, zone=zone, rrset=rr("www 300 A 192.0.2.1", origin=zone.name), now=NOW)
    request = publish_requests.ask(author=bob, name="Move", now=NOW, terms=publish_requests.Terms("new rack"))
    notice_all(later(1))
    publish_requests.withdraw(request=request, by=bob, now=later(2))
    take_back(publish("two.test.", bob, now=later(2)).sequence, now=later(3))
    import_ended(bob, now=later(3))
    keep([late()], now=later(3))
    keep([], now=later(4) + OVER_AFTER)
    silent = later(3600)
    notice_all(silent)
    notice_all(silent + STEADY)
    hooks.send_ping(webhook=made, by=bob, now=silent + STEADY)


@pytest.mark.django_db(transaction=True)
def test_what_is_delivered_is_what_the_document_says(
    bob: User, webhook: MakeWebhook, receiver: Receiver, active_node: MakeNode, settings: Any
) -> None:
    settings.PANEL_URL = recording.PANEL
    node = active_node("ns1")
    hear(node, now=NOW)
    made = webhook(bob, receiver.url)
    everything_happens(bob, made.webhook, node)
    now = later(3600) + STEADY
    while deliver_next(webhook_id=made.webhook.pk, clock=lambda: now):
        pass
    components, seen = closed(), set()
    for received in receiver.received:
        body = json.loads(received.body)
        seen.add(body["event"])
        check(received, body, components)
        assert is_signed(received, made.secret, at=now)
        recording.note_event(section(body["event"])["operationId"], body)
    assert seen == set(EventKind.values)


def check(received: Received, body: dict[str, Any], components: dict[str, Any]) -> None:
    schema = section(body["event"])["requestBody"]["content"]["application/json"]["schema"]
    assert received.headers.keys() >= HEADERS.keys()
    assert received.headers["webhook-id"] == body["event_id"]
    errors = Draft202012Validator(schema | {"components": components}, format_checker=FormatChecker()).iter_errors(body)
    assert [f"{body['event']} {error.json_path}: {error.message[:200]}" for error in errors] == []


def test_every_kind_of_event_is_described_with_its_headers_and_an_example() -> None:
    assert set(described()["webhooks"]) == set(EventKind.values) == {str(kind) for kind in EVENTS}
    for kind in EventKind.values:
        found = section(kind)
        assert [each["name"] for each in found["parameters"]] == list(HEADERS)
        assert re.fullmatch(r"on([A-Z][a-z]+)+", found["operationId"])
        assert found["summary"]
        assert found["description"]
        assert found["responses"].keys() == {"2XX", "410", "default"}
        media = found["requestBody"]["content"]["application/json"]
        assert media["example"]["event"] == kind
        validator = Draft202012Validator(media["schema"] | {"components": closed()}, format_checker=FormatChecker())
        assert list(validator.iter_errors(media["example"])) == []
