"""Views of webhooks: list, create, deliveries, replay, test, switch off."""

from uuid import uuid4

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors import actor_of, can
from dnspanel.accounts.roles import Permission
from dnspanel.web.confirm import ask, before_secret
from dnspanel.web.forms import PublishingForm, id_in
from dnspanel.web.layout import PanelRequest, is_fragment
from dnspanel.web.one_time_page import show_once
from dnspanel.webhooks import hooks
from dnspanel.webhooks.access import NEEDED, delivery_for, require_webhooks, webhook_for
from dnspanel.webhooks.errors import WebhookRefused
from dnspanel.webhooks.models import SUBSCRIBABLE, DeliveryState, EventKind, Webhook
from dnspanel.webhooks.queries import deliveries_page, webhook_rows
from dnspanel.zones import access

MOST_DELIVERIES = MOST_WEBHOOKS = 50


class WebhookForm(PublishingForm):
    """The URL, events and description of a webhook. Only events that the person may see are offered."""

    url = forms.CharField(
        label="URL",
        max_length=2000,
        help_text="Gets a POST for each event. Private addresses are refused.",
        widget=forms.URLInput(attrs={"class": "input input-mono", "autocomplete": "off", "placeholder": "https://"}),
    )
    events = forms.MultipleChoiceField(
        label="Events",
        widget=forms.CheckboxSelectMultiple(attrs={"class": ""}),
        error_messages={"required": "Choose at least one event."},
    )
    description = forms.CharField(
        label="Description", required=False, max_length=100, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, *args: object, person: access.Person, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        events = self.fields["events"]
        assert isinstance(events, forms.MultipleChoiceField)
        events.choices = [(kind.value, kind.label) for kind in SUBSCRIBABLE if can(person, NEEDED[kind])]

    def refuse_all(self, faults: dict[str, list[str]]) -> None:
        """Add the errors that a verb raised, each at its field."""
        for field, messages_of_field in faults.items():
            for message in messages_of_field:
                self.refuse(field, message)


@require_safe
def webhook_list(request: PanelRequest) -> HttpResponse:
    """List one's own webhooks; for those who manage people, everybody's."""
    actor = actor_of(request.user)
    before = _cursor(request)
    rows = webhook_rows(request.user, before=before, limit=MOST_WEBHOOKS + 1)
    context = {
        "rows": [(row, _labels(row.webhook)) for row in rows[:MOST_WEBHOOKS]],
        "next_before": rows[MOST_WEBHOOKS - 1].webhook.pk if len(rows) > MOST_WEBHOOKS else "",
        "sees_all": can(request.user, Permission.PEOPLE),
        "may_make": actor is not None and bool({Permission.READ, Permission.FLEET} & actor.permissions),
    }
    return render(request, "access/webhooks.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def webhook_new(request: PanelRequest) -> HttpResponse:
    """Show the form of a new webhook; a POST creates it and shows its signing secret, this once."""
    require_webhooks(request.user)
    form = WebhookForm(request.POST or None, person=request.user, initial={"form_id": uuid4()})
    if form.is_valid():
        if (question := ask(request, _ABOUT_SECRET)) is not None:
            return question
        terms = hooks.WebhookTerms(
            url=form.cleaned_data["url"],
            events=form.cleaned_data["events"],
            description=form.cleaned_data["description"],
        )
        try:
            made = hooks.create_webhook(terms=terms, by=request.user, now=timezone.now(), form_id=form.id)
        except WebhookRefused as exc:
            form.refuse_all(exc.fields)
        else:
            return _page_with_secret(request, made.webhook, made.secret)
    return render(request, "access/webhook_new.html", {"form": form}, status=422 if form.is_bound else 200)


@require_safe
def webhook_detail(request: PanelRequest, webhook_id: int) -> HttpResponse:
    """Show a webhook and its deliveries, newest first; htmx fetches the deliveries alone while some wait."""
    webhook = webhook_for(request.user, webhook_id)
    before = _cursor(request)
    display = deliveries_page(webhook, before=before, limit=MOST_DELIVERIES + 1)
    context = {
        "webhook": webhook,
        "events": _labels(webhook),
        "deliveries": display[:MOST_DELIVERIES],
        "next_before": display[MOST_DELIVERIES - 1].pk if len(display) > MOST_DELIVERIES else "",
        "is_moving": not before and any(each.state == DeliveryState.WAITING for each in display),
        "form": WebhookForm(person=request.user, initial=_values(webhook)),
    }
    return render(request, "access/_deliveries.html" if is_fragment(request) else "access/webhook.html", context)


@require_POST
def webhook_change(request: PanelRequest, webhook_id: int) -> HttpResponse:
    """Change the URL, events or description of a webhook."""
    webhook = webhook_for(request.user, webhook_id)
    form = WebhookForm(request.POST, person=request.user)
    if form.is_valid():
        values = {name: form.cleaned_data[name] for name in ("url", "events", "description")}
        try:
            hooks.change_webhook(webhook=webhook, by=request.user, now=timezone.now(), **values)
        except WebhookRefused as exc:
            form.refuse_all(exc.fields)
        else:
            messages.success(request, "Changed.")
            return redirect("webhook-detail", webhook.pk)
    context = {"webhook": webhook, "events": _labels(webhook), "deliveries": [], "form": form}
    return render(request, "access/webhook.html", context, status=422)


@require_POST
def webhook_ping(request: PanelRequest, webhook_id: int) -> HttpResponse:
    """Send a test event."""
    webhook = webhook_for(request.user, webhook_id)
    try:
        hooks.send_ping(webhook=webhook, by=request.user, now=timezone.now())
        messages.success(request, "A ping is on its way; its delivery stands below.")
    except WebhookRefused as exc:
        messages.error(request, f"{exc} Nothing was sent.")
    return redirect("webhook-detail", webhook.pk)


@require_POST
def webhook_switch(request: PanelRequest, webhook_id: int) -> HttpResponse:
    """Switch the webhook off, or on again (`active` is yes or no)."""
    webhook = webhook_for(request.user, webhook_id)
    active = request.POST.get("active") == "yes"
    try:
        hooks.change_webhook(webhook=webhook, by=request.user, now=timezone.now(), active=active)
        messages.success(request, f"The webhook is {'on' if active else 'off: nothing is sent to it'}.")
    except WebhookRefused as exc:
        messages.error(request, f"{exc} Nothing was changed.")
    return redirect("webhook-detail", webhook.pk)


@require_POST
def webhook_rotate(request: PanelRequest, webhook_id: int) -> HttpResponse:
    """Make a new secret and show it, this once; the old one signs too for a day."""
    webhook = webhook_for(request.user, webhook_id)
    if (question := ask(request, _ABOUT_SECRET)) is not None:
        return question
    secret = hooks.rotate_secret(webhook=webhook, by=request.user, now=timezone.now())
    return _page_with_secret(request, webhook, secret, rotated=True)


_ABOUT_SECRET = before_secret(forged="events that seem to be this panel’s", back="/webhooks/")


def _page_with_secret(request: PanelRequest, webhook: Webhook, secret: str, *, rotated: bool = False) -> HttpResponse:
    context = {"webhook": webhook, "secret": secret, "rotated": rotated}
    page = render(request, "access/webhook_made.html", context)
    return show_once(request, page, after=reverse("webhook-detail", args=[webhook.pk]))


@require_POST
def webhook_delete(request: PanelRequest, webhook_id: int) -> HttpResponse:
    """Delete the webhook and the log of its deliveries."""
    webhook = webhook_for(request.user, webhook_id)
    hooks.delete_webhook(webhook=webhook, by=request.user, now=timezone.now())
    messages.success(request, f"The webhook to {webhook.url} is deleted.")
    return redirect("webhook-list")


@require_POST
def webhook_replay(request: PanelRequest, delivery_id: int) -> HttpResponse:
    """Send one event again."""
    delivery = delivery_for(request.user, delivery_id)
    try:
        hooks.replay_delivery(delivery=delivery, by=request.user, now=timezone.now())
        messages.success(request, "It is sent again, with the same webhook-id.")
    except WebhookRefused as exc:
        messages.error(request, f"{exc} Nothing was sent.")
    return redirect("webhook-detail", delivery.webhook_id)


def _cursor(request: PanelRequest) -> int | None:
    """Return the cursor of the request, the id below which the list starts; None (invalid) means the first page."""
    return id_in(request.GET.get("before", ""))


def _labels(webhook: Webhook) -> list[str]:
    known = dict(EventKind.choices)
    return [str(known.get(name, name)) for name in webhook.events]


def _values(webhook: Webhook) -> dict[str, object]:
    return {"url": webhook.url, "events": webhook.events, "description": webhook.description}
