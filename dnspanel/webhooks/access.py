"""Who may know of a webhook, and what a webhook may be told. The only doors to webhooks."""

from datetime import datetime

from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Actor, Person, actor_of, actor_of_token
from dnspanel.accounts.actors.grants import Right
from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.errors import TokenDead
from dnspanel.accounts.models import Token
from dnspanel.accounts.tokens.tokens import refuse_dead
from dnspanel.texts import gettext
from dnspanel.webhooks.errors import TooNarrow, WebhookUnknown
from dnspanel.webhooks.models import Delivery, EventKind, Webhook
from dnspanel.zones.errors import Forbidden

# What one must be allowed to see to be told of it.
NEEDED = {
    EventKind.SAVED: Permission.READ,
    EventKind.EVERYWHERE: Permission.READ,
    EventKind.TAKEN_BACK: Permission.READ,
    EventKind.OPENED: Permission.READ,
    EventKind.ENDED: Permission.READ,
    EventKind.NODE: Permission.FLEET,
    EventKind.IMPORT: Permission.EDIT,
    EventKind.ALERT: Permission.FLEET,
    EventKind.ALERT_OVER: Permission.FLEET,
}


def webhooks_visible_to(person: Person) -> QuerySet[Webhook]:
    """A person's own webhooks; for whoever may manage people, everybody's.

    A token sees those that it made, or that it took over by rotation: it must
    not turn a webhook that is told more than the token may see to another URL.
    """
    actor = actor_of(person)
    webhooks = Webhook.objects.select_related("owner", "token")
    if actor is None:
        return webhooks.none()
    if actor.token is not None and not _sees_like_a_person(actor):
        return webhooks.filter(token__in=_with_predecessors(actor.token))
    return webhooks if Permission.PEOPLE in actor.permissions else webhooks.filter(owner=actor.user)


def webhook_for(person: Person, pk: int) -> Webhook:
    """The webhook with this id; raises WebhookUnknown for those that the person may not know about."""
    webhook = webhooks_visible_to(person).filter(pk=pk).first()
    if webhook is None:
        raise WebhookUnknown
    return webhook


def delivery_for(person: Person, pk: int) -> Delivery:
    """The delivery with this id; raises WebhookUnknown as `webhook_for` does."""
    visible = webhooks_visible_to(person)
    found = Delivery.objects.select_related("event", "webhook__owner", "webhook__token", "replay_of")
    delivery = found.filter(pk=pk, webhook__in=visible).first()
    if delivery is None:
        raise WebhookUnknown("delivery")
    return delivery


def require_webhooks(person: Person) -> Actor:
    """The actor, if it may have webhooks; raises Forbidden.

    A token that is limited to some names or types may not: an event tells
    of a whole zone.
    """
    actor = actor_of(person)
    if actor is None or not {Permission.READ, Permission.FLEET} & actor.permissions:
        raise Forbidden(Permission.READ)
    if actor.scope is not None and any(Right.READ in grant.rights and grant.is_limited for grant in actor.scope):
        raise TooNarrow
    return actor


def listener(webhook: Webhook, *, now: datetime) -> Actor:
    """As whom the webhook listens: its owner, or the token that made it or that took over from that one.

    Raises TokenDead, with a reason to show, when that account is closed or the token is dead.
    """
    token = webhook.token
    if token is None:
        actor = actor_of(webhook.owner)
    else:
        while token.rotated_to is not None:
            token = token.rotated_to
        refuse_dead(token, now)
        actor = actor_of_token(token)
    if actor is None:
        raise TokenDead(gettext("The account of this webhook's owner is closed."))
    return actor


def _sees_like_a_person(actor: Actor) -> bool:
    """Whether a token lets everything through that its owner may see."""
    owner = actor_of(actor.user)
    return (
        owner is not None
        and actor.permissions >= owner.permissions - {Permission.SECRETS, Permission.APPROVE}
        and any(Right.READ in grant.rights and grant.everywhere and not grant.is_limited for grant in actor.scope or ())
    )


def _with_predecessors(token: Token) -> list[int]:
    """The token and those that were rotated to it."""
    found, newer = [token.pk], [token.pk]
    while newer:
        newer = list(Token.objects.filter(rotated_to__in=newer).values_list("pk", flat=True))
        found += newer
    return found
