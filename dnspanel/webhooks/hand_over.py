"""Transfer a person's tokens, webhooks, drafts and publish hooks to another account. Verbs.

This module is in `webhooks`, because webhooks depend on tokens and drafts, but not the other way around.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import AccountRefused
from dnspanel.accounts.models import Token, User
from dnspanel.accounts.rights.grant_edit import refuse_to_open
from dnspanel.accounts.tokens import tokens
from dnspanel.texts import gettext
from dnspanel.webhooks.models import Format, Webhook
from dnspanel.zones.drafts import named_drafts
from dnspanel.zones.governance.publish_rules import may_govern, scope_of
from dnspanel.zones.models import Draft, PublishHook

MOST_LISTED = 500  # of tokens, webhooks and drafts each; more are listed once these are handed over


@dataclass(frozen=True, slots=True)
class Belongings:
    """A person's belongings that can be transferred.

    These are valid tokens (not SCIM or rotated ones), webhooks that no token created and that don't send email, drafts
    with content, and publish hooks that the person placed.
    """

    tokens: list[Token]
    webhooks: list[Webhook]
    drafts: list[Draft]
    hooks: list[PublishHook]

    def __bool__(self) -> bool:
        return bool(self.tokens or self.webhooks or self.drafts or self.hooks)


def belongings_of(person: User) -> Belongings:
    """Return the person's belongings in four queries: all hooks, and at most MOST_LISTED of each other kind."""
    alive = tokens.alive_tokens(timezone.now()).filter(owner=person, rotated_to=None, kind__in=tokens.GIVEN)
    own = Webhook.objects.filter(owner=person, token=None).exclude(format=Format.MAIL)
    return Belongings(
        list(alive.order_by("pk")[:MOST_LISTED]),
        list(own.order_by("pk")[:MOST_LISTED]),
        list(named_drafts.drafts_of(person)[:MOST_LISTED]),
        list(PublishHook.objects.filter(placed_by=person).select_related("zone", "team").order_by("pk")),
    )


def hand_over(  # noqa: PLR0913  # what is handed over, by kind
    *,
    person: User,
    to: User,
    token_ids: Collection[int] = (),
    webhook_ids: Collection[int] = (),
    draft_ids: Collection[int] = (),
    hook_ids: Collection[int] = (),
    by: Author,
    now: datetime,
) -> int:
    """Transfer the given objects that `person` can hand over to `to`, all or none. Return their number.

    Ids of other objects are ignored. A token's webhooks are transferred with the token. The token keeps its secret, so
    anyone who has the secret can use it until it is rotated. `to` must be able to govern a publish hook's zones, and
    can then remove the hook.

    Raise TokenRefused if a token exceeds the rights of `person`, and TokenQuotaExceeded if `to` would have too many
    tokens. Raise DraftRefused if `to` is a service account or already uses a draft's name. Raise AccountRefused if `to`
    is closed, is `person`, or can't govern a hook's zones. Also raise the errors of `refuse_to_open` for both accounts.
    """
    if to.pk == person.pk or not to.is_active:
        raise AccountRefused({"to": [gettext("Choose an account that isn’t closed.")]})
    refuse_to_open(by, person)
    refuse_to_open(by, to)
    with transaction.atomic(durable=True):
        given = tokens.give_tokens(person=person, to=to, ids=token_ids, by=by, now=now)
        own = Webhook.objects.select_for_update().filter(owner=person, token=None, pk__in=webhook_ids)
        moved = [webhook.pk for webhook in own.exclude(format=Format.MAIL)]
        Webhook.objects.filter(pk__in=moved).update(owner=to)
        Webhook.objects.filter(token__in=given).update(owner=to)
        drafts = named_drafts.give_drafts(person=person, to=to, ids=draft_ids, now=now)
        hooks = _give_hooks(person, to, hook_ids)
        count = len(given) + len(moved) + len(drafts) + len(hooks)
        if count:
            audit.record(
                action="person.hand-over",
                by=by,
                now=now,
                target=person.username,
                to=to.username,
                tokens=given,
                webhooks=moved,
                drafts=drafts,
                hooks=hooks,
            )
    return count


def _give_hooks(person: User, to: User, ids: Collection[int]) -> list[int]:
    """Transfer these hooks to `to` and return their ids. Raise AccountRefused if `to` can't govern their zones."""
    rows = PublishHook.objects.select_for_update(of=("self",)).select_related("zone", "team")
    found = list(rows.filter(placed_by=person, pk__in=ids).order_by("pk"))
    for hook in found:
        if not may_govern(to, scope_of(hook)):
            message = gettext("{username} isn’t allowed to manage the publish hook {hook}.")
            raise AccountRefused({"to": [message.format(username=to.username, hook=hook.display_name)]})
    PublishHook.objects.filter(pk__in=[hook.pk for hook in found]).update(placed_by=to)
    return [hook.pk for hook in found]
