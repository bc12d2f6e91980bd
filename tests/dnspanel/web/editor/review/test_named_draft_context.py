"""The page content next to the review of a named draft."""

from django.test import RequestFactory

from dnspanel.accounts.models import Team, User
from dnspanel.web.editor.review.named_draft_context import named_draft_context
from dnspanel.zones.drafts import draft, named_drafts
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW


def test_the_owner_alone_sees_with_whom_it_is_and_could_be_shared(
    alice: User, bob: User, charlie: User, make_zone: MakeZone
) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    team = Team.objects.create(name="Web", created_at=NOW)

    def edit(person: User) -> None:
        draft.replace_rrset(author=person, zone=zone, rrset=rr("www 60 A 192.0.2.8"), now=NOW)

    def context(person: User) -> dict[str, object]:
        request = RequestFactory().get("/drafts/")
        request.user = person
        return named_draft_context(request, named_drafts.named_draft(person, key))  # type: ignore[arg-type]

    edit(bob)
    key = named_drafts.put_aside(author=bob, name="Move", now=NOW).key
    named = named_drafts.named_draft(bob, key)
    named_drafts.share(by=bob, named=named, to=alice, may_edit=True, now=NOW)
    edit(bob)
    own = context(bob)
    assert own["receivers"] == ["alice", "charlie", "Web"]
    assert [(share.user, share.team) for share in own["shares"]] == [(alice, None)]  # type: ignore[attr-defined]
    assert (own["changes_in_hand"], own["others_work"]) == (1, False)
    assert own["address"] == f"http://testserver/drafts/{key}/"
    theirs = context(alice)
    assert (theirs["receivers"], theirs["shares"], theirs["changes_in_hand"]) == ([], [], 0)
    named_drafts.take_up(author=alice, named=named_drafts.named_draft(alice, key), now=NOW)
    assert context(bob)["others_work"]
    assert not context(alice)["others_work"]
    assert team.name == "Web"
