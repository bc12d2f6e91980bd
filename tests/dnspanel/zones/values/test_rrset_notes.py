"""Tags and comments of values, as typed, in drafts, publications, history and undo."""

from dataclasses import replace
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.log.history import revision_changes
from dnspanel.zones.models import Revision, Zone
from dnspanel.zones.publishing import revision
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.values.rrset_notes import LONGEST_COMMENT, MOST_COMMENTS, MOST_TAGS, notes_in, notes_of
from replication.dns import rdtypes
from replication.dns.rrset import NO_NOTES, Notes, RRset
from replication.errors import BadRdata
from tests.dnspanel.zones.conftest import ZONE, rr
from tests.people import NOW

A = rdtypes.A
WWW = rr("www 300 A 192.0.2.1 | 192.0.2.2")
NOTED = replace(WWW, notes=Notes(("shop", "web"), (("192.0.2.1", "first rack"),)))


def test_what_is_typed_becomes_canonical() -> None:
    found = notes_of(rdtypes.AAAA, [" Shop", "web", "shop"], {"2001:DB8::1": " first\n rack ", "2001:db8::2": ""})
    assert found == Notes(("shop", "web"), (("2001:db8::1", "first rack"),))


@pytest.mark.parametrize(
    ("tags", "comments", "words"),
    [
        (["a b"], {}, "isn’t a valid tag"),
        (["x" * 41], {}, "isn’t a valid tag"),
        ([f"t{number}" for number in range(MOST_TAGS + 1)], {}, "at most 20 tags"),
        ([], {"192.0.2.1": "x" * (LONGEST_COMMENT + 1)}, "at most 500 characters"),
        ([], {f"v{number}": "x" for number in range(MOST_COMMENTS + 1)}, "at most 500 values"),
    ],
    ids=["blank", "long-tag", "many-tags", "long-comment", "many-comments"],
)
def test_notes_have_limits(tags: list[str], comments: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        notes_of(A, tags, comments)


def test_a_comment_of_no_value_of_the_type_is_refused() -> None:
    with pytest.raises(BadRdata):
        notes_of(A, [], {"www": "x"})


@pytest.mark.parametrize("found", [[], {"tag": []}, {"tags": "shop"}, {"value_comments": []}, {"tags": [1]}], ids=str)
def test_an_object_says_tags_and_comments_and_nothing_else(found: Any) -> None:
    with pytest.raises(ValueError, match=r"object|list|strings"):
        notes_in(found, A)


def stored(zone: Zone) -> RRset | None:
    return store_rrsets.rrsets_at_names({zone.pk: (zone.name, {WWW.name})})[zone.pk].get((WWW.name, A))


@pytest.mark.django_db(transaction=True)
def test_a_draft_publishes_notes_and_undoing_it_takes_them_away(bob: User, zone: Zone) -> None:
    draft.replace_rrset(author=bob, zone=zone, rrset=NOTED, now=NOW)
    publication = revision.publish(acting=Acting(bob, "web", NOW), consent=revision.Consent(accept_warnings=True))
    assert publication is not None
    assert stored(zone) == NOTED
    made = Revision.objects.get(publication=publication)
    [change] = revision_changes(revision=made)
    assert (change.before, change.after) == (WWW, NOTED)
    # Notes that are in the draft, and resulting ones, are kept when the row is replaced.
    draft.replace_rrset(author=bob, zone=zone, rrset=replace(NOTED, ttl=60), now=NOW)
    revision.publish(acting=Acting(bob, "web", NOW), consent=revision.Consent(accept_warnings=True))
    assert stored(zone) == replace(NOTED, ttl=60)
    draft.replace_rrset(author=bob, zone=zone, rrset=replace(NOTED, notes=NO_NOTES), now=NOW)
    revision.publish(acting=Acting(bob, "web", NOW), consent=revision.Consent(accept_warnings=True))
    assert stored(zone) == WWW


@pytest.mark.django_db(transaction=True)
def test_two_who_note_something_of_one_rrset_are_a_conflict_and_both_can_stay(
    alice: User, bob: User, zone: Zone
) -> None:
    operation = draft.replace_rrset(author=bob, zone=zone, rrset=NOTED, now=NOW)
    theirs = replace(WWW, notes=Notes(("mail",), (("192.0.2.2", "second rack"),)))
    draft.replace_rrset(author=alice, zone=zone, rrset=theirs, now=NOW)
    revision.publish(acting=Acting(alice, "web", NOW), consent=revision.Consent(accept_warnings=True))
    assert operation is not None
    draft.resolve(author=bob, operation_id=operation.pk, choice="both", now=NOW)
    revision.publish(acting=Acting(bob, "web", NOW), consent=revision.Consent(accept_warnings=True))
    found = stored(zone)
    assert found is not None
    assert found.notes == Notes(("mail", "shop", "web"), (("192.0.2.1", "first rack"), ("192.0.2.2", "second rack")))
    assert found.name.endswith(ZONE)
