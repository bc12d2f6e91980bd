"""Pages of named drafts."""

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from dnspanel.accounts.models import Team, User
from dnspanel.web.editor.review import named_drafts as pages
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft, named_drafts
from dnspanel.zones.models import Draft, Operation, Publication, Zone
from dnspanel.zones.publishing import revision
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW

LIST = reverse("draft-list")


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1")


def edits(person: User, zone: Zone, line: str) -> None:
    draft.replace_rrset(author=person, zone=zone, rrset=rr(line, origin=zone.name), now=NOW)


def aside(client: Client, name: str = "Move") -> Draft:
    """Put the person's draft aside under this name, through the form."""
    page = client.post(reverse("draft-aside"), {"name": name}, follow=True)
    assert page.redirect_chain[-1][0] == LIST
    return Draft.objects.get(name=name)


def address(of: Draft) -> str:
    return reverse("draft-detail", args=[of.key])


def act(client: Client, of: Draft, what: str, **data: str) -> str:
    return client.post(reverse("draft-act", args=[of.key, what]), data, follow=True).content.decode()


def publish(client: Client, of: Draft, **data: object) -> object:
    page = client.get(address(of))
    form = page.context["form"]
    posted = {"seen": page.context["seen"], "form_id": form["form_id"].value(), "reason": "", **data}
    return client.post(address(of), posted, follow=True)


def test_a_draft_is_put_aside_listed_and_taken_up(bob: User, browser: Browser, zone: Zone) -> None:
    client = browser(bob)
    assert "No saved drafts yet" in client.get(LIST).content.decode()
    edits(bob, zone, "www 60 A 192.0.2.8")
    assert "Save draft as…" in client.get(reverse("changes")).content.decode()
    move = aside(client, "Move to Paris")
    page = client.get(LIST).content.decode()
    assert "Move to Paris" in page
    assert "1 in" in page
    assert "No changes to publish" in client.get(reverse("changes")).content.decode()
    review = client.get(address(move)).content.decode()
    assert "192.0.2.8" in review
    assert "Discard<span" not in review  # the person who takes up the draft changes it
    page = act(client, move, "take-up")
    assert "Your current draft is" in page
    assert "Discard<span" in page
    assert "“Move to Paris”" in client.get(reverse("zone-detail", args=[zone.name])).content.decode()
    page = client.post(reverse("draft-aside"), follow=True).content.decode()
    assert "“Move to Paris” saved" in page


def test_what_cannot_be_put_aside_is_told_and_stays(bob: User, browser: Browser, zone: Zone) -> None:
    edits(bob, zone, "www 60 A 192.0.2.8")
    page = browser(bob).post(reverse("draft-aside"), {"name": " "}, follow=True).content.decode()
    assert "Enter a name for the saved draft." in page
    assert Operation.objects.get().draft.author == bob


def test_who_takes_up_a_draft_says_what_becomes_of_theirs(bob: User, browser: Browser, zone: Zone) -> None:
    client = browser(bob)
    edits(bob, zone, "www 60 A 192.0.2.8")
    move = aside(client)
    edits(bob, zone, "new 60 A 192.0.2.9")
    page = client.get(address(move)).content.decode()
    assert "Your draft has 1 change." in page
    assert "Enter a name to save it, or merge" in act(client, move, "take-up")
    act(client, move, "take-up", mine="aside", name="Before Move")
    assert [o.name for o in draft.operations_of(bob)] == ["www.example.test."]
    before = Draft.objects.get(name="Before Move")
    act(client, before, "take-up")  # the draft "Move" is put aside again under its name
    assert not Draft.objects.filter(author=bob, name="Move").exists()
    client.post(reverse("draft-aside"))
    edits(bob, zone, "more 60 A 192.0.2.9")
    act(client, before, "take-up", mine="merge")
    assert draft.operations_of(bob).count() == 2


def test_it_is_published_from_its_page_once(bob: User, browser: Browser, zone: Zone) -> None:
    client = browser(bob)
    edits(bob, zone, "www 60 A 192.0.2.8")
    move = aside(client)
    form = uuid4()
    first = publish(client, move, form_id=form, reason="moved")
    again = client.post(address(move), {"form_id": form})
    published = Publication.objects.latest("sequence")
    assert first.redirect_chain[-1][0] == again["Location"] == reverse("publication", args=[published.sequence])
    assert published.reason == "moved"
    assert client.get(address(move)).status_code == 404
    assert client.post(address(move), {"form_id": "nonsense"}).status_code == 404


def test_it_is_shared_with_a_person_a_team_or_by_its_link(
    alice: User, bob: User, charlie: User, browser: Browser, zone: Zone
) -> None:
    client, reader, editor = browser(bob), browser(charlie), browser(alice)
    team = Team.objects.create(name="Web", created_at=NOW)
    edits(bob, zone, "www 60 A 192.0.2.8")
    move = aside(client)
    assert reader.get(address(move)).status_code == editor.get(address(move)).status_code == 404
    assert "Person or team not found" in act(client, move, "share", **{"with": "dora"})
    assert "shared with charlie for viewing" in act(client, move, "share", **{"with": "charlie", "may": "read"})
    page = reader.get(address(move)).content.decode()
    assert "192.0.2.8" in page
    assert "You can view this draft" in page
    assert 'class="btn btn-primary btn-wide publish"' not in page
    assert "Shared with" not in page
    assert "Move" in reader.get(LIST).content.decode()
    assert "Draft shared with all members of Web for editing" in act(
        client, move, "share", **{"with": "web", "may": "edit"}
    )
    team.memberships.create(user=alice, role="editor")
    assert "Your current draft is" in act(editor, move, "take-up")
    page = client.get(address(move)).content.decode()
    assert "alice is editing" in page
    assert "Stop alice’s editing session" in page
    assert "You can publish it when" not in act(client, move, "put-back")
    share = move.shares.get(user=charlie)
    act(client, move, "unshare", share=str(share.pk))
    assert reader.get(address(move)).status_code == 404
    page = act(client, move, "link", open="yes")
    assert "Anyone with the link can view the draft" in page
    assert f"http://testserver{address(move)}" in page
    assert reader.get(address(move)).status_code == 200
    assert "Move" not in reader.get(LIST).content.decode()
    assert "Only people and teams with access to the draft can use the link." in act(client, move, "link", open="no")


def test_it_is_renamed_and_discarded(bob: User, browser: Browser, zone: Zone) -> None:
    client = browser(bob)
    edits(bob, zone, "www 60 A 192.0.2.8")
    move = aside(client)
    assert '<h1 class="wrap">Moved &lt;b&gt;</h1>' in act(client, move, "rename", name="Moved <b>")
    assert "Enter a name for the saved draft." in act(client, move, "rename", name="")
    assert "discarded with 1 change." in act(client, move, "discard")
    assert not Operation.objects.exists()
    assert client.post(reverse("draft-act", args=[move.key, "discard"])).status_code == 404
    other = aside_of(bob, zone)
    assert client.post(reverse("draft-act", args=[other.key, "eat"])).status_code == 404


def aside_of(person: User, zone: Zone, name: str = "Other") -> Draft:
    edits(person, zone, "www 60 A 192.0.2.8")
    return named_drafts.put_aside(author=person, name=name, now=NOW)


def test_conflicts_are_shown_and_settled_by_who_takes_it_up(
    alice: User, bob: User, browser: Browser, zone: Zone
) -> None:
    client = browser(bob)
    move = aside_of(bob, zone)
    edits(alice, zone, "www 61 A 192.0.2.1")
    revision.publish(acting=Acting(alice, "web", NOW), consent=revision.Consent(accept_warnings=True))
    page = client.get(address(move)).content.decode()
    assert "A change to 1 RRset in this draft has since been published" in page
    assert "Use my version" not in page
    assert "Resolve the conflict before publishing" in page
    assert "Use my version" in act(client, move, "take-up")


def test_the_list_has_pages(bob: User, browser: Browser, zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "DRAFTS_PER_PAGE", 2)
    for number in range(3):
        aside_of(bob, zone, f"Draft {number}")
    client = browser(bob)
    page = client.get(LIST)
    assert "Draft 2" in page.content.decode()
    assert "Draft 0" not in page.content.decode()
    more = client.get(f"{LIST}?{page.context['next_query']}", headers=HTMX).content.decode()
    assert "Draft 0" in more
    assert "<html" not in more
    assert client.get(f"{LIST}?before=nonsense").status_code == 200
