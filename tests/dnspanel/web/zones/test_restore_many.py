"""Restoring many zones from the trash: ticked, found, or deleted by one publication. A preview comes first."""

import re
from uuid import uuid4

import pytest

from dnspanel.accounts.models import User
from dnspanel.web.zones import restore_many
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import ChangeRun, Channel, Publication, Revision, Zone
from dnspanel.zones.publishing import bulk, edit
from dnspanel.zones.runs import change_runs
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

RESTORE, TRASH = "/zones/trash/restore/", "/zones/trash/"


@pytest.fixture
def zones(make_zone: MakeZone) -> list[Zone]:
    return [make_zone("www 300 A 192.0.2.1", name=f"{name}.test.") for name in ("shop1", "shop2", "other")]


@pytest.fixture
def deletion(zones: list[Zone]) -> Publication:
    """Delete all three zones in one publication."""
    rows = [(zone.pk, zone.revision) for zone in zones]
    publication, _ = bulk.delete_zones(zones=rows, acting=Acting(None, Channel.WEB, NOW), confirmed=True)
    assert publication is not None
    return publication


def living() -> list[str]:
    return list(Zone.objects.filter(deleted_at=None).order_by("name").values_list("name", flat=True))


def confirmed(client: object, data: dict[str, str], page: str) -> str:
    """Confirm the preview on this page, and return the resulting page."""
    seen = re.search(r'name="seen" value="([0-9a-f]+)"', page)
    assert seen
    sent = {**data, "preview": "1", "seen": seen[1], "form_id": str(uuid4()), "reason": "not meant"}
    return str(client.post(RESTORE, sent, follow=True).content.decode())  # type: ignore[attr-defined]


def test_the_trash_has_a_tick_for_each_zone_that_one_may_restore(
    deletion: Publication, browser: Browser, bob: User, charlie: User
) -> None:
    page = browser(bob).get(TRASH).content.decode()
    assert page.count("data-tick") == 3
    assert "All, including other pages" in page
    found = browser(bob).get(TRASH, {"q": "shop"}, headers=HTMX | {"HX-Target": "trash-list"}).content.decode()
    assert (found.count("data-tick"), "All matching, including other pages" in found) == (2, True)
    reader = browser(charlie).get(TRASH).content.decode()
    assert ("data-tick" in reader, 'id="many"' in reader) == (False, False)


def test_all_that_match_come_back_as_one_publication(
    zones: list[Zone], deletion: Publication, browser: Browser, bob: User
) -> None:
    client, data = browser(bob), {"all": "1", "q": "shop"}
    page = client.post(RESTORE, data).content.decode()
    assert "<strong>2 zones</strong>" in page
    assert living() == []
    after = confirmed(client, data, page)
    assert "2 zones were restored with higher serials." in after
    assert living() == ["shop1.test.", "shop2.test."]
    newest = Publication.objects.latest("sequence")
    assert (newest.reason, newest.author, newest.revisions.count()) == ("not meant", bob, 2)


def test_ticked_zones_come_back_and_others_stay(
    zones: list[Zone], deletion: Publication, browser: Browser, bob: User
) -> None:
    client, data = browser(bob), {"zone": str(zones[2].pk)}
    confirmed(client, data, client.post(RESTORE, data).content.decode())
    assert living() == ["other.test."]
    assert client.post(RESTORE, {"q": "shop"})["Location"] == f"{TRASH}?q=shop"
    assert b"Nothing was selected" in client.get(TRASH).content


def test_what_cannot_come_back_is_named_before_and_after(
    make_zone: MakeZone, deletion: Publication, browser: Browser, bob: User
) -> None:
    make_zone(name="shop2.test.")
    client, data = browser(bob), {"all": "1", "q": ""}
    page = client.post(RESTORE, data).content.decode()
    assert "The following zones stay in the trash:" in page
    assert "The zone shop2.test. already exists." in page
    after = confirmed(client, data, page)
    assert "shop2.test. stays in the trash. The zone shop2.test. already exists." in after
    assert living() == ["other.test.", "shop1.test.", "shop2.test."]


def test_what_is_not_what_was_seen_is_shown_again(
    zones: list[Zone], deletion: Publication, browser: Browser, bob: User
) -> None:
    client, data = browser(bob), {"all": "1", "q": "shop"}
    page = client.post(RESTORE, data).content.decode()
    edit.restore_zone(zone=zones[0], author=bob, channel=Channel.WEB, now=NOW)
    assert "Review them again" in confirmed(client, data, page)
    assert living() == ["shop1.test."]


def test_more_than_one_publication_takes_are_for_a_worker_after_a_dry_run(
    zones: list[Zone], deletion: Publication, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore_many, "MOST_AT_ONCE", 2)
    client = browser(bob)
    address = client.post(RESTORE, {"all": "1"})["Location"]
    run = ChangeRun.objects.get()
    assert address == f"/zones/many/runs/{run.pk}/"
    change_runs.work_on_run(run.pk)
    assert "to be restored" in client.get(address).content.decode()
    assert living() == []
    applied = client.post(f"{address}apply/", {"form_id": str(uuid4())})["Location"]
    done = ChangeRun.objects.latest("pk")
    change_runs.work_on_run(done.pk)
    assert "restored from the trash" in client.get(applied).content.decode()
    assert len(living()) == 3
    page = client.get(RESTORE, {"publication": str(deletion.sequence)}, follow=True).content.decode()
    assert "No zones to restore" in page


def test_a_publication_that_deleted_zones_offers_to_restore_them(
    deletion: Publication, browser: Browser, bob: User, charlie: User
) -> None:
    client, address = browser(bob), f"/publications/{deletion.sequence}/"
    assert "Restore deleted zones…" in client.get(address).content.decode()
    assert "Restore deleted zones…" not in browser(charlie).get(address).content.decode()
    page = client.post(f"{address}undo/", follow=True).content.decode()
    assert f"publication {deletion.sequence}" in page
    assert "<strong>3 zones</strong>" in page
    confirmed(client, {"publication": str(deletion.sequence)}, page)
    assert len(living()) == 3
    assert "Restore deleted zones…" not in client.get(address).content.decode()
    page = client.get(RESTORE, {"publication": str(deletion.sequence)}).content.decode()
    assert "No zones to restore" in page


def test_a_publication_that_changed_and_deleted_makes_a_draft_and_leads_to_the_zones(
    make_zone: MakeZone, zones: list[Zone], deletion: Publication, browser: Browser, bob: User
) -> None:
    kept = make_zone("www 300 A 192.0.2.1", name="kept.test.")
    client = browser(bob)
    edit.delete_zone(zone=kept, acting=Acting(bob, Channel.WEB, NOW))
    edit.restore_zone(zone=kept, author=bob, channel=Channel.WEB, now=NOW)
    Revision.objects.filter(zone=kept, kind="restore").update(publication=deletion, kind="change")
    page = client.post(f"/publications/{deletion.sequence}/undo/", follow=True).content.decode()
    assert "<strong>3 zones</strong>" in page
