"""The zone URLs work for every valid zone name."""

import pytest
from django.urls import resolve, reverse

from dnspanel.web.editor import table
from dnspanel.web.editor.history import history

NAMES = [
    "example.test.",
    "0/26.2.0.192.in-addr.arpa.",
    r"a\.b.test.",
    "new.",
    "trash.",
    ".",
    r"\000\255.test.".replace("\\000", "x"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_zone_of_any_name_has_an_editor(name: str) -> None:
    match = resolve(reverse("zone-detail", args=[name]))
    assert match.func is table.zone_detail
    assert match.kwargs == {"zone_name": name}


def test_fixed_pages_of_the_history_are_no_revision_numbers() -> None:
    assert resolve(reverse("zone-compare", args=["example.test."])).func is history.zone_compare
    assert resolve(reverse("zone-revision", args=["example.test.", 7])).kwargs["number"] == 7
