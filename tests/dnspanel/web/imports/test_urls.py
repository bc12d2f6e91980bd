"""URLs of the import wizard. The rights to use them are tested in `test_every_url`."""

import pytest
from django.urls import resolve, reverse


@pytest.mark.parametrize(
    ("address", "view"),
    [
        ("/imports/", "import-list"),
        ("/imports/new/", "import-new"),
        ("/imports/new/powerdns-api/", "import-source"),
        ("/imports/7/", "import-detail"),
        ("/imports/7/upload/", "import-upload"),
        ("/imports/7/zones/12/", "import-zone"),
        ("/imports/7/faults.csv", "import-faults-csv"),
        ("/imports/7/undo/", "import-undo"),
        ("/imports/7/pause/", "import-act"),
    ],
)
def test_an_address_leads_to_its_view(address: str, view: str) -> None:
    match = resolve(address)
    assert match.view_name == view
    assert reverse(view, kwargs=match.kwargs) == address
