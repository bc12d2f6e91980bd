"""Operations that enter a draft."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.drafts.discarded import discard
from dnspanel.zones.errors import CannotResolve, Conflicts, Unknown
from dnspanel.zones.models import Draft, Operation, Zone
from dnspanel.zones.publishing import edit, revision
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from replication.errors import BadName
from tests.dnspanel.zones.conftest import ZONE, rr
from tests.people import NOW

A, CNAME = rdtypes.A, rdtypes.CNAME
WWW = "www." + ZONE


def replace(author: User, zone: Zone, line: str, **how: object) -> Operation | None:
    return draft.replace_rrset(author=author, zone=zone, rrset=rr(line), now=NOW, **how)  # type: ignore[arg-type]


def publish(author: User) -> None:
    revision.publish(acting=Acting(author, "web", NOW), consent=revision.Consent(accept_warnings=True))


def test_an_edit_is_held_with_what_it_was_made_against(bob: User, zone: Zone) -> None:
    operation = replace(bob, zone, "www 60 A 192.0.2.8")
    assert operation is not None
    drafted = draft.edit_of(Operation.objects.get())
    assert drafted.change.before == rr("www 300 A 192.0.2.1 | 192.0.2.2")
    assert drafted.change.after == rr("www 60 A 192.0.2.8")
    assert operation.pk == drafted.operation_id


def test_editing_again_keeps_the_first_base(alice: User, bob: User, zone: Zone) -> None:
    replace(bob, zone, "www 60 A 192.0.2.8")
    replace(alice, zone, "www 61 A 192.0.2.1")
    publish(alice)
    replace(bob, zone, "www 62 A 192.0.2.8")
    assert draft.edit_of(Operation.objects.get()).change.before == rr("www 300 A 192.0.2.1 | 192.0.2.2")


def test_wanting_what_is_published_holds_nothing(bob: User, zone: Zone) -> None:
    assert replace(bob, zone, "www 300 A 192.0.2.2 | 192.0.2.1") is None
    replace(bob, zone, "www 60 A 192.0.2.8")
    assert replace(bob, zone, "www 300 A 192.0.2.1 | 192.0.2.2") is None
    assert not Operation.objects.exists()


def test_an_added_rrset_that_is_deleted_again_is_forgotten(bob: User, zone: Zone) -> None:
    replace(bob, zone, "new 60 A 192.0.2.8")
    assert draft.delete_rrset(author=bob, zone=zone, name="new." + ZONE, type=A, now=NOW) is None
    assert not Operation.objects.exists()


def test_deleting_and_dropping_the_operation_restores(bob: User, zone: Zone) -> None:
    assert draft.delete_rrset(author=bob, zone=zone, name=WWW, type=A, now=NOW) is not None
    assert Operation.objects.get().wanted is None
    assert draft.drop_operation(author=bob, zone=zone, name=WWW, type=A)
    assert not draft.drop_operation(author=bob, zone=zone, name=WWW, type=A)


@pytest.mark.django_db(transaction=True)
def test_an_operation_is_not_dropped_while_it_is_published(bob: User, zone: Zone) -> None:
    replace(bob, zone, "www 60 A 192.0.2.8")

    def drop() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '200ms'")
        try:
            return draft.drop_operation(author=bob, zone=zone, name=WWW, type=A)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Draft.objects.select_for_update(no_key=True).get(author=bob)
            with pytest.raises(OperationalError, match="lock timeout"):
                pool.submit(drop).result()
        assert pool.submit(drop).result()


def test_a_rename_deletes_the_old_and_adds_the_new(bob: User, zone: Zone) -> None:
    replace(bob, zone, "web 300 A 192.0.2.1", replaces=(WWW, A))
    drafted = {o.name: o.wanted for o in Operation.objects.all()}
    assert drafted[WWW] is None
    assert drafted["web." + ZONE] is not None
    replace(bob, zone, "web 300 CNAME www.example.net.", replaces=("web." + ZONE, A))
    assert {(o.name, o.type) for o in Operation.objects.all()} == {(WWW, A), ("web." + ZONE, CNAME)}


def test_a_change_published_since_the_page_was_drawn_is_a_conflict(alice: User, bob: User, zone: Zone) -> None:
    seen = zone.revision
    replace(alice, zone, "www 61 A 192.0.2.1")
    publish(alice)
    replace(alice, zone, "mail 61 A 192.0.2.9")
    publish(alice)
    replace(bob, zone, "www 300 A 192.0.2.1 | 192.0.2.2 | 192.0.2.3", base_revision=seen)
    with pytest.raises(Conflicts):
        publish(bob)


def test_what_nobody_changed_since_the_page_was_drawn_merges(alice: User, bob: User, zone: Zone) -> None:
    seen = zone.revision
    replace(alice, zone, "mail 61 A 192.0.2.9")
    publish(alice)
    replace(bob, zone, "www 60 A 192.0.2.3", base_revision=seen)
    publish(bob)


def test_drafts_of_two_people_do_not_mix(alice: User, bob: User, zone: Zone) -> None:
    replace(alice, zone, "www 60 A 192.0.2.8")
    replace(bob, zone, "www 61 A 192.0.2.8")
    assert discard(author=alice, now=NOW) == 1
    assert draft.edit_of(draft.operations_of(bob).get()).change.after == rr("www 61 A 192.0.2.8")


def test_discarding_one_zone_leaves_the_others(bob: User, zone: Zone) -> None:
    edit.create_zone(zone=edit.NewZone("other.test"), acting=Acting(bob, "web", NOW))
    other = Zone.objects.get(name="other.test.")
    replace(bob, zone, "www 60 A 192.0.2.8")
    wanted = RRset("www.other.test.", A, 300, ("192.0.2.1",))
    draft.replace_rrset(author=bob, zone=other, rrset=wanted, now=NOW)
    assert discard(author=bob, zone=zone, now=NOW) == 1
    assert draft.operations_of(bob).get().zone == other


def test_a_name_outside_of_the_zone_and_a_deleted_zone_are_refused(bob: User, zone: Zone) -> None:
    stray = RRset("www.other.test.", A, 300, ("192.0.2.1",))
    with pytest.raises(BadName, match="is outside the zone"):
        draft.replace_rrset(author=bob, zone=zone, rrset=stray, now=NOW)
    edit.delete_zone(zone=zone, acting=Acting(bob, "web", NOW))
    with pytest.raises(Unknown):
        replace(bob, zone, "www 60 A 192.0.2.8")


def test_an_edit_takes_seven_queries_at_most(bob: User, zone: Zone) -> None:
    with CaptureQueriesContext(connection) as queries:
        replace(bob, zone, "www 60 A 192.0.2.8")
    assert len(queries) <= 7
    with CaptureQueriesContext(connection) as queries:
        replace(bob, zone, "web 300 A 192.0.2.1", replaces=(WWW, A))
    assert len(queries) <= 8


class TestResolve:
    @pytest.fixture
    def clash(self, alice: User, bob: User, zone: Zone) -> int:
        replace(bob, zone, "www 60 A 192.0.2.2 | 192.0.2.8")
        replace(alice, zone, "www 61 A 192.0.2.2 | 192.0.2.3")
        publish(alice)
        return Operation.objects.get().pk

    def test_theirs_drops_mine(self, bob: User, clash: int) -> None:
        assert draft.resolve(author=bob, operation_id=clash, choice="theirs", now=NOW) is None
        assert not Operation.objects.exists()

    def test_mine_goes_over_theirs(self, bob: User, zone: Zone, clash: int) -> None:
        resolved = draft.resolve(author=bob, operation_id=clash, choice="mine", now=NOW)
        assert resolved is not None
        assert resolved.base_revision == 2
        publish(bob)
        assert revision.preview(author=bob) == ()

    def test_both_has_the_records_of_both_and_my_ttl(self, bob: User, clash: int) -> None:
        resolved = draft.resolve(author=bob, operation_id=clash, choice="both", now=NOW)
        assert resolved is not None
        assert draft.edit_of(resolved).change.after == rr("www 60 A 192.0.2.2 | 192.0.2.3 | 192.0.2.8")

    def test_there_are_no_records_of_both_where_one_side_deletes(self, alice: User, bob: User, zone: Zone) -> None:
        replace(bob, zone, "www 60 A 192.0.2.2")
        draft.delete_rrset(author=alice, zone=zone, name=WWW, type=A, now=NOW)
        publish(alice)
        with pytest.raises(CannotResolve):
            draft.resolve(author=bob, operation_id=Operation.objects.get().pk, choice="both", now=NOW)

    def test_two_cnames_cannot_both_stay(self, alice: User, bob: User, zone: Zone) -> None:
        replace(bob, zone, "shop 60 CNAME a.example.net.")
        replace(alice, zone, "shop 60 CNAME b.example.net.")
        publish(alice)
        with pytest.raises(CannotResolve, match="only one CNAME"):
            draft.resolve(author=bob, operation_id=Operation.objects.get().pk, choice="both", now=NOW)

    def test_somebody_elses_operation_is_not_touched(self, alice: User, clash: int) -> None:
        assert draft.resolve(author=alice, operation_id=clash, choice="theirs", now=NOW) is None
        assert Operation.objects.count() == 1
