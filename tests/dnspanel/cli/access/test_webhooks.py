"""Tests of `dnspanel webhooks`."""

from typing import Any

import pytest

from dnspanel.cli.access.webhooks import EVENTS, FORMATS, STATES
from dnspanel.webhooks.models import SUBSCRIBABLE, Delivery, DeliveryState, Format, Webhook
from tests.dnspanel.cli.conftest import Run

URL = "https://192.0.2.1/dns"


@pytest.fixture(autouse=True)
def may_send_to_test_net(settings: Any) -> None:
    settings.OUTBOUND_NETWORKS = ["192.0.2.0/24"]


def test_the_command_knows_what_the_panel_knows() -> None:
    assert set(EVENTS) == {str(kind) for kind in SUBSCRIBABLE}
    assert set(FORMATS) == set(Format.values)
    assert set(STATES) == set(DeliveryState.values)


def test_a_webhook_from_its_creation_to_its_end(run: Run) -> None:
    created = run("webhooks", "create", URL, "--event", "publication.saved", "--description", "CI", "--output", "json")
    assert (created.code, created.json["secret"].startswith("whsec_")) == (0, True)
    number = str(created.json["id"])
    listed = run("webhooks", "list")
    assert ("publication.saved" in listed.out, URL in listed.out, "CI" in listed.out) == (True, True, True)
    assert run("webhooks", "show", number, "--output", "json").json["events"] == ["publication.saved"]
    assert "ping" in run("webhooks", "test", number).out
    (delivery,) = run("webhooks", "deliveries", number, "--output", "json").json
    assert run("webhooks", "deliveries", number, "--state", "failed", "--output", "json").json == []
    Delivery.objects.update(state=DeliveryState.DELIVERED)
    replayed = run("webhooks", "replay", number, str(delivery["id"]), "--output", "json")
    assert (replayed.code, replayed.json["replay_of"]) == (0, delivery["id"])
    rotated = run("webhooks", "rotate", number, "--output", "json").json
    assert rotated["secret"] != created.json["secret"]
    assert run("webhooks", "switch", number, "off").code == 0
    assert Webhook.objects.get().active is False
    assert run("webhooks", "delete", number).code == 0
    assert not Webhook.objects.exists()


def test_mail_takes_no_address(run: Run) -> None:
    created = run("webhooks", "create", "--format", "mail", "--event", "publication.saved", "--zone", "none.test")
    assert created.code == 1
    run("zones", "create", "example.test")
    created = run("webhooks", "create", "--format", "mail", "--event", "publication.saved", "--zone", "example.test")
    assert (created.code, "secret" in created.out) in {(0, False), (1, False)}  # 1: erin has no email address
    refused = run("webhooks", "create", URL, "--event", "zone.created")
    assert (refused.code, "'publication.everywhere'" in refused.err) == (2, True)
