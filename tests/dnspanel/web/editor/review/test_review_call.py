"""A draft shown as the equivalent call of API v2."""

import json
import shlex

from django.test import Client

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.web.editor.review.review_call import MOST_CHANGES, call_of
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import RRset, Zone
from dnspanel.zones.publishing import revision
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW


def draft_of(zone: Zone, author: User) -> None:
    mx = rr("@ 3600 MX 10 mail | 20 mail2", disabled=("20 mail2.example.test.",), comment="two")
    draft.replace_rrset(author=author, zone=zone, rrset=mx, now=NOW)
    draft.delete_rrset(author=author, zone=zone, name="www.example.test.", type=1, now=NOW)


def test_the_api_makes_of_the_call_what_the_draft_would(make_zone: MakeZone, client: Client, bob: User) -> None:
    zone = make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.2", "mail2 300 A 192.0.2.3")
    draft_of(zone, bob)
    [plan] = revision.preview(author=bob)
    words = shlex.split(call_of(plan, "https://panel.test").curl)
    assert words[-1] == "https://panel.test/api/v2/zones/example.test./changes"
    body = json.loads(words[words.index("-d") + 1])
    assert [order["op"] for order in body["changes"]] == ["replace", "delete"]
    terms = TokenTerms("x", (Grant(EVERY_RIGHT, everywhere=True),))
    secret = create_token(owner=bob, terms=terms, by=bob, now=NOW).secret
    answer = client.post(
        words[-1].removeprefix("https://panel.test"),
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert answer.status_code in {200, 202}, answer.content
    mx = RRset.objects.get(zone=zone, type=15)
    assert (mx.comment, mx.disabled) == ("two", ["20 mail2.example.test."])
    assert not RRset.objects.filter(zone=zone, name="www.example.test.").exists()


def test_the_review_shows_the_call_on_demand(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    draft_of(make_zone("www 300 A 192.0.2.1"), bob)
    for path in ("/zones/example.test./review/", "/changes/"):
        assert b"requests.post(" not in browser(bob).get(path).content
        page = browser(bob).get(f"{path}?as=call").content
        assert b"requests.post(" in page
        assert b"<span data-secret>" in page


def test_a_long_draft_says_how_much_it_leaves_out(make_zone: MakeZone, bob: User) -> None:
    zone = make_zone()
    for number in range(MOST_CHANGES + 3):
        draft.replace_rrset(author=bob, zone=zone, rrset=rr(f"h{number} 300 A 192.0.2.1"), now=NOW)
    [plan] = revision.preview(author=bob)
    assert call_of(plan, "").left_out == 3
