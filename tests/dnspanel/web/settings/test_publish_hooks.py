"""The page of publish hooks, and a hook's refusal in a review."""

from typing import Any

import pytest
from django.urls import reverse

from dnspanel.accounts.models import User
from dnspanel.webhooks import place_publish_hooks
from dnspanel.webhooks.place_publish_hooks import HookTerms
from dnspanel.zones.drafts import draft
from dnspanel.zones.governance.publish_rules import Scope
from dnspanel.zones.models import Operation, PublishHook, Zone
from tests.dnspanel.web.conftest import HTMX, YES, Browser, MakeZone, forget_password
from tests.dnspanel.webhooks.answering import Answering
from tests.dnspanel.webhooks.conftest import answering as answering
from tests.dnspanel.webhooks.conftest import at_home as at_home
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, PASSWORD

HOOKS = reverse("settings-hooks")
HOOK = {"url": "https://9.9.9.9/", "seconds": "3", "when_silent": "refuse", "reason": "Names are checked"}


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1")


def test_a_hook_is_placed_with_its_secret_shown_once_and_lifted(alice: User, browser: Browser, zone: Zone) -> None:
    client = browser(alice)
    assert "No publish hooks yet" in client.get(HOOKS).content.decode()
    page = client.post(HOOKS, {**HOOK, "zone": "example.test"}, follow=True).content.decode()
    assert "whsec_" in page
    assert "Publish hook for example.test." in page
    displayed = client.get(HOOKS, {"tag": "mail", "name": "Checks"}, headers=HTMX).content.decode()
    assert "Changes in zones tagged mail need a yes from Checks." in displayed
    listed = client.get(HOOKS).content.decode()
    for part in (
        "Changes in example.test. need a yes from https://9.9.9.9/",
        "https://9.9.9.9/",
        "timeout: 3 s",
        "refused",
        "Names are checked",
    ):
        assert part in listed
    assert "whsec_" not in listed
    hook = PublishHook.objects.get()
    question = client.post(reverse("settings-hook-lift", args=[hook.pk])).content.decode()
    assert "no longer need this hook’s approval" in question
    client.post(reverse("settings-hook-lift", args=[hook.pk]), YES)
    again = client.post(reverse("settings-hook-lift", args=[hook.pk]), follow=True).content.decode()
    assert "Rule not found" in again


def test_a_hook_is_tested_changed_after_the_password_and_gets_a_new_secret(
    alice: User, browser: Browser, zone: Zone, answering: Answering
) -> None:
    terms = HookTerms(answering.url)
    made = place_publish_hooks.add_hook(scope=Scope(zone=zone), terms=terms, reason="Names", author=alice, now=NOW)
    client, page = browser(alice), reverse("settings-hook", args=[made.hook.pk])
    assert "No responses yet" in client.get(page).content.decode()
    answering.secret = made.secret
    answering.allow(reason="Fine by me")
    told = client.post(f"{page}test/", follow=True).content.decode()
    assert "Hook response: yes, after " in told
    assert told.count("Fine by me") == 2, "in the message, and in the list"
    answering.answer(503)
    told = client.post(f"{page}test/", follow=True).content.decode()
    assert "the response has status 503." in told
    assert "no response for" in told
    assert "1 yes, 0 no, 1 without a response" in told
    posted = {**HOOK, "name": "Names", "zone": "", "tag": "shop", "version": made.hook.version}
    forget_password(client)
    assert "The server at this URL can read" in client.post(page, posted).content.decode()
    changed = client.post(page, {**posted, **YES, "password": PASSWORD}, follow=True).content.decode()
    for text in ("Changes apply from the next request", "https://9.9.9.9/", "zones tagged shop"):
        assert text in changed
    stale = forget_password(client).post(page, {**posted, "name": "Late"})
    assert stale.status_code == 422
    assert "Someone else has changed this hook" in stale.content.decode()
    wrong = client.post(page, {**posted, "version": 2, "url": "https://10.0.0.1/"})
    assert (wrong.status_code, "a public address" in wrong.content.decode()) == (422, True)
    secret = client.post(f"{page}rotate/", {**YES, "password": PASSWORD}, follow=True).content.decode()
    assert "whsec_" in secret
    assert made.secret not in secret
    assert "stays valid for one day" in secret


@pytest.mark.parametrize(
    ("posted", "told"),
    [
        ({"url": "https://10.0.0.1/", "tag": "shop"}, "a public address"),
        ({"seconds": "60"}, "10"),
        ({"zone": "no.test"}, "Zone not found"),
    ],
    ids=["address", "seconds", "zone"],
)
def test_a_hook_that_cannot_be_is_told_at_its_field(
    posted: dict[str, Any], told: str, alice: User, browser: Browser
) -> None:
    page = forget_password(browser(alice)).post(HOOKS, {**HOOK, **posted})
    assert page.status_code == 422
    assert told in page.content.decode()


def test_a_review_shows_the_reason_of_the_hook_and_keeps_the_draft(
    alice: User, browser: Browser, zone: Zone, answering: Answering
) -> None:
    made = place_publish_hooks.add_hook(
        scope=Scope(), terms=HookTerms(answering.url), reason="Names", author=alice, now=NOW
    )
    answering.secret = made.secret
    answering.refuse("No names like that.")
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("www 60 A 192.0.2.9"), now=NOW)
    client = browser(alice)
    review = reverse("zone-review", args=[zone.name])
    page = client.get(review)
    posted = {"form_id": page.context["form"].initial["form_id"], "seen": page.context["seen"], "act": "publish"}
    refused = client.post(review, posted)
    assert refused.status_code == 422
    assert "No names like that." in refused.content.decode()
    assert Operation.objects.count() == 1
