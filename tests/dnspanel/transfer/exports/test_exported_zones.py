"""Selections of zones to export."""

import pytest

from dnspanel.transfer.exports.exported_zones import EVERYTHING, Selection
from dnspanel.zones.models import Zone
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone


def found(selection: Selection) -> list[str]:
    return list(selection.among(Zone.objects.order_by("name")).values_list("name", flat=True))


@pytest.mark.django_db
def test_names_come_before_a_search_and_nothing_means_everything(make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.7", name="a.test.")
    make_zone("www 300 A 192.0.2.8", name="b.test.")
    assert found(EVERYTHING) == ["a.test.", "b.test."]
    assert found(Selection(names=("b.test.",), search="a")) == ["b.test."]
    assert found(Selection(search="has:192.0.2.7")) == ["a.test."]


@pytest.mark.parametrize(
    ("selection", "title"),
    [
        (EVERYTHING, "all zones"),
        (Selection(names=("xn--bcher-kva.test.",)), "bücher.test."),
        (Selection(names=("a.test.", "b.test.")), "2 zones"),
        (Selection(search="shop"), "zones with “shop”"),
    ],
)
def test_a_selection_is_stored_and_named(selection: Selection, title: str) -> None:
    assert Selection.from_json(selection.to_json()) == selection
    assert selection.title == title
