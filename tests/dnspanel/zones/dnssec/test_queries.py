"""The same form sent twice, concurrent key changes, and knowledge about the parent zone.

Tests `log.signing_log`, `dnssec.key_material`, `signing.safety`, `dnssec.queries` and
`dnssec.signing_state` too.
"""

from uuid import UUID, uuid4

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.errors import CannotUndo, DnssecRefused, KeyUnknown
from dnspanel.zones.models import Publication, Revision, Zone, ZoneKey
from dnspanel.zones.publishing.revision import undo_revisions
from dnspanel.zones.signing import safety, sign
from replication.codec.dnssec import Nsec3
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


def acting(author: User | None = None, form_id: UUID | None = None) -> Acting:
    return Acting(author=author, channel="web", now=NOW, form_id=form_id)


def test_a_form_that_is_sent_twice_adds_one_key(zone: Zone, bob: User) -> None:
    sign.sign(zones=[zone], acting=acting())
    once = acting(bob, uuid4())
    first, again = (sign.add_key(zone=zone, acting=once) for _ in range(2))
    assert first == again
    assert [key.id for key in queries.keys_of(zone)] == sorted(ZoneKey.objects.values_list("pk", flat=True))
    assert len(queries.keys_of(zone)) == 2


def test_a_form_that_is_sent_twice_deletes_once(zone: Zone) -> None:
    sign.sign(zones=[zone], acting=acting())
    key = sign.add_key(zone=zone, acting=acting())
    once = acting(form_id=uuid4())
    first, again = (sign.delete_key(zone=zone, key_id=key.pk, acting=once) for _ in range(2))
    assert first == again
    with pytest.raises(KeyUnknown):
        sign.delete_key(zone=zone, key_id=key.pk, acting=acting(form_id=uuid4()))


def test_a_form_of_something_else_adds_no_key(zone: Zone) -> None:
    once = acting(form_id=uuid4())
    sign.sign(zones=[zone], acting=acting())
    sign.set_denial(zone=zone, nsec3=Nsec3(), acting=once)
    with pytest.raises(DnssecRefused, match="already been used"):
        sign.add_key(zone=zone, acting=once)


def test_of_two_publications_the_last_has_the_form(zone: Zone) -> None:
    """Only the last has the form's id, so a form that is sent again after a crash between the two continues."""
    sign.sign(zones=[zone], acting=acting(), nsec3=Nsec3())
    once = acting(form_id=uuid4())
    published = sign.set_denial(zone=zone, nsec3=Nsec3(1, b"\x01"), acting=once)
    assert [each.form_id for each in published] == [None, once.form_id]
    count = Publication.objects.count()
    assert sign.set_denial(zone=zone, nsec3=Nsec3(1, b"\x01"), acting=once) == []
    assert Publication.objects.count() == count


def test_what_is_not_said_of_a_key_stays(zone: Zone) -> None:
    sign.sign(zones=[zone], acting=acting())
    key = sign.add_key(zone=zone, acting=acting(), active=False, published=False)
    sign.set_key(zone=zone, key_id=key.pk, published=True, acting=acting())
    state = queries.signing_of(zone).key(key.pk)
    assert state is not None
    assert (state.active, state.published) == (False, True)


def test_unsigning_deletes_the_keys_that_signed_and_no_others(zone: Zone, make_zone: MakeZone) -> None:
    other = make_zone(name="other.test.")
    sign.sign(zones=[zone, other], acting=acting(), split=True)
    sign.unsign(zones=[zone], acting=acting())
    assert set(ZoneKey.objects.filter(deleted_at=None).values_list("zone", flat=True)) == {other.pk}
    assert ZoneKey.objects.filter(zone=zone).count() == 2


def test_keys_say_who_made_them(zone: Zone, bob: User) -> None:
    sign.sign(zones=[zone], acting=acting(bob))
    [key] = queries.keys_of(zone)
    assert (key.created_by, key.created_at) == ("bob", NOW)


def test_the_parent_is_known_where_it_delegates(zone: Zone, make_zone: MakeZone) -> None:
    assert safety.parent_here("example.test.") is None
    make_zone("delegated 300 NS ns.example.net.", f"ds 300 DS 1 13 2 {'ab' * 32}", name="up.test.")
    assert safety.parent_here("delegated.up.test.") == safety.ParentHere(
        Zone.objects.get(name="up.test.").pk, "up.test.", ()
    )
    assert safety.parent_here("not.up.test.") is None
    found = safety.parent_here("ds.up.test.")
    assert found is not None
    assert found.ds == (f"1 13 2 {'ab' * 32}",)


def test_changes_are_told_in_words(zone: Zone) -> None:
    sign.sign(zones=[zone], acting=acting())
    [key] = queries.keys_of(zone)
    sign.set_denial(zone=zone, nsec3=Nsec3(opt_out=True), acting=acting())
    sign.unsign(zones=[zone], acting=acting())
    assert queries.descriptions_of_changes(zone, [1, 2, 3, 4]) == {
        2: ["signed with ECDSAP256SHA256", f"key {key.tag} added"],
        3: ["NSEC3 on with opt-out"],
        4: ["unsigned", f"key {key.tag} deleted"],
    }
    found = queries.last_change_of(zone)
    assert found is not None
    assert found.number == 4


def test_no_draft_undoes_a_change_of_the_signing(zone: Zone, bob: User) -> None:
    sign.sign(zones=[zone], acting=acting())
    with pytest.raises(CannotUndo, match="is signed"):
        undo_revisions(revisions=[Revision.objects.get(zone=zone, number=2)], author=bob, now=NOW)
