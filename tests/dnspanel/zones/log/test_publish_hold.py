"""While a hold is active, nothing can be published in any way, and drafts lose nothing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import PublishingOnHold
from dnspanel.zones.log import publish_hold
from dnspanel.zones.models import Epoch, LogHead, Operation, Publication, Zone
from dnspanel.zones.publishing import bulk, edit, revision
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW
from tests.publishing import change_rrsets

HOW: dict[str, Any] = {"channel": "web", "now": NOW}
pytestmark = pytest.mark.django_db(transaction=True)


def hold_it() -> None:
    publish_hold.hold(reason="ns1 knows more.", now=NOW)


ACTS: dict[str, Callable[[Zone, User], object]] = {
    "creating a zone": lambda zone, by: edit.create_zone(zone=edit.NewZone("new.test."), acting=Acting(by, **HOW)),
    "deleting a zone": lambda zone, by: edit.delete_zone(zone=zone, acting=Acting(author=by, **HOW)),
    "a change by an API": lambda zone, by: change_rrsets(
        zone=zone, changes={("www.example.test.", 1): None}, author=by, **HOW
    ),
    "deleting many zones": lambda zone, by: bulk.delete_zones(
        zones=[(zone.pk, zone.revision)], acting=Acting(author=by, **HOW)
    ),
    "taking back a publication": lambda zone, by: bulk.undo_zone_changes(
        sequence=Publication.objects.latest("sequence").sequence, acting=Acting(author=by, **HOW)
    ),
}


@pytest.mark.parametrize("act", ACTS)
def test_nothing_is_published_while_held(act: str, zone: Zone, alice: User) -> None:
    change_rrsets(zone=zone, changes={("b.example.test.", 1): rr("b 60 A 192.0.2.7")}, author=alice, **HOW)
    zone.refresh_from_db()
    before = LogHead.objects.get().sequence, Publication.objects.count(), Zone.objects.count()
    hold_it()
    with pytest.raises(PublishingOnHold, match="ns1 knows more"):
        ACTS[act](zone, alice)
    assert (LogHead.objects.get().sequence, Publication.objects.count(), Zone.objects.count()) == before
    zone.refresh_from_db()
    assert zone.deleted_at is None


def test_restoring_a_zone_from_the_trash_waits_too(zone: Zone, alice: User) -> None:
    edit.delete_zone(zone=zone, acting=Acting(author=alice, **HOW))
    hold_it()
    with pytest.raises(PublishingOnHold):
        edit.restore_zone(zone=zone, author=alice, **HOW)
    zone.refresh_from_db()
    assert zone.deleted_at is not None


def test_a_draft_is_kept_and_published_once_the_hold_has_ended(zone: Zone, alice: User) -> None:
    hold_it()
    draft.replace_rrset(zone=zone, rrset=rr("new 300 A 192.0.2.77"), author=alice, now=NOW)
    with pytest.raises(PublishingOnHold):
        revision.publish(acting=Acting(author=alice, **HOW))
    assert Operation.objects.count() == 1
    publish_hold.release()
    assert revision.publish(acting=Acting(author=alice, **HOW)).sequence == LogHead.objects.get().sequence
    assert Operation.objects.count() == 0


def test_the_first_reason_of_a_hold_stays(db: None) -> None:
    assert publish_hold.hold(reason="first.", now=NOW)
    assert not publish_hold.hold(reason="second.", now=NOW + timedelta(hours=1))
    assert publish_hold.current_hold() == publish_hold.Hold("first.", NOW)


def test_nothing_is_held_in_normal_work(db: None) -> None:
    assert publish_hold.current_hold() is None
    hold_it()
    assert publish_hold.current_hold() is not None
    publish_hold.release()
    assert publish_hold.current_hold() is None


def test_a_publication_costs_no_query_more_for_the_hold(zone: Zone, alice: User) -> None:
    statements: list[str] = []

    def noting(execute: Callable[..., Any], sql: str, *args: Any) -> Any:
        statements.append(sql)
        return execute(sql, *args)

    with connection.execute_wrapper(noting):
        change_rrsets(zone=zone, changes={("c.example.test.", 1): rr("c 60 A 192.0.2.7")}, author=alice, **HOW)
    about_head = [sql for sql in statements if "zones_loghead" in sql]
    assert len(about_head) == 1
    assert "UPDATE zones_loghead" in about_head[0]


def test_only_epochs_of_this_database_are_of_this_history(make_zone: MakeZone) -> None:
    make_zone()
    present, begun, unknown = LogHead.objects.get().epoch, uuid4(), uuid4()
    Epoch.objects.create(epoch=begun, began_at=NOW, began_after=7, reason="a test")
    LogHead.objects.update(epoch=uuid4())  # `present` is now an epoch with publications only
    assert publish_hold.is_of_this_history(LogHead.objects.get().epoch)
    assert publish_hold.is_of_this_history(present)
    assert publish_hold.is_of_this_history(begun)
    assert not publish_hold.is_of_this_history(unknown)
