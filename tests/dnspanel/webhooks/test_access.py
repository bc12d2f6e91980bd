"""Tests of access to webhooks, and of the rights that limit their events."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Permission, Person, actor_of_token
from dnspanel.accounts.errors import TokenDead
from dnspanel.accounts.models import Token, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token, revoke_token, rotate_token
from dnspanel.webhooks import hooks
from dnspanel.webhooks.access import delivery_for, listener, webhook_for, webhooks_visible_to
from dnspanel.webhooks.errors import WebhookUnknown
from dnspanel.webhooks.models import Webhook
from tests.dnspanel.webhooks.conftest import MakeWebhook
from tests.dnspanel.webhooks.test_hooks import token_actor
from tests.people import NOW

ONE_ZONE = Grant(EVERY_RIGHT, zones=frozenset({7}))


def seen(person: Person) -> set[int]:
    return set(webhooks_visible_to(person).values_list("pk", flat=True))


def test_people_see_their_own_and_administrators_all(
    alice: User, bob: User, charlie: User, dora: AnonymousUser, webhook: MakeWebhook
) -> None:
    of_bob = webhook(bob).webhook
    of_charlie = webhook(charlie, "https://receiver.test/", "publication.saved").webhook
    assert seen(bob) == {of_bob.pk}
    assert seen(charlie) == {of_charlie.pk}
    assert seen(alice) == {of_bob.pk, of_charlie.pk}
    assert seen(dora) == set()


def test_what_one_may_not_know_about_is_not_there(bob: User, charlie: User, webhook: MakeWebhook) -> None:
    made = webhook(bob).webhook
    delivery = hooks.send_ping(webhook=made, by=bob, now=NOW)
    assert webhook_for(bob, made.pk) == made
    assert delivery_for(bob, delivery.pk) == delivery
    with pytest.raises(WebhookUnknown):
        webhook_for(charlie, made.pk)
    with pytest.raises(WebhookUnknown, match="Delivery"):
        delivery_for(charlie, delivery.pk)


def test_a_narrow_token_sees_only_what_it_made_or_took_over(bob: User, webhook: MakeWebhook) -> None:
    webhook(bob)
    one, other = token_actor(bob, ONE_ZONE), token_actor(bob, ONE_ZONE)
    made = webhook(one, "https://receiver.test/", "publication.saved").webhook
    assert seen(one) == {made.pk}
    assert seen(other) == set()
    assert one.token is not None
    rotated = rotate_token(token=one.token, by=bob, now=NOW).token
    successor = actor_of_token(rotate_token(token=rotated, by=bob, now=NOW).token)
    assert successor is not None
    assert seen(successor) == {made.pk}


def test_a_token_that_manages_people_but_sees_one_zone_does_not_see_wider_webhooks(
    alice: User, bob: User, webhook: MakeWebhook
) -> None:
    webhook(bob)
    terms = TokenTerms(purpose="people", scope=(ONE_ZONE,), permissions=frozenset({Permission.PEOPLE}))
    actor = actor_of_token(create_token(owner=alice, terms=terms, by=alice, now=NOW).token)
    assert actor is not None
    assert seen(actor) == set()


def test_a_token_that_sees_all_that_its_owner_sees_sees_their_webhooks(bob: User, webhook: MakeWebhook) -> None:
    made = webhook(bob).webhook
    everything = Grant(EVERY_RIGHT, everywhere=True)
    assert seen(token_actor(bob, everything)) == set()  # the token can't see nodes
    terms = TokenTerms(purpose="all", scope=(everything,), permissions=frozenset({Permission.FLEET}))
    actor = actor_of_token(create_token(owner=bob, terms=terms, by=bob, now=NOW).token)
    assert actor is not None
    assert seen(actor) == {made.pk}


def test_a_webhook_listens_as_its_owner_or_as_its_token(bob: User, webhook: MakeWebhook) -> None:
    assert listener(webhook(bob).webhook, now=NOW).scope is None
    made = webhook(token_actor(bob, ONE_ZONE), "https://receiver.test/", "publication.saved").webhook
    assert listener(made, now=NOW).scope == (ONE_ZONE,)


def test_a_webhook_ends_with_its_owner_and_with_its_token(bob: User, webhook: MakeWebhook) -> None:
    actor = token_actor(bob, ONE_ZONE)
    assert actor.token is not None
    made = webhook(actor, "https://receiver.test/", "publication.saved").webhook
    newer = rotate_token(token=actor.token, by=bob, now=NOW).token
    after = NOW + timedelta(days=2)  # the old token has ended by then, the new one hasn't
    assert listener(Webhook.objects.get(pk=made.pk), now=after).token == newer
    revoke_token(token=newer, by=bob, now=after)
    with pytest.raises(TokenDead, match="revoked"):
        listener(Webhook.objects.get(pk=made.pk), now=after)
    Token.objects.update(revoked_at=None, expires_at=None)
    User.objects.update(is_active=False)
    with pytest.raises(TokenDead, match="closed"):
        listener(Webhook.objects.get(pk=made.pk), now=after)
