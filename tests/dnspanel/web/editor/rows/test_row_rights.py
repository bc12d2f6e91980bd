"""The rights to change or delete each row of the editor."""

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.web.editor.rows.row_rights import with_rights
from dnspanel.web.frame.rows import display_rows
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Zone
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, make_person


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.2")


@pytest.fixture
def mia(zone: Zone) -> User:
    """Return a person who is allowed to read the zone, and to change and add `www` and names below `dev`."""
    mia = make_person("mia", Role.MEMBER)
    rights = frozenset({Right.READ, Right.CHANGE, Right.ADD})
    grant = Grant(rights, zones=frozenset({zone.pk}), names=("www", "*.dev"))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    return mia


def rights_of(user: User, zone: Zone) -> dict[str, tuple[bool, bool]]:
    rows = rrset_pages.rrset_page(zone=zone, author=user).rows
    display = with_rights(user, zone, display_rows(zone.name, rows))
    return {row.owner: (row.may_change, row.may_remove) for row in display if row.type == "A"}


def test_each_row_is_judged_by_its_name_and_type(zone: Zone, mia: User, bob: User, charlie: User) -> None:
    draft.replace_rrset(author=mia, zone=zone, rrset=rr("a.dev 300 A 192.0.2.9"), now=NOW)
    assert rights_of(mia, zone) == {"a.dev": (True, True), "mail": (False, False), "www": (True, False)}
    assert set(rights_of(bob, zone).values()) == {(True, True)}
    assert set(rights_of(charlie, zone).values()) == {(False, False)}


def test_the_page_offers_only_what_would_be_done(zone: Zone, mia: User, browser: Browser) -> None:
    page = browser(mia).get("/zones/example.test./").content.decode()
    assert page.count("data-edit>") == 1
    assert "permission to delete this record" in page
    assert "data-delete" not in page
