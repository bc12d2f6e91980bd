"""Review and publication, and two people who change the same RRset."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from dnspanel.accounts.models import User
from dnspanel.web.editor.review import review_display
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Channel, Operation, Publication, Revision, Zone
from dnspanel.zones.publishing import revision
from replication.dns.rrset import RRset
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.publishing import change_rrsets

ZONE = "/zones/example.test./"
REVIEW = ZONE + "review/"
CHANGES = "/changes/"


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone(
        "www 300 A 192.0.2.1",
        "mail 300 A 192.0.2.9",
        "@ 3600 MX 10 mail",
        *(f"h{n} 300 A 192.0.2.{n}" for n in range(9)),
    )


def put(author: User, zone: Zone, line: str) -> None:
    draft.replace_rrset(author=author, zone=zone, rrset=rr(line, origin=zone.name), now=NOW)


def published(zone: Zone, name: str, type: int = 1) -> RRset | None:
    author = User.objects.get(username="charlie") if User.objects.filter(username="charlie").exists() else User(pk=0)
    return rrset_pages.rrset_row(zone=zone, author=author, name=name, type=type).change.before


def hidden(page: str) -> dict[str, str]:
    """Return the hidden fields of the form that publishes the draft."""
    form = page[page.index('id="publish-form"') :]
    found = {}
    for name in ("form_id", "seen"):
        tag = re.search(rf'<input[^>]*name="{name}"[^>]*>', form)
        assert tag is not None
        value = re.search(r'value="([^"]*)"', tag.group())
        assert value is not None
        found[name] = value.group(1)
    return found


def see(client: Client, url: str = REVIEW) -> dict[str, str]:
    return hidden(client.get(url).content.decode())


# Seeing


def test_the_review_shows_each_change_with_signs_and_words(zone: Zone, browser: Browser, bob: User) -> None:
    put(bob, zone, "www 60 A 192.0.2.1 | 192.0.2.2")
    put(bob, zone, 'new 300 TXT "<script>alert(1)</script>"')
    draft.delete_rrset(author=bob, zone=zone, name="h3.example.test.", type=1, now=NOW)
    page = browser(bob).get(REVIEW).content.decode()
    for words in ("added", "changed", "deleted", "<del>300</del>", "<ins>60</ins>", "Publish revision 2"):
        assert words in page
    assert "<script>alert" not in page
    assert "Some resolvers cache the old value until" in page
    assert "not served by nodes yet" in page


def test_the_review_reads_as_a_zone_file_too(zone: Zone, browser: Browser, bob: User) -> None:
    put(bob, zone, "www 300 A 192.0.2.2")
    page = browser(bob).get(REVIEW, {"as": "text"}).content.decode()
    assert "www.example.test. 300 IN A 192.0.2.1" in page
    assert "www.example.test. 300 IN A 192.0.2.2" in page


def test_an_empty_draft_has_nothing_to_publish(zone: Zone, browser: Browser, bob: User) -> None:
    client = browser(bob)
    for url in (REVIEW, CHANGES):
        assert b"No changes to publish" in client.get(url).content


def test_each_change_can_be_dropped(zone: Zone, browser: Browser, bob: User) -> None:
    put(bob, zone, "www 300 A 192.0.2.2")
    put(bob, zone, "new 300 A 192.0.2.2")
    client = browser(bob)
    url = f"{ZONE}rrset/undo/?name=new.example.test.&type=A"
    assert url.replace("&", "&amp;") in client.get(REVIEW).content.decode()
    page = client.post(url, {"from": "review"}, follow=True).content.decode()
    assert "192.0.2.2" in page
    assert Operation.objects.count() == 1


# Publishing


def test_one_button_publishes_and_shows_the_way_to_the_nodes(zone: Zone, browser: Browser, bob: User) -> None:
    put(bob, zone, "www 300 A 192.0.2.2")
    client = browser(bob)
    response = client.post(REVIEW, see(client) | {"reason": "OPS-7"}, follow=True)
    publication = Publication.objects.latest("sequence")
    assert response.redirect_chain == [(f"/publications/{publication.sequence}/", 302)]
    assert (publication.author, publication.reason, publication.channel) == (bob, "OPS-7", Channel.WEB)
    assert "Revision 2 of example.test." in response.content.decode()
    assert published(zone, "www.example.test.") == rr("www 300 A 192.0.2.2")
    assert Operation.objects.count() == 0


def test_the_same_form_sent_twice_publishes_once(zone: Zone, browser: Browser, bob: User) -> None:
    put(bob, zone, "www 300 A 192.0.2.2")
    client = browser(bob)
    form = see(client)
    first, second = (client.post(REVIEW, form)["Location"] for _ in range(2))
    assert first == second
    assert Revision.objects.filter(zone=zone).count() == 2


def test_a_draft_that_changed_since_it_was_seen_is_shown_again(zone: Zone, browser: Browser, bob: User) -> None:
    put(bob, zone, "www 300 A 192.0.2.2")
    client = browser(bob)
    form = see(client)
    put(bob, zone, "www 300 A 192.0.2.66")
    response = client.post(REVIEW, form | {"reason": "typed <b>"})
    assert response.status_code == 422
    page = response.content.decode()
    assert "Your draft has changed since this page was loaded" in page
    assert "192.0.2.66" in page
    assert 'value="typed &lt;b&gt;"' in page
    assert published(zone, "www.example.test.") == rr("www 300 A 192.0.2.1")


def test_one_tick_accepts_a_group_that_says_how_many_it_is(zone: Zone, browser: Browser, bob: User) -> None:
    for number in range(3):
        put(bob, zone, f"m{number} 300 MX 10 gone{number}")
    page = browser(bob).get(REVIEW).content.decode()
    assert "Accept all 3 warnings:" in page
    assert page.count('name="accept"') == 1
    assert "(required)" in page


def test_an_error_blocks_and_leads_to_its_row(zone: Zone, browser: Browser, bob: User) -> None:
    put(bob, zone, "mail 300 CNAME www")
    client = browser(bob)
    page = client.get(REVIEW).content.decode()
    assert "CNAME must be the only record" in page
    assert "/rrset/?name=mail.example.test.&amp;type=CNAME" in page
    assert re.search(r'class="btn btn-primary btn-wide publish"[^>]* disabled', page)
    assert client.post(REVIEW, see(client)).status_code == 422
    assert Revision.objects.filter(zone=zone).count() == 1


def test_a_warning_waits_for_its_tick_and_a_reason(zone: Zone, browser: Browser, bob: User) -> None:
    draft.delete_rrset(author=bob, zone=zone, name="mail.example.test.", type=1, now=NOW)
    client = browser(bob)
    assert "doesn’t have an address" in client.get(REVIEW).content.decode()
    refused = client.post(REVIEW, see(client))
    assert refused.status_code == 422
    assert "Nothing was published." in refused.content.decode()
    accepted = see(client) | {"accept": "target-missing", "reason": "moving mail"}
    assert client.post(REVIEW, accepted).status_code == 302


def test_the_guard_asks_for_the_name_and_counts_what_goes(zone: Zone, browser: Browser, bob: User) -> None:
    for number in range(6):
        draft.delete_rrset(author=bob, zone=zone, name=f"h{number}.example.test.", type=1, now=NOW)
    client = browser(bob)
    page = client.get(REVIEW).content.decode()
    assert "This will delete 6 of" in page
    checks = page[page.index('aria-label="Checks"') : page.index('aria-label="Effect"')]
    assert "This will delete 6 of" in checks
    assert f"confirm-{zone.pk}" in checks
    assert 'Reason <span class="quiet">(required)</span>' in page
    form = see(client) | {"reason": "cleaning"}
    assert client.post(REVIEW, form).status_code == 422
    assert client.post(REVIEW, form | {f"confirm-{zone.pk}": "example.test"}).status_code == 302


def test_all_zones_of_the_draft_are_one_publication(
    zone: Zone, make_zone: MakeZone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan that is compared with the reviewed one is also published, because planning is half of the work."""
    other = make_zone("www 300 A 192.0.2.1", name="before.test.")
    put(bob, zone, "www 300 A 192.0.2.2")
    put(bob, other, "www 300 A 192.0.2.2")
    client = browser(bob)
    assert "Publish 2 changes in 2 zones" in client.get(CHANGES).content.decode()
    form = see(client, CHANGES)
    planned: list[int] = []
    plan_zones = revision.plan_zones
    monkeypatch.setattr(
        revision, "plan_zones", lambda edits, *args, **kw: planned.append(len(edits)) or plan_zones(edits, *args, **kw)
    )
    page = client.post(CHANGES, form, follow=True).content.decode()
    assert "2 zones published" in page
    assert planned == [2]
    assert Publication.objects.latest("sequence").revisions.count() == 2


def test_the_whole_draft_can_be_discarded(zone: Zone, make_zone: MakeZone, browser: Browser, bob: User) -> None:
    put(bob, zone, "www 300 A 192.0.2.2")
    put(bob, make_zone(name="other.test."), "x 300 A 192.0.2.2")
    client = browser(bob)
    page = client.post(CHANGES + "discard/", follow=True).content.decode()
    assert "2 changes discarded." in page
    assert draft.operations_of(bob).count() == 0
    back = re.search(r'action="(/changes/discarded/\d+/)"', page)
    assert back is not None
    page = client.post(back[1], follow=True).content.decode()
    assert "2 changes restored to your draft." in page
    assert "Recently discarded" not in page
    assert draft.operations_of(bob).count() == 2
    assert client.post(back[1]).status_code == 404


def test_a_reader_cannot_review(zone: Zone, browser: Browser, charlie: User) -> None:
    assert browser(charlie).get(REVIEW).status_code == 403


# Two people


@pytest.fixture
def clash(zone: Zone, alice: User, bob: User) -> Operation:
    """Change www in both drafts, and publish Alice's. Bob's draft also has a second change, which has no conflict."""
    put(bob, zone, "www 300 A 192.0.2.1 | 192.0.2.50")
    put(bob, zone, "new 300 A 192.0.2.51")
    put(alice, zone, "www 60 A 192.0.2.1 | 192.0.2.60")
    revision.publish(acting=Acting(alice, Channel.WEB, NOW), consent=revision.Consent(reason="Alice was first"))
    return Operation.objects.get(name="www.example.test.")


def resolve(client: Client, operation: Operation, choice: str, **fields: str):
    data = {"zone": "example.test.", "choice": choice, "next": REVIEW, **fields}
    return client.post(f"/changes/{operation.pk}/resolve/", data)


def test_the_second_publisher_sees_base_theirs_and_mine(
    zone: Zone, clash: Operation, browser: Browser, bob: User
) -> None:
    page = browser(bob).get(REVIEW).content.decode()
    for words in ("Original version", "Published version", "Your version", "by alice", "Alice was first"):
        assert words in page
    for value in ("192.0.2.1", "192.0.2.60", "192.0.2.50"):
        assert value in page
    assert "Your other change will be merged automatically" in page


def test_a_conflict_with_oneself_is_not_blamed_on_others(zone: Zone, browser: Browser, alice: User, bob: User) -> None:
    """Previously the page blamed another person if the author had published the change through the API."""
    for author, told in ((bob, True), (alice, False)):
        rrset = rr("www 300 A 192.0.2.50")
        draft.replace_rrset(author=bob, zone=zone, rrset=rrset, now=NOW)
        changes = {(rrset.name, rrset.type): rr(f"www 60 A 192.0.2.{60 + told}")}
        change_rrsets(zone=zone, changes=changes, author=author, channel=Channel.API, now=NOW)
        page = browser(bob).get(reverse("zone-review", args=[zone.name])).content.decode()
        assert ("You have since published a different version" in page) is told
        assert "Someone else published" not in page


def test_publishing_over_a_conflict_publishes_nothing_and_loses_nothing(
    zone: Zone, clash: Operation, browser: Browser, bob: User
) -> None:
    client = browser(bob)
    response = client.post(REVIEW, see(client) | {"reason": "mine <i>"})
    assert response.status_code == 409
    assert 'value="mine &lt;i&gt;"' in response.content.decode()
    assert Operation.objects.filter(draft__author=bob).count() == 2
    assert Revision.objects.filter(zone=zone).count() == 2


@pytest.mark.parametrize(
    ("choice", "line"),
    [
        ("mine", "www 300 A 192.0.2.1 | 192.0.2.50"),
        ("theirs", "www 60 A 192.0.2.1 | 192.0.2.60"),
        ("both", "www 300 A 192.0.2.1 | 192.0.2.50 | 192.0.2.60"),
    ],
)
def test_a_conflict_is_settled_then_published(
    zone: Zone, clash: Operation, browser: Browser, bob: User, choice: str, line: str
) -> None:
    client = browser(bob)
    assert resolve(client, clash, choice)["Location"] == REVIEW
    assert client.post(REVIEW, see(client)).status_code == 302
    assert published(zone, "www.example.test.") == rr(line)
    assert published(zone, "new.example.test.") == rr("new 300 A 192.0.2.51")


def test_a_conflict_can_be_settled_by_hand(zone: Zone, clash: Operation, browser: Browser, bob: User) -> None:
    client = browser(bob)
    typed = {"name": "www.example.test.", "type": "A", "ttl": "120", "values": "192.0.2.70\n192.0.2.71"}
    assert resolve(client, clash, "edit", **typed).status_code == 302
    client.post(REVIEW, see(client))
    assert published(zone, "www.example.test.") == rr("www 120 A 192.0.2.70 | 192.0.2.71")


def test_a_fault_while_settling_by_hand_keeps_what_was_typed(
    zone: Zone, clash: Operation, browser: Browser, bob: User
) -> None:
    typed = {"name": "www.example.test.", "type": "A", "ttl": "120", "values": "192.0.2.70\nnonsense <b>"}
    response = resolve(browser(bob), clash, "edit", **typed)
    assert response.status_code == 422
    page = response.content.decode()
    assert "192.0.2.70\nnonsense &lt;b&gt;</textarea>" in page
    assert "Line 2" in page
    assert Operation.objects.filter(draft__author=bob).count() == 2


def test_nobody_settles_a_conflict_of_somebody_else(
    zone: Zone, clash: Operation, browser: Browser, alice: User, bob: User
) -> None:
    resolve(browser(alice), clash, "theirs")
    assert Operation.objects.filter(pk=clash.pk).exists()


@pytest.mark.parametrize("to", ["https://evil.test/", "//evil.test/", "javascript:alert(1)", ""])
def test_settling_never_leads_to_another_site(
    zone: Zone, clash: Operation, browser: Browser, bob: User, to: str
) -> None:
    assert resolve(browser(bob), clash, "mine", next=to)["Location"] == REVIEW


def test_others_revisions_that_merge_do_not_stop_the_publisher(
    zone: Zone, browser: Browser, alice: User, bob: User
) -> None:
    put(bob, zone, "www 300 A 192.0.2.2")
    client = browser(bob)
    form = see(client)
    put(alice, zone, "h1 300 A 192.0.2.99")
    revision.publish(acting=Acting(alice, Channel.WEB, NOW))
    assert client.post(REVIEW, form).status_code == 302
    assert Revision.objects.filter(zone=zone).count() == 3


def test_a_large_draft_is_reviewed_page_by_page_and_published_as_one(
    zone: Zone, make_zone: MakeZone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page length no longer depends on the draft's size: 8,000 changes once made a page of 9.9 MB."""
    monkeypatch.setattr(review_display, "CHANGES_PER_PAGE", 4)
    monkeypatch.setattr(review_display, "MOST_LISTED", 3)
    other = make_zone(name="other.test.")
    for number in range(6):
        put(bob, zone, f"m{number} 300 MX 10 gone{number}")
    for number in range(3):
        put(bob, other, f"n{number} 300 A 192.0.2.{number}")
    client = browser(bob)
    pages = [client.get(f"{CHANGES}?page={number}").content.decode() for number in (1, 2, 3)]
    found = [_owners(page) for page in pages]
    assert found == [["m0", "m1", "m2", "m3"], ["m4", "m5", "n0", "n1"], ["n2"]]
    assert "Changes 5 to 8 of 9. Publishing includes all pages" in pages[1]
    assert f'href="{CHANGES}?page=1&amp;as="' in pages[1]
    assert f'href="{CHANGES}?page=3&amp;as="' in pages[1]
    assert "in 2 zones" in pages[2]
    assert pages[2].count("gone") == 3  # of the warnings of one kind, the first three
    assert "And 3 more of the same kind." in pages[2]
    assert _owners(client.get(f"{CHANGES}?page=99").content.decode()) == ["n2"]
    form = see(client, f"{CHANGES}?page=2") | {"accept": ["target-missing"], "reason": "many"}
    assert client.post(CHANGES, form).status_code == 302
    assert not Operation.objects.exists()


def _owners(page: str) -> list[str]:
    changes = page[page.index('id="changes"') : page.index('id="publish-form"')]
    return re.findall(r">([mn]\d)<", changes)
