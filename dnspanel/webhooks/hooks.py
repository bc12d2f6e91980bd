"""Create, change, test, switch off and delete webhooks, rotate their secrets, and replay deliveries. Verbs."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, time, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db import IntegrityError, transaction

from dnspanel import quiet_hours
from dnspanel.accounts.actors.actors import Actor, Author, Right
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import User
from dnspanel.accounts.rights.known_people import teams_known_to
from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.database.field_copies import copy_fields
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import address_refused, not_found
from dnspanel.texts import gettext
from dnspanel.webhooks import collect_events
from dnspanel.webhooks.access import NEEDED, require_webhooks
from dnspanel.webhooks.address_guard import Resolve, checked_addresses, parse_target
from dnspanel.webhooks.errors import AddressRefused, NoAnswer, WebhookRefused, WebhookUnknown
from dnspanel.webhooks.models import (
    READ_BY_PEOPLE,
    SUBSCRIBABLE,
    Delivery,
    DeliveryState,
    Event,
    EventKind,
    Format,
    Webhook,
)
from dnspanel.webhooks.numbers import next_numbers
from dnspanel.webhooks.sending_time import GATHERED
from dnspanel.webhooks.sign_events import new_secret
from dnspanel.webhooks.signals import due
from dnspanel.zones.errors import SettingsRefused
from dnspanel.zones.rights.access import zones_within_reach
from dnspanel.zones.settings.settings_of_zone import canonical_tags

MOST_PER_OWNER = 50
MOST_IN_SCOPE = 100
# How long payloads are signed with the old secret too.
OVERLAP = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class WebhookTerms:
    """A webhook's settings, such as its events, URL and format, from a form or the API.

    Zones, tags and teams (ids) are filters for publications and requests. With any filter, the webhook receives only
    those that change one of the zones, or a zone with one of the tags or teams.
    """

    url: str
    events: Collection[str]
    description: str = ""
    format: str = Format.EVENTS
    zones: Collection[str] = ()
    tags: Collection[str] = ()
    teams: Collection[int] = ()
    gather_minutes: int = 0
    quiet_from: time | None = None
    quiet_until: time | None = None


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """A new webhook, and the secret that signs its events."""

    webhook: Webhook
    secret: str


def create_webhook(
    *, terms: WebhookTerms, by: User | Actor, now: datetime, form_id: UUID | None = None, resolve: Resolve | None = None
) -> NewWebhook:
    """Create a webhook that receives events from now on. A form submitted twice creates only one webhook.

    Raise Forbidden if the actor isn't allowed to have webhooks. Raise WebhookRefused with all invalid fields, such as
    an event that the creator isn't allowed to see, or if the owner has too many webhooks.
    """
    actor = require_webhooks(by)
    if first := _webhook_of_form(form_id, actor):
        return first
    _refuse_bad_terms(terms, actor, resolve)
    secret = new_secret()
    try:
        with transaction.atomic():
            if Webhook.objects.filter(owner=actor.user).count() >= MOST_PER_OWNER:
                raise WebhookRefused(
                    {
                        "url": [
                            gettext("The maximum is {most_per_owner} webhooks.").format(most_per_owner=MOST_PER_OWNER)
                        ]
                    }
                )
            collect_events.open_watch(now=now)
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
    active: bool | None = None,
    resolve: Resolve | None = None,
    **given: Any,
) -> None:
    """Change the given settings of a webhook. Waiting deliveries keep their times.

    Switching the webhook off gives up its waiting deliveries. Switching it on resets its failures, but doesn't send
    deliveries that were given up. Raise the errors of `create_webhook`, WebhookRefused if the format changes, and
    WebhookUnknown.
    """
    actor = require_webhooks(by)
    terms = replace(copy_fields(WebhookTerms, webhook), **given)
    if terms.format != webhook.format:
        raise WebhookRefused({"format": [gettext("The format can’t be changed. Create another webhook instead.")]})
    _refuse_bad_terms(terms, actor, resolve, before=webhook)
    with transaction.atomic():
        locked = _lock_webhook(webhook)
        columns = _columns(terms) | ({} if active is None else {"active": active})
        wanted = given.keys() | ({"active"} if active is not None else set())
        changed = [name for name, value in columns.items() if name in wanted and getattr(locked, name) != value]
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
            give_up_waiting(webhook_id=webhook.pk, reason=gettext("The webhook was disabled."))
        after = {name: columns[name] for name in changed}
        _record(
            "webhook.change",
            webhook,
            by=actor,
            now=now,
            before=_columns_for_audit(before),
            after=_columns_for_audit(after),
        )


def delete_webhook(*, webhook: Webhook, by: Author, now: datetime) -> None:
    """Delete the webhook and its delivery log. A second call does nothing."""
    with transaction.atomic():
        if Webhook.objects.filter(pk=webhook.pk).delete()[0]:
            _record("webhook.delete", webhook, by=by, now=now)


def rotate_secret(*, webhook: Webhook, by: Author, now: datetime) -> str:
    """Set a new secret and return it. For a day, events are also signed with the old secret."""
    secret = new_secret()
    with transaction.atomic():
        locked = _lock_webhook(webhook)
        locked.old_secret, locked.old_secret_until = locked.secret, now + OVERLAP
        locked.secret = encrypt_secret(secret.encode())
        locked.save(update_fields=["secret", "old_secret", "old_secret_until"])
        _record("webhook.rotate", webhook, by=by, now=now)
    return secret


def send_ping(*, webhook: Webhook, by: Author, now: datetime) -> Delivery:
    """Queue a ping and return its delivery. Raise WebhookRefused if the webhook is off."""
    uid = uuid4()
    with transaction.atomic():
        _refuse_inactive(_lock_webhook(webhook))
        event = Event.objects.create(uid=uid, kind=EventKind.PING, subject=f"ping:{uid}", at=now, facts={})
        [number] = next_numbers(webhook.pk, 1)
        delivery = Delivery.objects.create(webhook=webhook, event=event, number=number, created_at=now, next_at=now)
        _record("webhook.ping", webhook, by=by, now=now)
        _wake_on_commit(webhook)
    return delivery


def replay_delivery(*, delivery: Delivery, by: Author, now: datetime) -> Delivery:
    """Queue the same event again, with the same `webhook-id` and number. Raise WebhookRefused if the webhook is off.

    The body contains only the data that the webhook's owner is still allowed to see at the time of sending.
    """
    with transaction.atomic():
        _refuse_inactive(_lock_webhook(delivery.webhook))
        replay = Delivery.objects.create(
            webhook=delivery.webhook,
            event=delivery.event,
            number=delivery.number,
            created_at=now,
            next_at=now,
            replay_of=delivery,
        )
        _record("webhook.replay", delivery.webhook, by=by, now=now, delivery=delivery.pk)
        _wake_on_commit(delivery.webhook)
    return replay


def stop_key(webhook: Webhook) -> str:
    """Return the key for the unsubscribe link in an email. The key permits nothing else."""
    return _stop_signer().sign(str(webhook.pk))


def webhook_of_stop_key(key: str) -> Webhook:
    """Return the email webhook for an unsubscribe key. Raise WebhookUnknown if the key is invalid."""
    try:
        found = Webhook.objects.filter(pk=int(_stop_signer().unsign(key)), format=Format.MAIL).first()
    except (BadSignature, ValueError) as exc:
        raise WebhookUnknown from exc
    if found is None:
        raise WebhookUnknown
    return found


def stop_mails(*, webhook: Webhook, now: datetime) -> None:
    """Switch an email webhook off, as its unsubscribe link requests, and give up its waiting emails."""
    with transaction.atomic():
        locked = _lock_webhook(webhook)
        if locked.active:
            off = {"disabled_at": now, "disabled_reason": gettext("Stopped via the link in an email.")}
            Webhook.objects.filter(pk=webhook.pk).update(active=False, **off)
            give_up_waiting(webhook_id=webhook.pk, reason=gettext("The emails were stopped."))
            _record("webhook.off", webhook, by=None, now=now, why=off["disabled_reason"])


def _stop_signer() -> Signer:
    return Signer(salt="dnspanel.webhooks.stop")


def give_up_waiting(*, webhook_id: int, reason: str) -> None:
    """Mark this webhook's waiting deliveries as failed."""
    waiting = Delivery.objects.filter(webhook=webhook_id, state=DeliveryState.WAITING)
    waiting.update(state=DeliveryState.FAILED, next_at=None, error=reason)


def _refuse_bad_terms(
    terms: WebhookTerms, actor: Actor, resolve: Resolve | None, *, before: Webhook | None = None
) -> None:
    faults = _faults_of_address(terms, actor, resolve, before)
    if not terms.events:
        faults["events"] = [gettext("Select at least one event.")]
    for name in sorted(set(terms.events)):
        if name not in SUBSCRIBABLE:
            faults.setdefault("events", []).append(
                gettext("{name} isn’t a valid event. Valid events: {names}.").format(
                    name=name, names=", ".join(SUBSCRIBABLE)
                )
            )
        elif NEEDED[EventKind(name)] not in actor.permissions:
            faults.setdefault("events", []).append(
                gettext("You can’t subscribe to {name} because you don’t have the {permission} permission.").format(
                    name=name, permission=NEEDED[EventKind(name)]
                )
            )
    if len(terms.description) > 100:
        faults["description"] = [gettext("Enter at most 100 characters.")]
    faults |= _faults_of_scope(terms, actor, before) | _faults_of_pace(terms)
    if faults:
        raise WebhookRefused(faults)


def _faults_of_address(
    terms: WebhookTerms, actor: Actor, resolve: Resolve | None, before: Webhook | None
) -> dict[str, list[str]]:
    if terms.format not in Format.values:
        return {"format": [gettext("Choose one of {values}.").format(values=", ".join(Format.values))]}
    if terms.format == Format.MAIL:
        if terms.url:
            return {"url": [gettext("Leave this field empty. Emails are sent to your account’s address.")]}
        if not settings.EMAIL_HOST:
            return {"format": [gettext("No mail server is configured. The operator can set PANEL_MAIL_HOST.")]}
        return (
            {}
            if (before.owner if before else actor.user).email
            else {"format": [gettext("Your account doesn’t have an email address.")]}
        )
    if before is not None and terms.url == before.url:
        return {}
    try:
        checked_addresses(parse_target(terms.url), resolve=resolve)
    except (AddressRefused, NoAnswer) as exc:
        return {"url": [address_refused(exc)]}
    return {}


def _faults_of_scope(terms: WebhookTerms, actor: Actor, before: Webhook | None) -> dict[str, list[str]]:
    """Return errors about zones, tags and teams, keyed by field. Zones and teams that `before` has are accepted.

    A zone or team that the actor isn't allowed to see is reported as not found.
    """
    faults: dict[str, list[str]] = {}
    for name, values in (("zones", terms.zones), ("tags", terms.tags), ("teams", terms.teams)):
        if len(values) > MOST_IN_SCOPE:
            return {name: [gettext("Enter at most {most_in_scope} entries.").format(most_in_scope=MOST_IN_SCOPE)]}
    wanted = set(terms.zones) - set(before.zones if before else ())
    known = set(zones_within_reach(actor, Right.READ).filter(name__in=wanted).values_list("name", flat=True))
    if unknown := sorted(wanted - known):
        faults["zones"] = [not_found(gettext("Zone not found: {name}").format(name=name)) for name in unknown[:5]]
    try:
        canonical_tags(terms.tags)
    except SettingsRefused as exc:
        faults["tags"] = [str(exc)]
    of_teams = set(terms.teams) - set(before.teams if before else ())
    if of_teams - set(teams_known_to(actor.user).filter(pk__in=of_teams).values_list("pk", flat=True)):
        faults["teams"] = [not_found(gettext("Team not found."))]
    return faults


def _faults_of_pace(terms: WebhookTerms) -> dict[str, list[str]]:
    if terms.gather_minutes not in GATHERED:
        return {"gather_minutes": [gettext("Choose one of {values}.").format(values=", ".join(map(str, GATHERED)))]}
    if faults := quiet_hours.faults_of(terms.quiet_from, terms.quiet_until):
        return faults
    if terms.format not in READ_BY_PEOPLE and (terms.gather_minutes or terms.quiet_from is not None):
        return {
            "gather_minutes" if terms.gather_minutes else "quiet_from": [
                gettext("Programs are always notified immediately.")
            ]
        }
    return {}


def _lock_webhook(webhook: Webhook) -> Webhook:
    """Lock the webhook for this transaction and return its current row. Raise WebhookUnknown if it was deleted."""
    return first_or(Webhook.objects.select_for_update().filter(pk=webhook.pk), WebhookUnknown)


def _columns(terms: WebhookTerms) -> dict[str, Any]:
    return asdict(terms) | {
        "events": sorted(set(terms.events)),
        "description": terms.description.strip(),
        "zones": sorted(set(terms.zones)),
        "tags": canonical_tags(terms.tags),
        "teams": sorted(set(terms.teams)),
    }


def _health_of(*, active: bool, now: datetime) -> dict[str, Any]:
    """Return the health columns of a webhook that a user has just switched on or off."""
    well = {"failing_since": None, "failures": 0, "resting_until": None}
    if active:
        return well | {"disabled_at": None, "disabled_reason": ""}
    return well | {"disabled_at": now, "disabled_reason": gettext("Disabled manually.")}


def _refuse_inactive(webhook: Webhook) -> None:
    if not webhook.active:
        raise WebhookRefused({"active": [gettext("The webhook is disabled. Enable it first.")]})


def _webhook_of_form(form_id: UUID | None, actor: Actor) -> NewWebhook | None:
    found = Webhook.objects.filter(form_id=form_id, owner=actor.user).first() if form_id else None
    return None if found is None else NewWebhook(found, decrypt_secret(found.secret).decode())


def _record(action: str, webhook: Webhook, *, by: Author, now: datetime, **details: object) -> None:
    # Only the host, because the path of some receivers' URLs is a secret.
    host = "mail" if webhook.format == Format.MAIL else urlsplit(webhook.url).hostname or ""
    audit.record(action=action, by=by, now=now, target=host, webhook=webhook.pk, **details)


def _columns_for_audit(columns: Mapping[str, object]) -> dict[str, object]:
    """Return the values for the audit log, with the URL reduced to its host as in `_record`."""
    return {
        name: urlsplit(str(value)).hostname if name == "url" else str(value) if isinstance(value, time) else value
        for name, value in columns.items()
    }


def _wake_on_commit(webhook: Webhook) -> None:
    transaction.on_commit(lambda: due.send(sender=Webhook, webhook_id=webhook.pk), robust=True)
