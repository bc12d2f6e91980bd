"""Tests of writes in several publications: the answer names them all, and the undo of one undoes all.

Tests `publishing.pieces.parts_of` too.
"""

import json
from typing import Any

import pytest

from dnspanel.zones.models import Publication, RRset, Zone
from dnspanel.zones.publishing import pieces, restore_zones
from tests.dnspanel.api.v2.conftest import Caller, MakeZone

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = [f"n{number}" for number in range(6)]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_RRSETS", 2)


def additions(names: list[str]) -> list[dict[str, Any]]:
    return [{"op": "replace", "name": name, "type": "A", "ttl": 60, "rdata": ["192.0.2.9"]} for name in names]


def test_a_bulk_write_is_one_write(call: Caller, zone: Zone, make_zone: MakeZone) -> None:
    # Regression test: the undo of the last of three publications answered 200, but left four of five records.
    other = make_zone(name="other.test.")
    zones = [{"zone": each.name, "changes": additions(NAMES[:3])} for each in (zone, other)]
    before = set(RRset.objects.values_list("zone_id", "owner_key", "type"))
    written = call.good("POST", "/bulk", {"zones": zones}, idempotency_key="once")
    sequences = written["publications"]
    assert len(sequences) == 3
    assert written["publication"]["sequence"] == sequences[-1]
    assert {call.get(f"/publications/{sequence}")["part_of"] for sequence in sequences} == {sequences[0]}
    assert {each["zone"]: each["added"] for each in written["zones"]} == {zone.name: 3, other.name: 3}
    undone = call.good("POST", f"/publications/{sequences[1]}/undo", {"confirm": True})
    assert len(undone["publications"]) == 3
    assert set(RRset.objects.values_list("zone_id", "owner_key", "type")) == before
    again = call.good("POST", f"/publications/{undone['publication']['sequence']}/undo", {"confirm": True})
    assert {each["zone"]: each["added"] for each in again["zones"]} == {zone.name: 3, other.name: 3}


def test_a_retry_of_a_write_in_parts_names_all_parts(call: Caller, zone: Zone) -> None:
    body = {"changes": additions(NAMES)}
    path = f"/zones/{zone.name}/changes"
    first = call.good("POST", path, body, idempotency_key="once")
    assert len(first["publications"]) == 3
    again = call("POST", path, body, idempotency_key="once")
    assert json.loads(again.content)["publications"] == first["publications"]


def test_parts_of_a_write_are_undone_into_one_draft(call: Caller, zone: Zone) -> None:
    written = call.good("POST", f"/zones/{zone.name}/changes", {"changes": additions(NAMES)})
    call.good("POST", f"/publications/{written['publications'][0]}/undo", {"into": "draft"})
    (draft,) = call.get("/draft")["zones"]
    assert draft["deleted"] == 6


def test_what_others_changed_since_keeps_all_parts(call: Caller, zone: Zone) -> None:
    written = call.good("POST", f"/zones/{zone.name}/changes", {"changes": additions(NAMES)})
    changed = {"ttl": 60, "rdata": ["192.0.2.77"]}
    call.good("PUT", f"/zones/{zone.name}/rrsets/n0/A", changed)
    problem = call.problem(409, "POST", f"/publications/{written['publications'][-1]}/undo", {"confirm": True})
    assert problem["code"] == "changed-by-others"
    assert {f"n{number}" for number in range(6)} <= {
        item["name"].removesuffix(f".{zone.name}") for item in call.all(f"/zones/{zone.name}/rrsets")
    }


def test_a_new_zone_with_many_rrsets_names_all_parts(call: Caller) -> None:
    rrsets = [{"name": name, "type": "A", "ttl": 60, "rdata": ["192.0.2.9"]} for name in NAMES]
    nameservers = ["ns1.example.net."]
    written = call.good("POST", "/zones", {"name": "large.test.", "rrsets": rrsets, "nameservers": nameservers})
    parts = Publication.objects.filter(part_of=written["publications"][0])
    assert [part.sequence for part in parts.order_by("sequence")] == written["publications"]
    # The first part created the zone. It was missing in the list, so an undo removed the content but not the zone.
    assert [part.revisions.get().number for part in parts.order_by("sequence")] == [1, 2, 3, 4]
    problem = call.problem(409, "POST", f"/publications/{written['publications'][-1]}/undo", {"confirm": True})
    assert "Revision 1" in problem["detail"]
    assert len(call.all("/zones/large.test./rrsets")) == 2 + len(NAMES)


def test_zones_that_come_back_in_pieces_are_one_write(
    call: Caller, make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore_zones, "PIECE_ZONES", 2)
    names = [make_zone(name=f"z{number}.test.").name for number in range(5)]
    call.good("POST", "/bulk/deletions", {"zones": [{"zone": name} for name in names], "confirm": True})
    body = {"zones": names}
    done = call.good("POST", "/trash/restore", body, idempotency_key="once")
    assert len(done["publications"]) == 3
    parts = Publication.objects.filter(part_of=done["publications"][0])
    assert [part.sequence for part in parts.order_by("sequence")] == done["publications"]
    assert sorted(moved["zone"] for moved in done["zones"]) == names


def test_zones_that_are_signed_in_two_steps_are_one_write(call: Caller, zone: Zone) -> None:
    path = f"/zones/{zone.name}/dnssec"
    call.good("PATCH", path, {"signed": True, "denial": {"method": "nsec3"}})
    written = call.good("PATCH", path, {"denial": {"method": "nsec3", "salt": "ab"}})
    assert len(written["publications"]) == 2
    parts = Publication.objects.filter(part_of=written["publications"][0])
    assert [part.sequence for part in parts.order_by("sequence")] == written["publications"]


def test_a_small_write_is_one_publication(call: Caller, zone: Zone) -> None:
    written = call.good("POST", f"/zones/{zone.name}/changes", {"changes": additions(NAMES[:1])})
    assert written["publications"] == [written["publication"]["sequence"]]
    assert written["publication"]["part_of"] is None
    nothing = call.good("POST", f"/zones/{zone.name}/changes", {"changes": additions(NAMES[:1])})
    assert (nothing["publication"], nothing["publications"]) == (None, [])
