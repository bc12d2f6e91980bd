"""URLs of exports and comparisons work for every valid zone name."""

import pytest
from django.urls import resolve, reverse

from dnspanel.web.exports import cutovers, pages
from tests.dnspanel.web.editor.test_urls import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_zone_of_any_name_is_exported_and_compared(name: str) -> None:
    display = resolve(reverse("zone-export", args=[name]))
    file = resolve(reverse("zone-export-file", args=[name, "json"]))
    compared = resolve(reverse("import-cutover-zone", args=[7, name]))
    assert (display.func, display.kwargs) == (pages.zone_export, {"zone_name": name})
    assert (file.func, file.kwargs) == (pages.zone_export_file, {"zone_name": name, "file_format": "json"})
    assert (compared.func, compared.kwargs) == (cutovers.cutover_zone, {"check_id": 7, "zone_name": name})


def test_fixed_pages_of_a_comparison_are_no_zones() -> None:
    assert resolve("/comparisons/7/differences.csv").func is cutovers.cutover_csv
    assert resolve("/comparisons/7/cancel/").func is cutovers.cutover_cancel
