"""Tests of webhooks in the API: create with a secret that is shown once, change, test, replay, delete."""

from typing import Any

import pytest

from dnspanel.webhooks.models import Delivery, Event
from tests.dnspanel.api.callers import Api, Caller, MakeApi

HOOKS = "/api/v2/webhooks"
BODY = {"url": "https://192.0.2.1/hook", "events": ["publication.saved"]}


@pytest.fixture(autouse=True)
def may_send_to_test_net(settings: Any) -> None:
    settings.OUTBOUND_NETWORKS = ["192.0.2.0/24"]


def made(api: Api) -> Any:
    response = api.post(HOOKS, BODY)
    assert response.status_code == 201, response.content
    return response


def test_a_webhook_is_made_changed_and_deleted(api: MakeApi) -> None:
    new = made(api())
    url = new.headers["Location"]
    assert new.json()["secret"].startswith("whsec_")
    assert "secret" not in api().get(url).json()
    changed = api().patch(url, {"events": ["node.state"], "active": False}).json()
    assert (changed["events"], changed["active"]) == (["node.state"], False)
    rotated = api().post(f"{url}/rotate").json()["secret"]
    assert rotated != new.json()["secret"]
    assert api().delete(url).status_code == 204
    assert api().get(url).status_code == 404


def test_a_test_and_a_replay_stand_in_the_log_of_deliveries(api: MakeApi) -> None:
    url = made(api()).headers["Location"]
    ping = api().post(f"{url}/test")
    assert ping.status_code == 202
    replay = api().post(f"{url}/deliveries/{ping.json()['id']}/replay").json()
    assert (ping.json()["event"], ping.json()["number"]) == ("ping", 1)
    assert [replay[name] for name in ("event", "event_id", "number")] == [
        ping.json()[name] for name in ("event", "event_id", "number")
    ]
    assert replay["event_id"] == Event.objects.get().message_id
    assert replay["replay_of"] == ping.json()["id"]
    log = api().get(f"{url}/deliveries").json()["items"]
    assert [one["id"] for one in log] == [replay["id"], ping.json()["id"]]
    assert api().get(f"{url}/deliveries", state="delivered").json()["items"] == []
    other = made(api()).headers["Location"]
    assert api().post(f"{other}/deliveries/{ping.json()['id']}/replay").status_code == 404
    assert Delivery.objects.count() == 2


def test_where_the_panel_does_not_send_to_is_refused_where_it_stands(api: MakeApi) -> None:
    refused = api().post(HOOKS, BODY | {"url": "https://127.0.0.1/"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/url"
    assert api().post(HOOKS, BODY | {"events": ["weather"]}).json()["errors"][0]["pointer"] == "/events/0"


def test_a_webhook_of_somebody_else_is_not_there(api: MakeApi) -> None:
    url = made(api()).headers["Location"]
    assert api(Caller.EDITOR).get(url).status_code == 404
    assert api(Caller.EDITOR).get(HOOKS).json()["items"] == []
