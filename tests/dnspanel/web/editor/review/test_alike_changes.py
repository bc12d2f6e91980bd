"""Alike changes are one line of the review, and a title describes changes."""

import pytest
from django.template.loader import render_to_string

from dnspanel.accounts.models import User
from dnspanel.web.editor.review.alike_changes import ALIKE_FROM, fold_alike, likeness_of, title_of
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import revision
from replication.dns.rrset import Change
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW

MANY = 40


@pytest.fixture
def zones(make_zone: MakeZone) -> list[Zone]:
    lines = [f"h{number} 3600 A 192.0.2.{number % 4}" for number in range(MANY)]
    return [make_zone(*lines, "@ 3600 MX 10 mail", name=f"{name}.test.") for name in ("a", "b")]


def put(author: User, zone: Zone, *lines: str) -> None:
    for line in lines:
        draft.replace_rrset(author=author, zone=zone, rrset=rr(line, origin=zone.name), now=NOW)


def shorter(zone: Zone, author: User, number: int = MANY) -> None:
    put(author, zone, *(f"h{each} 1200 A 192.0.2.{each % 4}" for each in range(number)))


def changes_of(author: User) -> list[tuple[str, Change]]:
    """Return the changes of the author's draft, as `title_of` takes them."""
    return [(plan.zone.name, change) for plan in revision.preview(author=author, zones=None) for change in plan.changes]


@pytest.mark.parametrize(
    ("before", "after", "likeness"),
    [
        ("h 3600 A 192.0.2.1", "h 1200 A 192.0.2.1", ("TTL", "3600", "1200")),
        ("h 60 A 192.0.2.1", "h 60 A 192.0.2.2", ("A", "192.0.2.1", "192.0.2.2")),
        ("h 60 A 192.0.2.1 | 192.0.2.3", "h 60 A 192.0.2.2 | 192.0.2.3", ("A", "192.0.2.1", "192.0.2.2")),
        ("h 60 A 192.0.2.1", "h 61 A 192.0.2.2", None),
        ("h 60 A 192.0.2.1", "h 60 A 192.0.2.1 | 192.0.2.2", None),
        (None, "h 60 A 192.0.2.1", None),
        ("h 60 A 192.0.2.1", None, None),
    ],
)
def test_changes_are_alike_by_their_ttl_or_one_value(
    before: str | None, after: str | None, likeness: tuple[str, str, str] | None
) -> None:
    change = Change("h.example.test.", 1, before and rr(before), after and rr(after))  # type: ignore[arg-type]
    assert likeness_of(change) == likeness


def test_the_review_of_a_zone_folds_alike_changes_and_keeps_their_acts(
    zones: list[Zone], browser: Browser, bob: User
) -> None:
    shorter(zones[0], bob)
    put(bob, zones[0], "@ 3600 MX 20 mail")
    client = browser(bob)
    page = client.get("/zones/a.test./review/").content.decode()
    fold = page[page.index('<details class="card review-zone fold">') : page.index("</details>", page.index("fold"))]
    assert "TTL 3600 → 1200 on 40 RRsets</h2>" in fold
    assert fold.count("<article") == MANY
    assert fold.count("Discard") == MANY
    assert "MX" not in fold
    assert page.count("<article") == MANY + 1
    drawer = client.get("/zones/a.test./review/", headers={"HX-Request": "true", "HX-Target": "drawer-body"})
    assert "TTL 3600 → 1200 on 40 RRsets" in drawer.content.decode()
    assert "fold" not in client.get("/zones/a.test./review/?as=text").content.decode()


def test_the_draft_folds_alike_changes_of_all_zones(zones: list[Zone], browser: Browser, bob: User) -> None:
    for zone in zones:
        shorter(zone, bob)
    put(bob, zones[1], "@ 3600 MX 20 mail")
    page = browser(bob).get("/changes/").content.decode()
    assert "TTL 3600 → 1200 on 80 RRsets in 2 zones" in page
    assert page.count('class="card review-zone"') == 1  # zone a has no other changes


def test_few_alike_changes_stay_as_they_are(zones: list[Zone], bob: User) -> None:
    shorter(zones[0], bob, ALIKE_FROM - 1)
    assert fold_alike(revision.preview(author=bob, zones=None)) == []


def test_a_title_names_the_first_change_and_counts_the_others(zones: list[Zone], bob: User) -> None:
    def title() -> str:
        title = title_of(changes_of(bob))
        page = render_to_string("editor/_changes_title.html", {"title": title, "asked": {"name": "The new web"}})
        return " ".join(page.split())

    assert title() == "The new web"
    put(bob, zones[0], "new 60 A 192.0.2.1")
    assert title() == "Add A of new.a.test"
    put(bob, zones[0], "@ 3600 MX 20 mail", "h1 60 A 192.0.2.77")
    assert title() == "Change MX of a.test and 2 more"


def test_a_title_of_alike_changes_is_their_fold(zones: list[Zone], bob: User) -> None:
    shorter(zones[0], bob)
    title = title_of(changes_of(bob))
    assert title is not None
    assert title.fold is not None
    page = render_to_string("editor/_changes_title.html", {"title": title})
    assert " ".join(page.split()) == "TTL 3600 → 1200 on 40 RRsets"
