"""The header and footer of a zone's pages."""

import json

from django.http import HttpResponse
from django.test import RequestFactory
from django_htmx.middleware import HtmxDetails

from dnspanel.accounts.models import User
from dnspanel.web.editor.zone_head import focus_after, with_draft_state, zone_head
from dnspanel.web.frame.layout import is_fragment
from dnspanel.zones.drafts import draft
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.markup import folded
from tests.people import NOW


def request_of(user: User, **headers: str):
    request = RequestFactory().get("/", headers=headers)
    request.user = user
    request.htmx = HtmxDetails(request)
    return request


def test_the_head_counts_my_changes_here_and_elsewhere(make_zone: MakeZone, alice: User, bob: User) -> None:
    here, other = make_zone("www 300 A 192.0.2.1"), make_zone(name="other.test.")
    draft.delete_rrset(author=bob, zone=here, name="www.example.test.", type=1, now=NOW)
    draft.replace_rrset(author=bob, zone=other, rrset=rr("x 300 A 192.0.2.1", origin="other.test."), now=NOW)
    draft.replace_rrset(author=alice, zone=here, rrset=rr("y 300 A 192.0.2.1"), now=NOW)
    head = zone_head(request_of(bob), here, "records")
    assert head.draft is not None
    assert (head.draft.removed, head.changes_elsewhere, head.may_edit) == (1, 1, True)
    assert head.others == (("alice", 1),)


def test_a_reader_has_no_draft(make_zone: MakeZone, charlie: User) -> None:
    head = zone_head(request_of(charlie), make_zone(), "records")
    assert (head.may_edit, head.draft, head.others) == (False, None, ())


def test_only_htmx_gets_fragments_and_never_for_a_restored_or_boosted_page(bob: User) -> None:
    assert not is_fragment(request_of(bob))
    assert is_fragment(request_of(bob, **{"HX-Request": "true"}))
    assert not is_fragment(request_of(bob, **{"HX-Request": "true", "HX-Boosted": "true"}))
    assert not is_fragment(request_of(bob, **{"HX-Request": "true", "HX-History-Restore-Request": "true"}))


def test_a_fragment_brings_the_draft_bar_along(make_zone: MakeZone, bob: User) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    draft.delete_rrset(author=bob, zone=zone, name="www.example.test.", type=1, now=NOW)
    response = with_draft_state(request_of(bob), zone, HttpResponse("<p>row</p>"), speak="www A deleted")
    text = folded(response.content.decode())
    assert text.startswith("<p>row</p>")
    assert 'id="draft-bar"' in text
    assert 'id="review-count" hx-swap-oob="true"' in text
    assert json.loads(response["HX-Trigger"])["speak"] == "www A deleted, 1 change"


def test_the_focus_moves_once_the_fragment_stands() -> None:
    assert json.loads(focus_after(HttpResponse(), "#x")["HX-Trigger-After-Settle"]) == {"focus-on": "#x"}
