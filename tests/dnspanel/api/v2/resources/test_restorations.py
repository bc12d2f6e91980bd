"""Tests of restoring many zones from the trash in API v2, and of undoing a publication that deleted zones."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.audit import audit
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Publication, Revision, Zone
from dnspanel.zones.publishing import bulk, edit, restore_zones
from dnspanel.zones.publishing.restore_zones import GONE
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, MakeZone, content

pytestmark = pytest.mark.django_db(transaction=True)

RESTORE = "/trash/restore"


@pytest.fixture
def zones(make_zone: MakeZone) -> list[Zone]:
    """Create three zones. Two of them have "shop" in their names."""
    return [make_zone(name=name) for name in ("shop1.test.", "shop2.test.", "other.test.")]


@pytest.fixture
def deletion(zones: list[Zone]) -> int:
    """Move all zones into the trash. Return the sequence of the publication."""
    return delete(*zones)


def delete(*zones: Zone) -> int:
    rows = [(zone.pk, Zone.objects.get(pk=zone.pk).revision) for zone in zones]
    publication, _ = bulk.delete_zones(zones=rows, acting=Acting(None, Channel.API, timezone.now()), confirmed=True)
    assert publication is not None
    return publication.sequence


def living() -> list[str]:
    return list(Zone.objects.filter(deleted_at=None).order_by("name").values_list("name", flat=True))


def test_what_a_publication_deleted_comes_back_as_one(call: Caller, zones: list[Zone], deletion: int) -> None:
    done = call.good("POST", RESTORE, {"publication": deletion, "reason": "wrong list"})
    assert done["publications"] == [done["publication"]["sequence"]]
    assert done["publication"]["reason"] == "wrong list"
    assert [moved["zone"] for moved in done["zones"]] == ["other.test.", "shop1.test.", "shop2.test."]
    assert done["outcome"] == {
        "changed": 3,
        "changed_rrsets": sum(zone.rrset_count for zone in zones),
        "unchanged": 0,
        "refused": 0,
        "refusals": [],
    }
    assert len(living()) == 3
    again = call.good("POST", RESTORE, {"publication": deletion})
    assert (again["publication"], again["publications"], again["outcome"]["changed"]) == (None, [], 0)


def test_zones_are_selected_by_name_id_search_and_time(call: Caller, zones: list[Zone], deletion: int) -> None:
    hour_ago = (timezone.now() - timedelta(hours=1)).isoformat()
    for body, found in (
        ({"zones": ["shop1.test", "other.test."]}, 2),
        ({"ids": [zones[1].pk]}, 1),
        ({"q": "shop"}, 2),
        ({"q": "shop", "deleted_since": hour_ago}, 2),
        ({"deleted_since": (timezone.now() + timedelta(hours=1)).isoformat()}, 0),
    ):
        assert call.good("POST", RESTORE + "?dry_run=true", body)["changed"] == found, body
    assert living() == []
    assert [row["name"] for row in call.all("/trash?q=shop")] == ["shop2.test.", "shop1.test."]


def test_what_cannot_come_back_is_named_and_the_rest_comes(
    call: Caller, make_zone: MakeZone, zones: list[Zone], deletion: int
) -> None:
    make_zone(name="shop2.test.")
    body = {"zones": ["shop1.test.", "shop2.test.", "never.test."]}
    done = call.good("POST", RESTORE, body)
    assert done["outcome"]["refusals"] == [
        {"zone": "never.test.", "reason": "The zone is not in the trash."},
        {"zone": "shop2.test.", "reason": "The zone shop2.test. already exists."},
    ]
    assert living() == ["shop1.test.", "shop2.test."]


def test_the_tag_of_a_dry_run_is_a_condition(call: Caller, make_zone: MakeZone, deletion: int) -> None:
    dry = call("POST", RESTORE + "?dry_run=true", {"q": "shop"})
    make_zone(name="shop2.test.")
    problem = call.problem(412, "POST", RESTORE, {"q": "shop"}, if_match=dry["ETag"])
    assert problem["theirs"]["changed"] == 1
    assert living() == ["shop2.test."]


def test_a_request_that_is_sent_again_restores_once(call: Caller, deletion: int) -> None:
    first = call.good("POST", RESTORE, {"q": "shop"}, idempotency_key="restore-1")
    second = call.good("POST", RESTORE, {"q": "shop"}, idempotency_key="restore-1")
    assert second["publication"]["sequence"] == first["publication"]["sequence"]
    assert Revision.objects.filter(kind="restore").count() == 2


def test_pieces_are_all_named(call: Caller, deletion: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restore_zones, "PIECE_ZONES", 2)
    done = call.good("POST", RESTORE, {"publication": deletion})
    assert len(done["publications"]) == 2
    assert done["publication"]["sequence"] == done["publications"][-1]
    assert len(done["zones"]) == 3


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/q"),
        ({"q": " "}, "/q"),
        ({"q": "typ:a"}, "/q"),
        ({"zones": []}, "/zones"),
        ({"ids": ["x"]}, "/ids/0"),
        ({"publication": 0}, "/publication"),
        ({"deleted_since": "yesterday"}, "/deleted_since"),
    ],
)
def test_what_selects_nothing_is_refused(call: Caller, zones: list[Zone], body: object, pointer: str) -> None:
    problem = call.problem(422, "POST", RESTORE, body)
    assert [fault["pointer"] for fault in problem["errors"]] == [pointer]


def test_a_token_brings_back_only_what_it_may(make_caller: MakeCaller, zones: list[Zone], deletion: int) -> None:
    reading = Grant(frozenset({Right.READ}), everywhere=True)
    reader = make_caller(reading)
    reader.problem(403, "POST", RESTORE, {"q": "shop"})
    caller = make_caller(reading, Grant(frozenset(Right), zones=frozenset({zones[0].pk})))
    done = caller.good("POST", RESTORE, {"q": "shop"})
    assert living() == ["shop1.test."]
    assert [refusal["zone"] for refusal in done["outcome"]["refusals"]] == ["shop2.test."]


def test_a_publication_that_deleted_zones_is_undone(call: Caller, zones: list[Zone], deletion: int) -> None:
    call.problem(409, "POST", f"/publications/{deletion}/undo", {"into": "draft"})
    done = call.good("POST", f"/publications/{deletion}/undo", {"reason": "back"})
    assert (done["outcome"]["changed"], done["publication"]["reason"]) == (3, "back")
    assert len(living()) == 3
    assert call.good("POST", f"/publications/{deletion}/undo", {})["publication"] is None


def test_a_publication_that_deleted_and_changed_is_undone_in_both(call: Caller, zone: Zone, zones: list[Zone]) -> None:
    changed = call.good("PUT", "/zones/example.test./rrsets/www/A", content("192.0.2.7"))["publication"]["sequence"]
    deletion = delete(*zones)
    Revision.objects.filter(publication=deletion).update(publication=changed)  # pretends that it deleted zones
    Zone.objects.filter(sequence=deletion).update(sequence=changed)
    done = call.good("POST", f"/publications/{changed}/undo", {"reason": "back"})
    assert len(done["publications"]) == 2
    assert (done["outcome"]["changed"], len(living())) == (3, 4)
    assert call.get("/zones/example.test./rrsets/www/A")["rdata"] == ["192.0.2.1", "192.0.2.2"]


def test_what_has_left_the_trash_is_told(call: Caller, zones: list[Zone], deletion: int) -> None:
    publication = Publication.objects.get(pk=deletion)
    audit.record(
        action=GONE,
        by=None,
        now=timezone.now(),
        target="shop1.test.",
        deleted_at=restore_zones.gone_stamp(publication.at),
    )
    Zone.objects.get(pk=zones[0].pk).delete()
    done = call.good("POST", f"/publications/{deletion}/undo", {})
    assert done["outcome"]["refusals"] == [{"zone": "shop1.test.", "reason": "The zone was permanently deleted."}]
    assert done["outcome"]["changed"] == 2
    late = delete(*Zone.objects.filter(deleted_at=None))
    Publication.objects.filter(pk=late).update(at=timezone.now() - timedelta(days=31))
    edit.empty_trash(now=timezone.now() + timedelta(days=31))
    problem = call.problem(409, "POST", f"/publications/{late}/undo", {})
    assert "were permanently deleted" in problem["detail"]
