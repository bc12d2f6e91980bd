"""Views of webhooks: the list, one webhook with its deliveries, actions on both, and unsubscribing from emails."""

from functools import partial
from typing import Any
from uuid import uuid4

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Actor, Permission, actor_of, can
from dnspanel.accounts.models import Team, User
from dnspanel.accounts.rights.known_people import teams_known_to
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.all_or_some import ALL, AllOrSome, AllOrSomeForm
from dnspanel.web.frame.confirm import ask, before_secret, run_confirmed
from dnspanel.web.frame.forms import PublishingForm, id_in, text_field
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, is_fragment, reporting, say_done
from dnspanel.web.frame.one_time_page import show_once
from dnspanel.webhooks import hooks
from dnspanel.webhooks.access import NEEDED, delivery_for, require_webhooks, webhook_for
from dnspanel.webhooks.errors import WebhookRefused, WebhookUnknown
from dnspanel.webhooks.models import SUBSCRIBABLE, DeliveryState, EventKind, Format, Webhook
from dnspanel.webhooks.queries import deliveries_page, webhook_rows
from dnspanel.webhooks.sending_time import GATHERED
from replication.dns import names
from replication.errors import BadName

MOST_DELIVERIES = MOST_WEBHOOKS = 50


_TIME = {"type": "time", "class": "input"}
_NAMES = {"rows": 3, "class": "textarea input-mono", "spellcheck": "false"}


class WebhookForm(AllOrSomeForm, PublishingForm):
    """The form for a webhook: its format, receiver, events and zones, and the delay and quiet hours of its messages.

    The form offers only events that the person is allowed to see.
    """

    all_or_some = (AllOrSome(("zones", "tags", "teams"), label=gettext_lazy("Publications"), default=ALL),)

    format = forms.ChoiceField(
        label=gettext_lazy("Deliver as"),
        choices=Format.choices,
        initial=Format.EVENTS,
        widget=forms.Select(attrs={"class": "select"}),
    )
    url = forms.CharField(
        label="URL",
        required=False,
        max_length=2000,
        help_text=(
            gettext_lazy(
                "The URL gets a POST request for each event. For a chat, enter its incoming webhook URL. Private "
                "addresses aren’t allowed. Leave empty for email, which is sent to your own address."
            )
        ),
        widget=forms.URLInput(attrs={"class": "input input-mono", "autocomplete": "off", "placeholder": "https://"}),
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Events"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Select at least one event.")},
    )
    zones = forms.CharField(
        label=gettext_lazy("Zone names"),
        required=False,
        max_length=30_000,
        help_text=gettext_lazy("Enter one zone name per line."),
        widget=forms.Textarea(attrs=_NAMES),
    )
    tags = text_field(gettext_lazy("Zones by tag"), 5_000, gettext_lazy("Separate multiple entries with commas."))
    teams = text_field(gettext_lazy("Zones by team"), 10_000, gettext_lazy("Separate multiple entries with commas."))
    gather_minutes = forms.TypedChoiceField(
        label=gettext_lazy("Frequency"),
        choices=list(GATHERED.items()),
        coerce=int,
        initial=0,
        help_text=gettext_lazy(
            "The frequency only applies to emails and chats. Programs are always notified immediately."
        ),
    )
    quiet_from = forms.TimeField(
        label=gettext_lazy("Quiet hours start"), required=False, widget=forms.TimeInput(attrs=_TIME, format="%H:%M")
    )
    quiet_until = forms.TimeField(
        label=gettext_lazy("until"), required=False, widget=forms.TimeInput(attrs=_TIME, format="%H:%M")
    )
    description = text_field(gettext_lazy("Description"), 100, autocomplete="off")

    def __init__(self, *args: object, person: User | Actor, webhook: Webhook | None = None, **kwargs: object) -> None:
        super().__init__(*args, counted_for=person, stored=webhook is not None, **kwargs)
        events = self.fields["events"]
        assert isinstance(events, forms.MultipleChoiceField)
        events.choices = [(kind.value, kind.label) for kind in SUBSCRIBABLE if can(person, NEEDED[kind])]
        if webhook is not None:
            del self.fields["format"]  # the format can't change
        elif not settings.EMAIL_HOST:
            formats = self.fields["format"]
            assert isinstance(formats, forms.ChoiceField)
            formats.choices = [choice for choice in Format.choices if choice[0] != Format.MAIL]
            formats.help_text = gettext("Email isn’t available, because no mail server is configured.")
        self._person = person

    def clean_zones(self) -> list[str]:
        """Return canonical zone names. Raise ValidationError with messages about at most five invalid lines."""
        found, faults = [], []
        for line in filter(None, map(str.strip, self.cleaned_data["zones"].splitlines())):
            try:
                found.append(names.parse(line))
            except BadName as exc:
                faults.append(f"{line[:100]}: {exc}")
        if faults:
            raise forms.ValidationError(faults[:5])
        return found

    def clean_tags(self) -> list[str]:
        return _split_list(self.cleaned_data["tags"])

    def clean_teams(self) -> list[int]:
        """Return the ids of the named teams. Raise ValidationError for a team that the person can't choose."""
        wanted = _split_list(self.cleaned_data["teams"])
        known = {team.name: team.pk for team in teams_known_to(self._person).filter(name__in=wanted)} if wanted else {}
        if unknown := [name for name in wanted if name not in known]:
            raise forms.ValidationError(
                [gettext("Team {name} not found.").format(name=name[:100]) for name in unknown[:5]]
            )
        return [known[name] for name in wanted]

    def terms(self) -> dict[str, Any]:
        """Return the form's values as fields of `hooks.WebhookTerms`."""
        terms = hooks.WebhookTerms.__dataclass_fields__
        return {name: value for name, value in self.cleaned_data.items() if name in terms}


@require_safe
def webhook_list(request: PanelRequest) -> HttpResponse:
    """List the user's own webhooks, or all webhooks if the user has the permission `people`."""
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
    """Show the form for a new webhook. A POST creates the webhook, and shows its signing secret once if it has one."""
    require_webhooks(request.user)
    given: dict[str, object] = {name: request.GET[name] for name in ("format", "zones") if name in request.GET}
    if "zones" in given:
        given["events"] = [EventKind.SAVED]
    form = WebhookForm(request.POST or None, person=request.user, initial={"form_id": uuid4(), **given})
    if form.is_valid():
        terms = hooks.WebhookTerms(**form.terms())
        is_signed = terms.format == Format.EVENTS
        create = partial(hooks.create_webhook, terms=terms, by=request.user, now=timezone.now(), form_id=form.id)
        with form.catching(WebhookRefused):
            made = run_confirmed(request, _ABOUT_SECRET if is_signed else None, create)
            if is_signed:
                return _page_with_secret(request, made.webhook, made.secret)
            say_done(request, gettext("Webhook created. Send a test to see an example."))
            return redirect("webhook-detail", made.webhook.pk)
    return render(request, "access/webhook_new.html", {"form": form}, status=422 if form.is_bound else 200)


@require_safe
def webhook_detail(request: PanelRequest, webhook_id: int) -> HttpResponse:
    """Show a webhook and its deliveries, newest first. For htmx, return only the list of deliveries."""
    webhook = webhook_for(request.user, webhook_id)
    before = _cursor(request)
    display = deliveries_page(webhook, before=before, limit=MOST_DELIVERIES + 1)
    context = {
        "webhook": webhook,
        "events": _labels(webhook),
        "deliveries": display[:MOST_DELIVERIES],
        "next_before": display[MOST_DELIVERIES - 1].pk if len(display) > MOST_DELIVERIES else "",
        "is_moving": not before and any(each.state == DeliveryState.WAITING for each in display),
        "form": WebhookForm(person=request.user, webhook=webhook, initial=_values(webhook)),
    }
    return render(request, "access/_deliveries.html" if is_fragment(request) else "access/webhook.html", context)


@require_POST
def webhook_change(request: PanelRequest, webhook_id: int) -> HttpResponse:
    """Save the form's values to the webhook, or show the form's errors."""
    webhook = webhook_for(request.user, webhook_id)
    form = WebhookForm(request.POST, person=request.user, webhook=webhook)
    if form.is_valid():
        with form.catching(WebhookRefused):
            hooks.change_webhook(webhook=webhook, by=request.user, now=timezone.now(), **form.terms())
            say_done(request, gettext("Changes saved."))
            return redirect("webhook-detail", webhook.pk)
    context = {"webhook": webhook, "events": _labels(webhook), "deliveries": [], "form": form}
    return render(request, "access/webhook.html", context, status=422)


@require_POST
def webhook_ping(request: PanelRequest, webhook_id: int) -> HttpResponse:
    """Send a test event to the webhook."""
    webhook = webhook_for(request.user, webhook_id)
    with reporting(request, WebhookRefused, text=gettext("{exc} Nothing was sent.")):
        hooks.send_ping(webhook=webhook, by=request.user, now=timezone.now())
        say_done(request, gettext("Test sent. See the delivery below."))
    return redirect("webhook-detail", webhook.pk)


@require_POST
def webhook_switch(request: PanelRequest, webhook_id: int) -> HttpResponse:
    """Switch the webhook on if `active` is yes, otherwise off. Switching it off gives up its waiting deliveries."""
    webhook = webhook_for(request.user, webhook_id)
    active = request.POST.get("active") == "yes"
    with reporting(request, WebhookRefused, text=NOTHING_CHANGED):
        hooks.change_webhook(webhook=webhook, by=request.user, now=timezone.now(), active=active)
        say_done(
            request, gettext("Webhook enabled.") if active else gettext("Webhook disabled. Events are no longer sent.")
        )
    return redirect("webhook-detail", webhook.pk)


@require_POST
def webhook_rotate(request: PanelRequest, webhook_id: int) -> HttpResponse:
    """Replace the signing secret after a confirmation, and show it once. The old one also signs for another day."""
    webhook = webhook_for(request.user, webhook_id)
    ask(request, _ABOUT_SECRET)
    secret = hooks.rotate_secret(webhook=webhook, by=request.user, now=timezone.now())
    return _page_with_secret(request, webhook, secret, rotated=True)


_ABOUT_SECRET = before_secret(forged=gettext_lazy("fake events that appear to come from this panel"), back="/webhooks/")


def _page_with_secret(request: PanelRequest, webhook: Webhook, secret: str, *, rotated: bool = False) -> HttpResponse:
    context = {"webhook": webhook, "secret": secret, "rotated": rotated}
    page = render(request, "access/webhook_made.html", context)
    return show_once(request, page, after=reverse("webhook-detail", args=[webhook.pk]))


@csrf_exempt  # the key in the URL authorizes the request; mail programs send no token (RFC 8058, section 3.1)
@require_http_methods(["GET", "HEAD", "POST"])
def stop_mails(request: HttpRequest, key: str) -> HttpResponse:
    """Show the page that unsubscribes from a webhook's emails. A POST, also from a mail program, unsubscribes."""
    try:
        webhook = hooks.webhook_of_stop_key(key)
    except WebhookUnknown:
        return render(request, "access/mails_stop.html", {"is_known": False}, status=404)
    if request.method == "POST":
        hooks.stop_mails(webhook=webhook, now=timezone.now())
    is_over = request.method == "POST" or not webhook.active
    return render(request, "access/mails_stop.html", {"is_known": True, "is_over": is_over, "webhook": webhook})


@require_POST
def webhook_delete(request: PanelRequest, webhook_id: int) -> HttpResponse:
    """Delete the webhook and its delivery log."""
    webhook = webhook_for(request.user, webhook_id)
    hooks.delete_webhook(webhook=webhook, by=request.user, now=timezone.now())
    say_done(request, gettext("Webhook to {receiver} deleted."), receiver=webhook.receiver)
    return redirect("webhook-list")


@require_POST
def webhook_replay(request: PanelRequest, delivery_id: int) -> HttpResponse:
    """Send a past delivery's event again."""
    delivery = delivery_for(request.user, delivery_id)
    with reporting(request, WebhookRefused, text=gettext("{exc} Nothing was sent.")):
        hooks.replay_delivery(delivery=delivery, by=request.user, now=timezone.now())
        say_done(request, gettext("Event sent again with the same webhook-id."))
    return redirect("webhook-detail", delivery.webhook_id)


def _cursor(request: PanelRequest) -> int | None:
    """Return the cursor from the request, or None for the first page. The page lists only rows with lower ids."""
    return id_in(request.GET.get("before", ""))


def _labels(webhook: Webhook) -> list[str]:
    known = dict(EventKind.choices)
    return [str(known.get(name, name)) for name in webhook.events]


def _values(webhook: Webhook) -> dict[str, object]:
    values = {name: getattr(webhook, name) for name in hooks.WebhookTerms.__dataclass_fields__}
    teams = Team.objects.filter(pk__in=webhook.teams).order_by("name").values_list("name", flat=True)
    return values | {
        "zones": "\n".join(webhook.zones),
        "tags": ", ".join(webhook.tags),
        "teams": ", ".join(teams) if webhook.teams else "",
    }


def _split_list(text: str) -> list[str]:
    return list(filter(None, map(str.strip, text.split(","))))
