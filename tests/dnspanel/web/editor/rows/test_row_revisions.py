"""Rows sorted by change display the revision that changed them last, with its time and author."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.publishing import revision
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW


@pytest.mark.django_db(transaction=True)
def test_the_newest_change_comes_first_with_its_author(browser: Browser, bob: User, make_zone: MakeZone) -> None:
    zone = make_zone("a 300 A 192.0.2.1", "b 300 A 192.0.2.2", "c 300 A 192.0.2.3")
    for line in ("c 60 A 192.0.2.3", "b 60 A 192.0.2.2"):
        draft.replace_rrset(author=bob, zone=zone, rrset=rr(line), now=NOW)
        revision.publish(acting=Acting(bob, "web", NOW), consent=revision.Consent(accept_warnings=True))
    client = browser(bob)
    plain = client.get("/zones/example.test./")
    assert 'href="/zones/example.test./?sort=-changed"' in plain.content.decode()
    assert "Revision 3</a>" not in plain.content.decode().split("<tbody", 1)[1]
    page = client.get("/zones/example.test./?sort=-changed")
    rows = page.context["rows"]
    assert [(row.owner, row.revision.number) for row in rows if row.type == "A"] == [("b", 3), ("c", 2), ("a", 1)]
    assert page.content.decode().count("by bob") >= 2
