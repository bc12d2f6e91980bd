"""Editor rows: in-place edit, deletion and undo. No typed text is lost."""

import pytest
from django.test import Client

from dnspanel.accounts.models import User
from dnspanel.web.editor.lines.rrset_form import digest_of
from dnspanel.web.frame.rows import row_id
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Operation, Zone
from dnspanel.zones.publishing import revision
from replication.dns.rrset import Notes, RRset
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW

ZONE = "/zones/example.test./"
RRSET = ZONE + "rrset/"
WWW = "?name=www.example.test.&type=A"


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1 | 192.0.2.2", "mail 300 A 192.0.2.9", "shop 300 CNAME www")


def now_of(author: User, zone: Zone, name: str, type: int = 1) -> RRset | None:
    return rrset_pages.rrset_row(zone=zone, author=author, name=name, type=type).change.after


def fields_of(client: Client, query: str) -> dict[str, str]:
    """Return the fields of a row's form with their unchanged values."""
    form = client.get(RRSET + query).context["form"]
    return {name: str(form[name].value() or "") for name in form.fields if name != "notes"}


def save(client: Client, fields: dict[str, str], **typed: str) -> tuple[int, str]:
    response = client.post(RRSET, fields | typed, headers=HTMX)
    return response.status_code, response.content.decode()


def test_a_click_turns_the_row_into_its_form(zone: Zone, browser: Browser, bob: User) -> None:
    response = browser(bob).get(f"{RRSET}{WWW}&focus=ttl", headers=HTMX)
    row = row_id("www.example.test.", 1)
    assert response.content.decode().startswith(f'<tbody class="rrset is-editing" id="{row}"')
    assert f"#{row} [name=ttl]" in response["HX-Trigger-After-Settle"]


def test_without_a_script_the_form_is_a_page_of_its_own(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    assert b"<html" in client.get(RRSET + WWW).content
    response = client.post(RRSET, fields_of(client, WWW) | {"ttl": "60"}, follow=True)
    assert response.redirect_chain == [(f"{ZONE}#{row_id('www.example.test.', 1)}", 302)]
    assert now_of(bob, zone, "www.example.test.") == rr("www 60 A 192.0.2.1 | 192.0.2.2")


def test_saving_a_row_shows_it_changed_and_moves_on(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    status, fragment = save(client, fields_of(client, WWW), values="192.0.2.1\n192.0.2.7", ttl="1h")
    assert status == 200
    assert now_of(bob, zone, "www.example.test.") == rr("www 3600 A 192.0.2.1 | 192.0.2.7")
    assert 'class="is-change"' in fragment
    assert '<div id="draft-bar"' in fragment
    reloaded = client.get(ZONE).content.decode()
    assert 'class="is-change"' in reloaded


def test_saving_what_is_published_makes_no_change(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    assert save(client, fields_of(client, WWW))[0] == 200
    assert Operation.objects.count() == 0


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"values": "192.0.2.x <b>"}, "isn’t a valid IPv4 address"),
        ({"ttl": "soon"}, "isn’t a valid TTL"),
        ({"name": "www.elsewhere.test."}, "is not in the zone"),
        ({"type": "NOPE"}, "isn’t a valid record type"),
    ],
)
def test_a_fault_leaves_the_row_open_with_all_that_was_typed(
    zone: Zone, browser: Browser, bob: User, typed: dict[str, str], words: str
) -> None:
    client = browser(bob)
    status, fragment = save(client, fields_of(client, WWW), comment="my <note>", **typed)
    assert status == 422
    assert words in fragment
    assert 'value="my &lt;note&gt;"' in fragment
    assert "192.0.2.x &lt;b&gt;</textarea>" in fragment or "192.0.2.1\n192.0.2.2</textarea>" in fragment
    assert Operation.objects.count() == 0


def test_a_rename_deletes_the_old_and_adds_the_new(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    status, fragment = save(client, fields_of(client, WWW), name="web")
    assert status == 200
    assert now_of(bob, zone, "www.example.test.") is None
    assert now_of(bob, zone, "web.example.test.") == rr("web 300 A 192.0.2.1 | 192.0.2.2")
    assert fragment.index('class="is-delete"') < fragment.index("hx-swap-oob") < fragment.index('class="is-add"')


def test_a_rename_onto_another_rrset_is_refused_not_merged(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    status, fragment = save(client, fields_of(client, WWW), name="mail")
    assert status == 422
    assert "already exists (192.0.2.9)" in fragment
    assert Operation.objects.count() == 0


def test_a_new_rrset_by_form(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    status, _ = save(client, fields_of(client, ""), name="new", type="mx", values="10 mail")
    assert status == 200
    new = now_of(bob, zone, "new.example.test.", 15)
    assert new is not None
    assert new.rdata == ("10 mail.example.test.",)


def test_a_row_that_another_tab_changed_asks_once_and_keeps_what_was_typed(
    zone: Zone, browser: Browser, bob: User
) -> None:
    client = browser(bob)
    opened = fields_of(client, WWW)
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 300 A 192.0.2.50"), now=NOW)
    status, fragment = save(client, opened, values="192.0.2.60")
    assert status == 422
    assert "The published values are 192.0.2.50" in fragment
    assert "192.0.2.60</textarea>" in fragment
    seen = digest_of(rr("www 300 A 192.0.2.50"))
    assert f'name="seen" value="{seen}"' in fragment
    assert save(client, opened | {"seen": seen}, values="192.0.2.60")[0] == 200
    assert now_of(bob, zone, "www.example.test.") == rr("www 300 A 192.0.2.60")


def test_disabled_values_are_kept_and_shown_as_off(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    status, fragment = save(client, fields_of(client, WWW), values="192.0.2.1\n; 192.0.2.2")
    assert status == 200
    assert ">off</span>" in fragment
    assert now_of(bob, zone, "www.example.test.") == rr("www 300 A 192.0.2.1 | 192.0.2.2", disabled=("192.0.2.2",))


def test_delete_and_undo_come_and_go_in_the_draft(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    deleted = client.post(f"{RRSET}delete/{WWW}", headers=HTMX).content.decode()
    assert 'class="is-delete"' in deleted
    assert "data-undo" in deleted
    assert now_of(bob, zone, "www.example.test.") is None
    undone = client.post(f"{RRSET}undo/{WWW}", headers=HTMX).content.decode()
    assert "is-delete" not in undone
    assert Operation.objects.count() == 0


def test_undoing_an_added_rrset_takes_its_row_away(zone: Zone, browser: Browser, bob: User) -> None:
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("new 300 A 192.0.2.1"), now=NOW)
    response = browser(bob).post(f"{RRSET}undo/?name=new.example.test.&type=A", headers=HTMX)
    assert not response.content.decode().lstrip().startswith("<tbody")


def test_undo_on_the_review_page_leads_back_there(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    assert client.post(f"{RRSET}undo/{WWW}", {"from": "review"})["Location"] == ZONE + "review/"
    assert client.post(f"{RRSET}undo/{WWW}", {"from": "changes"})["Location"] == "/changes/"


def test_a_row_shows_on_demand_all_values_and_the_old_ones(zone: Zone, browser: Browser, bob: User) -> None:
    many = " | ".join(f"192.0.2.{number}" for number in range(100, 160))
    draft.replace_rrset(author=bob, zone=zone, rrset=rr(f"www 300 A {many}"), now=NOW)
    client = browser(bob)
    row = client.get(f"{RRSET}row/{WWW}", headers=HTMX).content.decode()
    assert "Show all 60 values" in row
    assert "192.0.2.159" not in row
    assert "192.0.2.159" in client.get(f"{RRSET}row/{WWW}&all=1", headers=HTMX).content.decode()
    assert "Published" in client.get(f"{RRSET}row/{WWW}&old=1", headers=HTMX).content.decode()


def test_the_soa_is_edited_but_never_deleted(zone: Zone, browser: Browser, bob: User) -> None:
    page = browser(bob).get(ZONE, {"type": "SOA"}, headers=HTMX).content.decode()
    assert "data-edit" in page
    assert "data-delete" not in page


@pytest.mark.parametrize("query", ["", "?name=a..b&type=A", "?name=www.other.test.&type=A", "?name=www&type=NOPE"])
def test_an_rrset_that_is_none_of_the_zone_is_not_found(zone: Zone, browser: Browser, bob: User, query: str) -> None:
    client = browser(bob)
    assert client.post(f"{RRSET}delete/{query}").status_code == 404
    assert client.get(f"{RRSET}row/{query}").status_code == 404


def test_discarding_empties_the_draft_of_this_zone_only(
    zone: Zone, make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    other = make_zone(name="other.test.")
    draft.delete_rrset(author=bob, zone=zone, name="www.example.test.", type=1, now=NOW)
    draft.replace_rrset(author=bob, zone=other, rrset=rr("x 300 A 192.0.2.1", origin="other.test."), now=NOW)
    page = browser(bob).post(ZONE + "discard/", follow=True).content.decode()
    assert "1 change discarded" in page
    assert [operation.zone for operation in draft.operations_of(bob)] == [other]


def test_editing_from_the_review_page_leads_back_there(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    page = client.get(f"{RRSET}{WWW}&from=review").content.decode()
    assert 'name="from" value="review"' in page
    assert "hx-post" not in page
    fields = fields_of(client, WWW) | {"ttl": "60", "from": "review"}
    assert client.post(RRSET, fields)["Location"] == ZONE + "review/"
    assert client.post(RRSET, fields | {"ttl": "x"}).status_code == 422


def test_the_place_for_a_new_row_stays_after_it_was_used(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    _, fragment = save(client, fields_of(client, ""), name="new", type="A", values="192.0.2.3")
    assert fragment.startswith('<tbody id="rr-new" hidden></tbody>')


def test_tags_and_comments_of_values_are_in_the_row_its_review_and_its_form(
    zone: Zone, browser: Browser, bob: User
) -> None:
    client = browser(bob)
    status, fragment = save(client, fields_of(client, WWW), values="192.0.2.1 ; first rack\n192.0.2.2", tags="web shop")
    assert status == 200
    assert ">shop<" in fragment
    assert ">first rack<" in fragment
    kept = now_of(bob, zone, "www.example.test.")
    assert kept is not None
    assert kept.notes == Notes(("shop", "web"), (("192.0.2.1", "first rack"),))
    review = client.get(f"{ZONE}review/").content.decode()
    assert "Comment on 192.0.2.1:" in review
    assert "<ins>shop web</ins>" in review
    # Edits of other fields, and through interfaces without comments, keep them. A deleted value loses its comment.
    assert save(client, fields_of(client, WWW), ttl="60")[0] == 200
    assert client.get(f"{ZONE}rrset/form/{WWW}").status_code == 200
    now = now_of(bob, zone, "www.example.test.")
    assert now is not None
    assert (now.ttl, now.notes) == (60, kept.notes)
    assert save(client, fields_of(client, WWW), values="192.0.2.2")[0] == 200
    now = now_of(bob, zone, "www.example.test.")
    assert now is not None
    assert now.notes == Notes(("shop", "web"))
    assert save(client, fields_of(client, WWW), tags="a$b")[0] == 422


def test_a_tag_finds_records_of_the_zone(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    save(client, fields_of(client, WWW), tags="web")
    revision.publish(acting=Acting(bob, "web", NOW), consent=revision.Consent(accept_warnings=True))
    save(client, fields_of(client, "?name=mail.example.test.&type=A"), tags="web drafted")

    def names_by(search: str) -> list[str]:
        rows = client.get(ZONE, {"q": search}).context["rows"]
        return [row.owner for row in rows if row.owner in {"www", "mail", "shop"}]

    assert names_by("tag:web") == ["mail", "www"]
    assert names_by("tag:drafted") == ["mail"]
    assert names_by("-tag:web") == ["mail", "shop"]  # the published mail has no tag
    assert names_by("tag:none") == []
