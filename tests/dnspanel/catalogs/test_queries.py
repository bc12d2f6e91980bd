"""Tests of the state of consumed catalogs, and of their alerts."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import User
from dnspanel.catalogs import queries
from dnspanel.catalogs.models import Catalog, Listing, State
from dnspanel.primaries.models import TransferredZone
from tests.dnspanel.catalogs.conftest import follow_one
from tests.people import NOW
from tests.people import alice as alice

pytestmark = pytest.mark.django_db(transaction=True)


def names(catalog: Catalog, *zones: str, state: State = State.MEMBER, reason: str = "") -> None:
    for zone in zones:
        Listing.objects.create(catalog=catalog, zone_name=zone, label=zone, state=state, reason=reason, since=NOW)


def word(catalog: Catalog) -> str:
    found = Catalog.objects.select_related("zone__transferred").get(pk=catalog.pk)
    return queries.catalog_row(found).word


def test_the_word_is_the_worst_of_it(alice: User) -> None:
    catalog = follow_one(alice)
    rows, own = TransferredZone.objects.filter(pk=catalog.pk), Catalog.objects.filter(pk=catalog.pk)
    assert word(catalog) == "awaited"
    rows.update(serial=1)
    assert word(catalog) == "in step"
    names(catalog, "a.test.", state=State.REFUSED)
    assert word(catalog) == "refused"
    rows.update(failed_since=NOW)
    assert word(catalog) == "failing"
    own.update(kept_since=NOW, kept_count=6)
    assert word(catalog) == "kept"
    own.update(broken_since=NOW, broken_reason="It has no version.")
    assert word(catalog) == "broken"


def test_what_is_wrong_is_told_the_oldest_first(alice: User) -> None:
    first, second, third, fine = (follow_one(alice, f"{label}.catalog.test.") for label in ("a", "b", "c", "d"))
    names(fine, "fine.test.")
    names(third, "x.test.", "y.test.", state=State.REFUSED, reason="There is one.")
    names(third, "moved.test.", state=State.MOVED)
    Catalog.objects.filter(pk=first.pk).update(broken_since=NOW - timedelta(hours=1), broken_reason="No version")
    Catalog.objects.filter(pk=second.pk).update(kept_since=NOW - timedelta(hours=2), kept_count=7)
    with CaptureQueriesContext(connection) as made:
        found = queries.troubled_catalogs()
    assert len(made) <= 3
    assert [(each.zone_name, each.message) for each in found] == [
        (
            "b.catalog.test.",
            "7 of 0 members left the catalog at once. They stay until someone confirms the removal.",
        ),
        ("a.catalog.test.", "The catalog is broken: No version"),
        ("c.catalog.test.", "2 listed zones were refused. The first is x.test.: There is one."),
    ]


def test_what_it_names_comes_page_by_page_by_name(alice: User) -> None:
    catalog = follow_one(alice)
    names(catalog, *(f"m{number}.test." for number in range(5)))
    names(catalog, "other.test.", state=State.REFUSED)
    first = queries.listings_page(alice, catalog, limit=2)
    assert [each.zone_name for each in first] == ["m0.test.", "m1.test."]
    rest = queries.listings_page(alice, catalog, after="m1.test.", search="m")
    assert [each.zone_name for each in rest] == ["m2.test.", "m3.test.", "m4.test."]
    assert [each.zone_name for each in queries.listings_page(alice, catalog, state="refused")] == ["other.test."]
    assert [row.members for row in queries.catalog_rows(alice)] == [5]
