"""Access checks: the webhooks that a user can see, and the events that a webhook can receive."""

from datetime import datetime

from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Actor, Permission, Person, Right, actor_of, actor_of_token
from dnspanel.accounts.errors import TokenDead
from dnspanel.accounts.models import Token
from dnspanel.accounts.tokens.tokens import refuse_dead
from dnspanel.database.first_rows import first_or
from dnspanel.texts import gettext
from dnspanel.webhooks.errors import TooNarrow, WebhookUnknown
from dnspanel.webhooks.models import Delivery, EventKind, Webhook
from dnspanel.zones.errors import Forbidden

# The permission that a person needs to receive an event of this kind.
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
    """Return the user's own webhooks, or all webhooks for users who manage people.

    A token sees only webhooks that it created or took over by rotation, unless it can see everything that its owner
    sees, because it could change the URL of a webhook that receives events the token isn't allowed to see.
    """
    actor = actor_of(person)
    webhooks = Webhook.objects.select_related("owner", "token")
    if actor is None:
        return webhooks.none()
    if actor.token is not None and not _sees_like_a_person(actor):
        return webhooks.filter(token__in=_with_predecessors(actor.token))
    return webhooks if Permission.PEOPLE in actor.permissions else webhooks.filter(owner=actor.user)


def webhook_for(person: Person, pk: int) -> Webhook:
    """Return the webhook with this id. Raise WebhookUnknown if the user isn't allowed to see it."""
    return first_or(webhooks_visible_to(person).filter(pk=pk), WebhookUnknown)


def delivery_for(person: Person, pk: int) -> Delivery:
    """Return the delivery with this id. Raise WebhookUnknown if the user isn't allowed to see its webhook."""
    visible = webhooks_visible_to(person)
    found = Delivery.objects.select_related("event", "webhook__owner", "webhook__token", "replay_of")
    return first_or(found.filter(pk=pk, webhook__in=visible), lambda: WebhookUnknown(gettext("Delivery not found.")))


def require_webhooks(person: Person) -> Actor:
    """Return the actor. Raise Forbidden if it isn't allowed to have webhooks.

    A token that is limited to some names or types isn't allowed to, because an event describes a whole zone.
    """
    actor = actor_of(person)
    if actor is None or not {Permission.READ, Permission.FLEET} & actor.permissions:
        raise Forbidden(Permission.READ)
    if actor.scope is not None and any(Right.READ in grant.rights and grant.is_limited for grant in actor.scope):
        raise TooNarrow
    return actor


def listener(webhook: Webhook, *, now: datetime) -> Actor:
    """Return the webhook's actor: its owner or, if a token created the webhook, that token or its latest successor.

    Raise TokenDead if the owner's account is closed or the token is no longer valid. The message can be shown to users.
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
        raise TokenDead(gettext("The webhook owner’s account is closed."))
    return actor


def _sees_like_a_person(actor: Actor) -> bool:
    """Return True if a token can see everything that its owner sees."""
    owner = actor_of(actor.user)
    return (
        owner is not None
        and actor.permissions >= owner.permissions - {Permission.SECRETS, Permission.APPROVE, Permission.LUA}
        and any(Right.READ in grant.rights and grant.everywhere and not grant.is_limited for grant in actor.scope or ())
    )


def _with_predecessors(token: Token) -> list[int]:
    """Return the ids of the token and of all earlier tokens that were rotated into it."""
    found, newer = [token.pk], [token.pk]
    while newer:
        newer = list(Token.objects.filter(rotated_to__in=newer).values_list("pk", flat=True))
        found += newer
    return found
