"""Tests of audit log destinations in API v2. Their secrets can be written but not read."""

from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.audit.forward.deliver_acts import deliver_next, target_of
from dnspanel.audit.forward.models import Destination
from dnspanel.zones.audit.audit_links import link_new_acts
from tests.dnspanel.api.callers import Api, MakeApi
from tests.dnspanel.audit.forward.conftest import at_home as at_home
from tests.dnspanel.webhooks.receiver import Receiver
from tests.own_certificates import own_certificate

DESTINATIONS = "/api/v2/evidence-destinations"
SECRET = "never-to-be-seen-again"

pytestmark = pytest.mark.usefixtures("at_home")


def new(receiver: Receiver, **changed: Any) -> dict[str, Any]:
    headers = f"Authorization: Bearer {SECRET}"
    return {"name": "SIEM", "kind": "otlp", "address": receiver.url, "headers": headers, **changed}


def test_a_destination_is_added_tested_changed_switched_off_and_deleted(api: MakeApi) -> None:
    admin = api()
    with Receiver() as receiver:
        made = admin.post(DESTINATIONS, new(receiver, from_beginning=True))
        assert made.status_code == 201, made.json()
        url = made.headers["Location"]
        assert (made.json()["has_headers"], made.json()["has_key"], made.json()["progress"]["sent_to"]) == (
            True,
            False,
            0,
        )
        assert admin.post(f"{url}/test").json() == {"arrived": True, "error": ""}
        assert receiver.received[0].headers["authorization"] == f"Bearer {SECRET}"
        receiver.answer(403)
        tested = admin.post(f"{url}/test").json()
        assert (tested["arrived"], "The receiver returned HTTP status 403" in tested["error"]) == (False, True)
        link_new_acts()
        assert admin.get(url).json()["progress"]["state"] == "behind"
        deliver_next(destination_id=made.json()["id"], clock=timezone.now)
        read = admin.get(url)
        assert (read.json()["progress"]["state"], read.json()["progress"]["behind"]) == ("working", 0)
        assert read.headers["ETag"] == made.headers["ETag"], "how far it is says nothing of what it is"
        changed = admin.patch(url, {"name": "Logs", "active": False}, headers={"If-Match": made.headers["ETag"]})
        assert (changed.json()["name"], changed.json()["active"], changed.json()["has_headers"]) == (
            "Logs",
            False,
            True,
        )
        assert admin.patch(url, {"name": "Late"}, headers={"If-Match": made.headers["ETag"]}).status_code == 412
        again = admin.patch(url, {"from_beginning": True}).json()
        assert (again["progress"]["sent_to"], again["progress"]["state"]) == (0, "off")
        answers = [made.json(), changed.json(), admin.get(DESTINATIONS).json()]
    assert SECRET not in str(answers)
    assert [each["name"] for each in answers[2]["items"]] == ["Logs"]
    assert admin.delete(url).status_code == 204
    assert admin.get(url).status_code == 404


def test_secrets_are_rotated_and_forgotten(api: MakeApi) -> None:
    admin = api()
    with Receiver() as receiver:
        url = admin.post(DESTINATIONS, new(receiver)).headers["Location"]
        tag = admin.get(url).headers["ETag"]
        admin.patch(url, {"headers": "Authorization: Bearer another"})
        assert target_of(Destination.objects.get()).headers == {"Authorization": "Bearer another"}
        assert admin.get(url).headers["ETag"] != tag, "it is another one, though it looks the same"
        own = own_certificate("panel.test")
        given = admin.patch(url, {"certificate": own.certificate, "key": own.key}).json()
        assert (given["has_key"], given["has_headers"]) == (True, True)
        refused = admin.patch(url, {"certificate": own_certificate("other.test").certificate})
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["pointer"] == "/key"
        forgotten = admin.patch(url, {"certificate": "", "headers": ""}).json()
        assert (forgotten["has_key"], forgotten["has_headers"]) == (False, False)


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"address": "https://10.0.0.1/"}, "/address"),
        ({"kind": "syslog", "address": "logs.example:22"}, "/address"),
        ({"headers": "no header"}, "/headers"),
        ({"ca": "no PEM"}, "/ca"),
        ({"name": " "}, "/name"),
    ],
    ids=["private", "port", "headers", "ca", "name"],
)
def test_what_is_no_destination_is_refused_where_it_stands(api: MakeApi, changed: dict[str, Any], pointer: str) -> None:
    with Receiver() as receiver:
        answer = api().post(DESTINATIONS, new(receiver, **changed))
        assert answer.status_code == 422
        assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_the_kind_stays_and_a_lesser_token_sends_nothing_anywhere(api: MakeApi, alice: User) -> None:
    with Receiver() as receiver:
        url = api().post(DESTINATIONS, new(receiver)).headers["Location"]
        assert api().patch(url, {"kind": "syslog"}).status_code == 422
        terms = TokenTerms("nodes", (), permissions=frozenset({Permission.NODES, Permission.AUDIT}))
        lesser = Api(create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret)
        tries = [
            lesser.get(DESTINATIONS),
            lesser.get(url),
            lesser.post(DESTINATIONS, new(receiver, name="mine")),
            lesser.patch(url, {"name": "mine"}),
            lesser.post(f"{url}/test"),
            lesser.delete(url),
        ]
    assert [each.status_code for each in tries] == [403] * 6
    assert Destination.objects.get().name == "SIEM"
    assert not AuditEntry.objects.filter(action__in=("evidence.change", "evidence.delete", "evidence.test")).exists()
