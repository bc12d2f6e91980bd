"""Tests of the columns and density that each person chooses for lists."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.accounts.people.list_looks import COLUMNS, ListName, look_of, set_look
from tests.people import alice as alice
from tests.people import bob as bob


@pytest.mark.django_db
def test_a_list_is_whole_until_somebody_leaves_a_column_out_and_for_that_person_alone(alice: User, bob: User) -> None:
    assert (look_of(bob, ListName.ZONES).css, look_of(bob, ListName.RECORDS).css) == ("is-dense", "")
    columns = set(COLUMNS[ListName.ZONES]) - {"serial", "author"} | {"no-such-column"}
    set_look(person=bob, of=ListName.ZONES, columns=columns, dense=True)
    set_look(person=bob, of=ListName.RECORDS, columns=["ttl"], dense=False)
    stored = User.objects.get(pk=bob.pk)
    assert look_of(stored, ListName.ZONES).css == "no-author no-serial is-dense"
    assert look_of(stored, ListName.RECORDS).columns == (("ttl", "TTL", True), ("comment", "Comment", False))
    assert look_of(User.objects.get(pk=alice.pk), ListName.ZONES).css == "is-dense"
    set_look(person=stored, of=ListName.ZONES, columns=COLUMNS[ListName.ZONES], dense=False)
    assert look_of(User.objects.get(pk=bob.pk), ListName.ZONES).css == ""


def test_what_an_older_panel_stored_and_no_list_has_any_more_does_no_harm() -> None:
    person = User(list_looks={"zones": {"hidden": ["serial", "gone"]}, "gone": {}})
    assert look_of(person, ListName.ZONES).css == "no-serial is-dense"
