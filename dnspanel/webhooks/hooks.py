"""What people and tokens do to webhooks: make, change, test, replay, rotate, delete. Verbs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction

from dnspanel.accounts import audit
from dnspanel.accounts.actors import Actor, Author
from dnspanel.accounts.models import User
from dnspanel.accounts.vault import decrypt_secret, encrypt_secret
from dnspanel.webhooks import notice
from dnspanel.webhooks.access import NEEDED, require_webhooks
from dnspanel.webhooks.errors import AddressRefused, NoAnswer, WebhookRefused, WebhookUnknown
from dnspanel.webhooks.guard import Resolve, checked_addresses, parse_target
from dnspanel.webhooks.models import SUBSCRIBABLE, Delivery, DeliveryState, Event, EventKind, Webhook
from dnspanel.webhooks.sign import new_secret
from dnspanel.webhooks.signals import due

MOST_PER_OWNER = 50
# How long the old secret signs beside the new one.
OVERLAP = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class WebhookTerms:
    """What a webhook is told, and where; made by a form or the API."""

    url: str
    events: Collection[str]
    description: str = ""


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """A webhook just made, and the secret that signs what it is sent."""

    webhook: Webhook
    secret: str


def create_webhook(
    *, terms: WebhookTerms, by: User | Actor, now: datetime, form_id: UUID | None = None, resolve: Resolve | None = None
) -> NewWebhook:
    """The webhook exists and is told of every event from now on; a form sent twice makes one.

    Raises Forbidden, and WebhookRefused with the fields at fault: a URL that
    the panel does not send to, an event that there is not or that its maker
    may not see, too many webhooks.
    """
    actor = require_webhooks(by)
    if first := _webhook_of_form(form_id, actor):
        return first
    _refuse_bad_terms(terms, actor, resolve)
    secret = new_secret()
    try:
        with transaction.atomic():
            if Webhook.objects.filter(owner=actor.user).count() >= MOST_PER_OWNER:
                raise WebhookRefused({"url": [f"You have {MOST_PER_OWNER} webhooks, and that is the most."]})
            notice.open_watch(now=now)
            webhook = Webhook.objects.create(
                owner=actor.user,
                token=actor.token,
                **_columns(terms),
                secret=encrypt_secret(secret.encode()),
                created_at=now,
                form_id=form_id,
            )
            _record("webhook.create", webhook, by=actor, now=now, events=webhook.events)
    except IntegrityError:
        if first := _webhook_of_form(form_id, actor):
            return first
        raise
    return NewWebhook(webhook, secret)


def change_webhook(
    *,
    webhook: Webhook,
    by: User | Actor,
    now: datetime,
    url: str | None = None,
    events: Collection[str] | None = None,
    description: str | None = None,
    active: bool | None = None,
    resolve: Resolve | None = None,
) -> None:
    """What is given holds from now on. Switching it on forgets its failures; what was given up stays so.

    Raises as `create_webhook` does.
    """
    actor = require_webhooks(by)
    terms = WebhookTerms(
        url=webhook.url if url is None else url,
        events=webhook.events if events is None else events,
        description=webhook.description if description is None else description,
    )
    _refuse_bad_terms(terms, actor, resolve, url_checked=terms.url == webhook.url)
    given = {"url": url, "events": events, "description": description, "active": active}
    with transaction.atomic():
        locked = _locked(webhook)
        columns = _columns(terms) | {"active": active}
        changed = [
            name for name, value in given.items() if value is not None and getattr(locked, name) != columns[name]
        ]
        fields = {name: columns[name] for name in changed}
        before = {name: getattr(locked, name) for name in changed}
        if "active" in changed:
            fields |= _health_of(active=bool(active), now=now)
        for name, value in fields.items():
            setattr(webhook, name, value)
            setattr(locked, name, value)
        if not changed:
            return
        locked.save(update_fields=list(fields))
        if fields.get("active") is False:
            give_up_waiting(webhook_id=webhook.pk, reason="The webhook was switched off.")
        after = {name: columns[name] for name in changed}
        _record("webhook.change", webhook, by=actor, now=now, before=_told(before), after=_told(after))


def delete_webhook(*, webhook: Webhook, by: Author, now: datetime) -> None:
    """The webhook and the log of its deliveries are gone; deleting twice changes nothing."""
    with transaction.atomic():
        if Webhook.objects.filter(pk=webhook.pk).delete()[0]:
            _record("webhook.delete", webhook, by=by, now=now)


def rotate_secret(*, webhook: Webhook, by: Author, now: datetime) -> str:
    """A new secret signs from now on; the old one signs beside it for a day."""
    secret = new_secret()
    with transaction.atomic():
        locked = _locked(webhook)
        locked.old_secret, locked.old_secret_until = locked.secret, now + OVERLAP
        locked.secret = encrypt_secret(secret.encode())
        locked.save(update_fields=["secret", "old_secret", "old_secret_until"])
        _record("webhook.rotate", webhook, by=by, now=now)
    return secret


def send_ping(*, webhook: Webhook, by: Author, now: datetime) -> Delivery:
    """A ping waits to be sent, like an event; its delivery says what came of it. Raises WebhookRefused if it is off."""
    uid = uuid4()
    with transaction.atomic():
        _refuse_inactive(_locked(webhook))
        event = Event.objects.create(uid=uid, kind=EventKind.PING, subject=f"ping:{uid}", at=now, facts={})
        delivery = Delivery.objects.create(webhook=webhook, event=event, created_at=now, next_at=now)
        _record("webhook.ping", webhook, by=by, now=now)
        _wake_on_commit(webhook)
    return delivery


def replay_delivery(*, delivery: Delivery, by: Author, now: datetime) -> Delivery:
    """The same event, with the same `webhook-id`, waits to be sent again. Raises WebhookRefused if the webhook is off.

    It holds what the webhook's owner may see by then.
    """
    with transaction.atomic():
        _refuse_inactive(_locked(delivery.webhook))
        replay = Delivery.objects.create(
            webhook=delivery.webhook, event=delivery.event, created_at=now, next_at=now, replay_of=delivery
        )
        _record("webhook.replay", delivery.webhook, by=by, now=now, delivery=delivery.pk)
        _wake_on_commit(delivery.webhook)
    return replay


def give_up_waiting(*, webhook_id: int, reason: str) -> None:
    """What waits for this webhook has failed."""
    waiting = Delivery.objects.filter(webhook=webhook_id, state=DeliveryState.WAITING)
    waiting.update(state=DeliveryState.FAILED, next_at=None, error=reason)


def _refuse_bad_terms(terms: WebhookTerms, actor: Actor, resolve: Resolve | None, *, url_checked: bool = False) -> None:
    faults: dict[str, list[str]] = {}
    if not url_checked:
        try:
            checked_addresses(parse_target(terms.url), resolve=resolve)
        except (AddressRefused, NoAnswer) as exc:
            faults["url"] = [str(exc)]
    if not terms.events:
        faults["events"] = ["Choose at least one event."]
    for name in sorted(set(terms.events)):
        if name not in SUBSCRIBABLE:
            faults.setdefault("events", []).append(f"There is no event {name}; there are {', '.join(SUBSCRIBABLE)}.")
        elif NEEDED[EventKind(name)] not in actor.permissions:
            faults.setdefault("events", []).append(f"You may not {NEEDED[EventKind(name)]}, so not be told of {name}.")
    if len(terms.description) > 100:
        faults["description"] = ["At most 100 characters."]
    if faults:
        raise WebhookRefused(faults)


def _locked(webhook: Webhook) -> Webhook:
    """The webhook as it is by now, until the transaction ends; raises WebhookUnknown when it was deleted."""
    locked = Webhook.objects.select_for_update().filter(pk=webhook.pk).first()
    if locked is None:
        raise WebhookUnknown
    return locked


def _columns(terms: WebhookTerms) -> dict[str, Any]:
    return {"url": terms.url, "events": sorted(set(terms.events)), "description": terms.description.strip()}


def _health_of(*, active: bool, now: datetime) -> dict[str, Any]:
    """A webhook that was just switched on has never failed; one that was switched off says by whom."""
    well = {"failing_since": None, "failures": 0, "resting_until": None}
    if active:
        return well | {"disabled_at": None, "disabled_reason": ""}
    return well | {"disabled_at": now, "disabled_reason": "Switched off by hand."}


def _refuse_inactive(webhook: Webhook) -> None:
    if not webhook.active:
        raise WebhookRefused({"active": ["The webhook is switched off; switch it on first."]})


def _webhook_of_form(form_id: UUID | None, actor: Actor) -> NewWebhook | None:
    found = Webhook.objects.filter(form_id=form_id, owner=actor.user).first() if form_id else None
    return None if found is None else NewWebhook(found, decrypt_secret(found.secret).decode())


def _record(action: str, webhook: Webhook, *, by: Author, now: datetime, **details: object) -> None:
    # The host alone: for some receivers the path is the password.
    host = urlsplit(webhook.url).hostname or ""
    audit.record(action=action, by=by, now=now, target=host, webhook=webhook.pk, **details)


def _told(columns: Mapping[str, object]) -> dict[str, object]:
    """The values as the audit log tells them: of the URL the host alone, as in `_record`."""
    return {name: urlsplit(str(value)).hostname if name == "url" else value for name, value in columns.items()}


def _wake_on_commit(webhook: Webhook) -> None:
    transaction.on_commit(lambda: due.send(sender=Webhook, webhook_id=webhook.pk), robust=True)
