"""The page of the audit log."""

import pytest

from dnspanel.accounts import audit
from dnspanel.accounts.models import User
from dnspanel.web.access.audit import MOST_ENTRIES, filters_of
from dnspanel.zones.audit_trail import Filters
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.people import NOW


@pytest.mark.parametrize(
    ("search", "filters"),
    [
        ("", Filters()),
        ("action:Token. who:alice", Filters(action="token.", user="alice")),
        ('from:192.0.2. "web ops" shop', Filters(address="192.0.2.", texts=("web ops", "shop"))),
        ("a:b\0c", Filters(texts=("a:b", "c"))),
    ],
)
def test_a_search_is_read_word_by_word(search: str, filters: Filters) -> None:
    assert filters_of(search) == filters


@pytest.fixture
def log(alice: User, bob: User) -> None:
    with audit.coming_from(audit.Origin("192.0.2.7", "one")):
        audit.record(action="sign-in.failed", by=None, now=NOW, target="bob")
    audit.record(action="team.create", by=alice, now=NOW, target="Web <ops>", members=["ana", "bea"], empty="")
    audit.record(action="webhook.create", by=bob, now=NOW, target="hooks.test")


@pytest.mark.usefixtures("log")
def test_administrators_see_all_and_others_their_own_acts(browser: Browser, alice: User, bob: User) -> None:
    page = browser(alice).get("/audit/").content.decode()
    assert "Web &lt;ops&gt;" in page
    assert "ana, bea" in page
    assert '<span class="quiet">empty</span>' not in page
    mine = browser(bob).get("/audit/").content.decode()
    assert "hooks.test" in mine
    assert "ops" not in mine


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("action:sign-in.failed", "192.0.2.7"),
        ("from:192.0.2.", "sign-in.failed"),
        ("who:ALICE web", "team.create"),
        ("action:publish", "example.test"),
    ],
)
def test_a_search_finds_by_its_words(
    browser: Browser, make_zone: MakeZone, alice: User, search: str, found: str
) -> None:
    make_zone()
    page = browser(alice).get("/audit/", {"q": search}).content.decode()
    rows = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert rows.count("<tr") == 1
    assert found in rows


@pytest.mark.usefixtures("log")
def test_nothing_found_says_so_with_the_search(browser: Browser, alice: User) -> None:
    assert b"No entry matches" in browser(alice).get("/audit/?q=nonsense").content


def test_pages_follow_each_other_and_htmx_gets_the_rows_alone(browser: Browser, alice: User) -> None:
    for number in range(MOST_ENTRIES + 2):
        audit.record(action="team.create", by=alice, now=NOW, target=f"team {number}.")
    client = browser(alice)
    first = client.get("/audit/?q=action:team.")
    after = first.context["next_after"]
    assert b"team 1." not in first.content
    rest = client.get("/audit/", {"q": "action:team.", "after": after}, headers={**HTMX, "HX-Target": "audit-more"})
    assert rest.content.lstrip().startswith(b"<tbody>")
    assert b"team 1." in rest.content
    assert rest.context["next_after"] == ""
    for nonsense in ("x", "²-1", "-", "9" * 5000):
        assert client.get("/audit/", {"after": nonsense}).status_code == 200
