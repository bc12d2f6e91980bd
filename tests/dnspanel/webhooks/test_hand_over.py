"""Tests of handing over the tokens, webhooks, hooks and drafts of a person who leaves."""

from typing import Any

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Permission
from dnspanel.accounts.errors import AboveYou, AccountRefused, TokenQuotaExceeded, TokenRefused
from dnspanel.accounts.models import AuditEntry, Role, Token, User
from dnspanel.accounts.people import people
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quota_edit import set_quotas
from dnspanel.accounts.tokens import tokens
from dnspanel.accounts.tokens.service_accounts import create_service_account
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.webhooks import place_publish_hooks
from dnspanel.webhooks.hand_over import belongings_of, hand_over
from dnspanel.webhooks.models import Webhook
from dnspanel.webhooks.place_publish_hooks import HookTerms
from dnspanel.zones.drafts import draft, named_drafts
from dnspanel.zones.errors import DraftRefused
from dnspanel.zones.governance.publish_rules import Scope
from dnspanel.zones.models import Draft, Zone
from tests.dnspanel.webhooks.conftest import MakeWebhook
from tests.dnspanel.webhooks.happening import publish
from tests.dnspanel.webhooks.receiver import HOST
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, make_person

EVERYTHING = TokenTerms("CI", (Grant(EVERY_RIGHT, everywhere=True),))


@pytest.fixture
def service(alice: User) -> User:
    return create_service_account(name="terraform", role=Role.EDITOR, by=alice, now=NOW)


def all_of(person: User, to: User, by: Any, **but: Any) -> int:
    found = belongings_of(person)
    chosen = {
        "token_ids": [token.pk for token in found.tokens],
        "webhook_ids": [webhook.pk for webhook in found.webhooks],
        "draft_ids": [draft.pk for draft in found.drafts],
        "hook_ids": [hook.pk for hook in found.hooks],
    }
    return hand_over(person=person, to=to, by=by, now=NOW, **chosen | but)


def test_tokens_and_webhooks_go_on_when_the_account_is_closed(
    alice: User, bob: User, service: User, webhook: MakeWebhook
) -> None:
    made = tokens.create_token(owner=bob, terms=EVERYTHING, by=bob, now=NOW)
    older = tokens.create_token(owner=bob, terms=EVERYTHING, by=bob, now=NOW)
    newer = tokens.rotate_token(token=older.token, by=bob, now=NOW)
    actor = tokens.actor_by_secret(secret=made.secret, address=None, now=NOW)
    webhook(bob), webhook(actor, f"https://{HOST}/hook", "publication.saved")
    assert all_of(bob, service, alice) == 3
    assert not belongings_of(bob)
    people.deactivate(user=bob, by=alice, now=NOW)
    for secret in (made.secret, older.secret, newer.secret):
        assert tokens.actor_by_secret(secret=secret, address=None, now=NOW).user == service
    assert set(Webhook.objects.values_list("owner", flat=True)) == {service.pk}
    entry = AuditEntry.objects.get(action="person.hand-over")
    assert (entry.user, entry.target, entry.details["to"]) == (alice, "bob", "terraform")


def test_publish_hooks_go_to_who_may_govern_what_they_are_about(alice: User, bob: User, service: User) -> None:
    ada = make_person("ada", Role.ADMINISTRATOR)
    terms = HookTerms("https://9.9.9.9/")
    made = place_publish_hooks.add_hook(scope=Scope(tag="shop"), terms=terms, reason="Names", author=ada, now=NOW)
    with pytest.raises(AccountRefused, match="terraform isn’t allowed to manage the publish hook for zones tagged"):
        all_of(ada, service, alice)
    assert all_of(ada, alice, alice) == 1
    assert not belongings_of(ada)
    assert place_publish_hooks.hook_for(alice, made.hook.pk).placed_by == alice
    assert AuditEntry.objects.get(action="person.hand-over").details["hooks"] == [made.hook.pk]


def test_a_token_never_comes_to_open_more(alice: User, bob: User, service: User) -> None:
    tokens.create_token(owner=bob, terms=EVERYTHING, by=bob, now=NOW)
    people.change_role(user=bob, role=Role.READER, by=alice, now=NOW)
    with pytest.raises(TokenRefused, match="has more rights than bob"):
        all_of(User.objects.get(pk=bob.pk), service, alice)
    assert Token.objects.get().owner == bob


def test_drafts_go_to_a_person_with_a_name_that_is_free(alice: User, bob: User, charlie: User, service: User) -> None:
    for name in ("one.test.", "two.test."):
        publish(name, bob)
        draft.replace_rrset(
            author=bob, zone=Zone.objects.get(name=name), rrset=rr("www 300 A 192.0.2.1", origin=name), now=NOW
        )
        if name == "one.test.":
            named_drafts.put_aside(author=bob, name="Move", now=NOW)
    with pytest.raises(DraftRefused, match="service account"):
        all_of(bob, service, alice)
    two = Zone.objects.get(name="two.test.")
    draft.replace_rrset(author=alice, zone=two, rrset=rr("x 300 A 192.0.2.1", origin=two.name), now=NOW)
    named_drafts.put_aside(author=alice, name="Move", now=NOW)
    assert all_of(bob, alice, alice) == 2
    found = Draft.objects.filter(owner=alice).order_by("name").values_list("name", "author")
    assert list(found) == [("Draft of bob", None), ("Move", None), ("Move of bob", None)]


def test_to_nobody_who_is_closed_full_or_the_same_and_never_half(
    alice: User, bob: User, charlie: User, service: User
) -> None:
    tokens.create_token(owner=bob, terms=EVERYTHING, by=bob, now=NOW)
    tokens.create_token(owner=bob, terms=EVERYTHING, by=bob, now=NOW)
    with pytest.raises(AccountRefused):
        all_of(bob, bob, alice)
    people.deactivate(user=charlie, by=alice, now=NOW)
    with pytest.raises(AccountRefused):
        all_of(bob, charlie, alice)
    set_quotas(of=service, quotas={Kind.TOKENS: 1}, by=alice, now=NOW)
    with pytest.raises(TokenQuotaExceeded):
        all_of(bob, User.objects.get(pk=service.pk), alice)
    assert set(Token.objects.values_list("owner", flat=True)) == {bob.pk}


def test_what_is_not_the_persons_stays_where_it_is(alice: User, bob: User, service: User) -> None:
    hers = tokens.create_token(owner=alice, terms=EVERYTHING, by=alice, now=NOW).token
    assert hand_over(person=bob, to=service, token_ids=[hers.pk], by=alice, now=NOW) == 0
    assert Token.objects.get().owner == alice
    assert not AuditEntry.objects.filter(action="person.hand-over").exists()


def test_a_token_that_manages_people_does_not_reach_above_its_owner(alice: User, bob: User) -> None:
    terms = TokenTerms("people", permissions=frozenset({Permission.PEOPLE}))
    narrow = tokens.create_token(owner=alice, terms=terms, by=alice, now=NOW)
    actor = tokens.actor_by_secret(secret=narrow.secret, address=None, now=NOW)
    with pytest.raises(AboveYou):
        hand_over(person=make_person("ada", Role.ADMINISTRATOR), to=bob, by=actor, now=NOW)
