"""Revisions and diffs. Tests `store.stored_changes` too."""

from dataclasses import replace

from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.log import history
from dnspanel.zones.models import Revision, Zone
from dnspanel.zones.publishing import revision
from replication.dns.rrset import Change, RRset
from tests.dnspanel.zones.conftest import ZONE, rr
from tests.people import NOW


def publish(author: User, zone: Zone, *lines: str) -> Revision:
    for line in lines:
        draft.replace_rrset(author=author, zone=zone, rrset=rr(line), now=NOW)
    revision.publish(acting=Acting(author, "web", NOW))
    return Revision.objects.filter(zone=zone).latest("number")


def www(before: RRset | None, after: RRset | None) -> Change:
    return Change("www." + ZONE, 1, before, after)


def test_a_diff_goes_record_by_record() -> None:
    found = history.diff(www(rr("www 300 A 192.0.2.1 | 192.0.2.2"), rr("www 60 A 192.0.2.2 | 192.0.2.3")))
    assert (found.mark, found.ttl_changed, found.comment_changed) == ("changed", True, False)
    assert [(record.sign, record.rdata) for record in found.records] == [
        ("-", "192.0.2.1"),
        (" ", "192.0.2.2"),
        ("+", "192.0.2.3"),
    ]


def test_a_record_switched_off_is_gone_as_it_was_and_there_as_it_is() -> None:
    on = rr("www 300 A 192.0.2.1 | 192.0.2.2")
    off = replace(on, disabled=("192.0.2.2",), comment="broken")
    found = history.diff(www(on, off))
    assert [(record.sign, record.rdata, record.disabled) for record in found.records] == [
        (" ", "192.0.2.1", False),
        ("-", "192.0.2.2", False),
        ("+", "192.0.2.2", True),
    ]
    assert found.comment_changed


def test_added_and_deleted_rrsets_have_one_side() -> None:
    rrset = rr("www 300 A 192.0.2.1")
    assert history.diff(www(None, rrset)).mark == "added"
    assert [record.sign for record in history.diff(www(rrset, None)).records] == ["-"]


def test_a_revision_shows_its_changes_without_the_serial(bob: User, zone: Zone) -> None:
    made = publish(bob, zone, "zz 300 A 192.0.2.3", "www 60 A 192.0.2.1")
    assert [(c.name, history.diff(c).mark) for c in history.revision_changes(revision=made)] == [
        ("www." + ZONE, "changed"),
        ("zz." + ZONE, "added"),
    ]


def test_a_change_of_the_soa_itself_is_shown(bob: User, zone: Zone) -> None:
    made = publish(bob, zone, "@ 3600 SOA ns1.example.net. hostmaster.example.net. 1 7200 3600 604800 60")
    assert [change.type for change in history.revision_changes(revision=made)] == [6]
    assert (made.added, made.changed, made.removed) == (0, 1, 0)


def test_an_rrset_has_a_history_of_its_own_in_one_query(bob: User, zone: Zone) -> None:
    publish(bob, zone, "www 60 A 192.0.2.1")
    publish(bob, zone, "mail 60 A 192.0.2.9")
    publish(bob, zone, "www 61 A 192.0.2.1")
    with CaptureQueriesContext(connection) as queries:
        changes = history.rrset_history(zone=zone, name="www." + ZONE, type=1)
    assert len(queries) == 1
    assert [(row.number, row.author, d.change.after.ttl if d.change.after else None) for row, d in changes] == [
        (4, "bob", 61),
        (2, "bob", 60),
    ]


def test_a_zone_at_an_old_revision_is_in_canonical_order(bob: User, zone: Zone) -> None:
    draft.delete_rrset(author=bob, zone=zone, name="mail." + ZONE, type=1, now=NOW)
    draft.delete_rrset(author=bob, zone=zone, name=ZONE, type=15, now=NOW)
    publish(bob, zone, "aa 300 A 192.0.2.4")
    then = [(r.name.removesuffix(ZONE), r.type) for r in history.rrsets_at(zone=zone, number=1)]
    now = [(r.name.removesuffix(ZONE), r.type) for r in history.rrsets_at(zone=zone, number=2)]
    assert then == [("", 2), ("", 6), ("", 15), ("mail.", 1), ("shop.", 5), ("www.", 1)]
    assert now == [("", 2), ("", 6), ("aa.", 1), ("shop.", 5), ("www.", 1)]
