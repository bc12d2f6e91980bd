"""Tests of the bodies of webhook requests."""

import json
from typing import Any

import pytest

from dnspanel.accounts.actors.actors import Actor, actor_of
from dnspanel.accounts.models import GrantRow, Team, User
from dnspanel.webhooks import payload as module
from dnspanel.webhooks.models import Event
from dnspanel.webhooks.payload import Listener, payload
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.edit import NewZone
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.taken_back import REASON, take_back
from tests.dnspanel.webhooks.conftest import MakeWebhook
from tests.dnspanel.webhooks.happening import give, import_ended, later, notice_all, prove, publish
from tests.people import NOW


def seen_by(user: User, kind: str = "publication.saved", **only: Any) -> Any:
    body = payload(Event.objects.filter(kind=kind).latest("pk"), Listener(actor(user), **only), number=1)
    return None if body is None else json.loads(body)


def actor(user: User) -> Actor:
    found = actor_of(User.objects.get(pk=user.pk))
    assert found is not None
    return found


def test_a_publication_is_told_with_its_zones(bob: User, webhook: MakeWebhook, settings: Any) -> None:
    settings.PANEL_URL = "https://panel.test"
    webhook(bob)
    publish("one.test.", bob)
    notice_all()
    event = Event.objects.get()
    assert seen_by(bob) == {
        "event": "publication.saved",
        "event_id": event.message_id,
        "number": 1,
        "timestamp": "2026-11-21T12:00:00.000Z",
        "panel": "https://panel.test",
        "data": {
            "sequence": 1,
            "epoch": str(LogHead.objects.get().epoch),
            "at": "2026-11-21T12:00:00.000Z",
            "actor": {"kind": "user", "user": "bob", "token": None},
            "channel": "web",
            "reason": "as asked",
            "url": "/api/v2/publications/1",
            "part_of": None,
            "zone_count": 1,
            "zones": [
                {
                    "zone": "one.test.",
                    "kind": "create",
                    "revision": 1,
                    "serial": 2026112101,
                    "added": 2,
                    "changed": 0,
                    "removed": 0,
                },
            ],
        },
    }


def test_a_publication_of_very_many_zones_lists_the_first_and_counts_all(
    bob: User, webhook: MakeWebhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_ZONES", 3)
    webhook(bob)
    zones = [NewZone(f"n{number}.test.") for number in range(5)]
    edit.create_zones(zones=zones, acting=Acting(bob, "web", NOW))
    notice_all()
    data = seen_by(bob)["data"]
    assert data["zone_count"] == 5
    assert [zone["zone"] for zone in data["zones"]] == ["n0.test.", "n1.test.", "n2.test."]


def test_a_member_sees_their_zones_of_a_publication_and_no_nodes(
    bob: User, member: User, webhook: MakeWebhook, active_node: MakeNode
) -> None:
    node = active_node("ns1")
    webhook(bob)
    edit.create_zones(zones=[NewZone("mine.test."), NewZone("other.test.")], acting=Acting(bob, "web", NOW))
    give(member, "mine.test.")
    prove(node, 1, now=later(0.04))
    notice_all()
    data = seen_by(member, "publication.everywhere")["data"]
    assert (data["zone_count"], [zone["zone"] for zone in data["zones"]]) == (1, ["mine.test."])
    assert (data["everywhere_at"], data["nodes"]) == ("2026-11-21T12:00:00.040Z", None)
    assert seen_by(bob, "publication.everywhere")["data"]["nodes"] == [
        {"node": "ns1", "reached_at": "2026-11-21T12:00:00.040Z", "ms": 40.0}
    ]


def test_who_asked_for_some_zones_hears_of_them_alone(bob: User, webhook: MakeWebhook) -> None:
    webhook(bob)
    names = ("by-name.test.", "by-tag.test.", "by-team.test.", "other.test.")
    edit.create_zones(zones=[NewZone(name) for name in names], acting=Acting(bob, "web", NOW))
    team = Team.objects.create(name="mail", created_at=NOW)
    Zone.objects.filter(name="by-tag.test.").update(tags=["customer", "gold"])
    Zone.objects.filter(name="by-team.test.").update(team=team)
    notice_all()

    def heard(**only: Any) -> list[str]:
        body = seen_by(bob, **only)
        return [zone["zone"] for zone in body["data"]["zones"]] if body else []

    assert heard(zones=["by-name.test."]) == ["by-name.test."]
    assert heard(tags=["gold", "silver"]) == ["by-tag.test."]
    assert heard(zones=["by-name.test."], tags=["gold"], teams=[team.pk]) == sorted(names[:3])
    assert heard(zones=["by-name.test"], tags=["silver"], teams=[team.pk + 1]) == []


def test_a_right_taken_away_since_is_not_told_of_any_more(bob: User, member: User, webhook: MakeWebhook) -> None:
    webhook(bob)
    publish("mine.test.", bob)
    give(member, "mine.test.")
    notice_all()
    assert seen_by(member) is not None
    GrantRow.objects.all().delete()
    assert seen_by(member) is None


def test_an_import_is_told_without_ids_of_people(bob: User, charlie: User, webhook: MakeWebhook) -> None:
    webhook(bob)
    import_ended(bob, now=later(1))
    notice_all(later(2))
    assert "author_id" not in seen_by(bob, "import.finished")["data"]
    assert seen_by(bob, "import.finished")["data"]["created_by"]["user"] == "bob"
    assert seen_by(charlie, "import.finished") is None


def test_the_body_is_the_same_for_every_attempt(bob: User, webhook: MakeWebhook) -> None:
    webhook(bob)
    publish("one.test.", bob)
    notice_all()
    event = Event.objects.get()
    first = payload(event, Listener(actor(bob)), number=1)
    publish("two.test.", bob)
    assert payload(event, Listener(actor(bob)), number=1) == first


@pytest.mark.django_db(transaction=True)
def test_what_was_taken_back_is_told_once_and_the_reason_to_who_sees_all_of_it(
    bob: User, member: User, webhook: MakeWebhook
) -> None:
    webhook(bob, "https://receiver.test/", "publication.taken_back")
    edit.create_zones(zones=[NewZone("mine.test."), NewZone("other.test.")], acting=Acting(bob, "web", NOW))
    give(member, "mine.test.")
    assert notice_all() == []
    inverse = take_back(1, now=later(2))
    assert notice_all(later(3)) == [("publication.taken_back", {"sequence": 1})]
    assert notice_all(later(4)) == []
    data = seen_by(bob, "publication.taken_back")["data"]
    assert (data["sequence"], data["zone_count"]) == (1, 2)
    assert data["taken_back"] == {"at": "2026-11-21T12:00:02.000Z", "sequence": inverse.sequence, "reason": REASON}
    data = seen_by(member, "publication.taken_back")["data"]
    assert (data["zone_count"], data["taken_back"]["reason"]) == (1, "")
