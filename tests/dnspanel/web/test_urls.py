"""Names of URLs. The rights to use them are tested in `test_every_url`."""

import pytest
from django.urls import resolve, reverse


@pytest.mark.parametrize(
    ("address", "view"),
    [
        ("/zones/new/", "zone-new"),
        ("/zones/new./", "zone-detail"),
        ("/zones/trash/", "zone-trash"),
        ("/zones/0=2F25.2.0.192.in-addr.arpa./", "zone-detail"),
        ("/zones/=2E/", "zone-detail"),
        ("/docs/api/openapi.json", "docs-api-document"),
        ("/nodes/ns1/", "node-detail"),
        ("/nodes/ns1/points/", "node-points"),
        ("/nodes/ns1/drain/", "node-act"),
    ],
)
def test_an_address_leads_to_its_view(address: str, view: str) -> None:
    match = resolve(address)
    assert match.view_name == view
    assert reverse(view, kwargs=match.kwargs) == address


def test_the_start_page_is_the_list_of_zones() -> None:
    assert resolve("/").view_name == "home"
