"""The editor's type filter counts types in the zone as the author's draft leaves it."""

from dnspanel.accounts.models import User
from dnspanel.web.editor.rows.type_filter import TYPE_NAMES, types_of
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists.rrset_pages import COUNTED_RRSETS
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW


def test_the_most_frequent_come_first_with_what_the_draft_adds(make_zone: MakeZone, bob: User) -> None:
    zone = make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.9")
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("@ 300 TXT hello"), now=NOW)
    assert types_of(zone, bob) == [("", 5), ("A", 2), ("NS", 1), ("SOA", 1), ("TXT", 1)]


def test_a_zone_too_large_to_count_offers_every_type(make_zone: MakeZone, bob: User) -> None:
    zone = make_zone()
    zone.rrset_count = COUNTED_RRSETS + 1
    assert types_of(zone, bob) == []
    assert {"A", "TXT", "HTTPS"} <= set(TYPE_NAMES)
