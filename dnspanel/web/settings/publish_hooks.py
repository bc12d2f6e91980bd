"""Views that list, add, change, test and remove publish hooks, and rotate secrets. Users need the `govern` right."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.confirm import Question, ask, before_secret, run_confirmed
from dnspanel.web.frame.forms import mono_field, number_field, text_field
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.frame.one_time_page import show_once
from dnspanel.web.settings.publish_rules import ScopeForm, about_lifting, governor, lift_rule, preview_of
from dnspanel.webhooks import place_publish_hooks
from dnspanel.webhooks.address_guard import LONGEST_URL
from dnspanel.webhooks.place_publish_hooks import LEAST_SECONDS, LONGEST_NAME, MOST_SECONDS, HookTerms, NewHook
from dnspanel.zones.governance.hook_health import summary_of
from dnspanel.zones.models import PublishHook, WhenSilent

_ABOUT_SECRET = before_secret(forged=gettext_lazy("forged requests"), back="/settings/hooks/")


class HookForm(ScopeForm):
    """The form for a publish hook: its scope, URL and time limit, and the decision if the hook doesn't answer."""

    model = PublishHook
    name = text_field(
        None, LONGEST_NAME, gettext_lazy("Shown to the publisher instead of the URL."), autocomplete="off"
    )
    url = mono_field("URL", LONGEST_URL, required=True, placeholder="https://checks.example/dns")
    seconds = number_field(
        gettext_lazy("Timeout in seconds"),
        LEAST_SECONDS,
        MOST_SECONDS,
        gettext_lazy("How long publishing waits for a response."),
        required=True,
        initial=5,
    )
    when_silent = forms.ChoiceField(
        label=gettext_lazy("If the hook doesn’t respond"),
        choices=WhenSilent.choices,
        initial=WhenSilent.REFUSE,
        help_text=gettext_lazy("Applies if the hook is down, is too slow, or sends an unsigned response."),
    )

    field_order = ("name", "url", "seconds", "when_silent", "zone", "tag", "team", "reason")

    def __init__(self, *args: Any, hook: PublishHook | None = None, **kwargs: Any) -> None:
        if hook is not None:
            kwargs["initial"] = {
                **{name: getattr(hook, name) for name in ("name", "url", "seconds", "when_silent", "tag", "reason")},
                "zone": hook.zone.name if hook.zone else "",
                "team": hook.team.name if hook.team else "",
                "version": hook.version,
            }
        super().__init__(*args, stored=hook is not None, **kwargs)
        if hook is not None:
            self.fields["version"] = forms.IntegerField(widget=forms.HiddenInput)

    @property
    def terms(self) -> HookTerms:
        given = self.cleaned_data
        return HookTerms(given["url"].strip(), given["seconds"], given["when_silent"], given["name"])


@require_http_methods(["GET", "HEAD", "POST"])
def hooks(request: PanelRequest) -> HttpResponse:
    """List the publish hooks that the user is allowed to remove. A POST adds a hook and shows its secret once."""
    reader = governor(request)
    if preview := preview_of(request, HookForm, reader):
        return preview
    form = HookForm(request.POST or None, reader=reader)
    if form.is_valid():
        add = partial(form.place_rule, place_publish_hooks.add_hook, author=request.user, terms=form.terms)
        if (made := run_confirmed(request, _ABOUT_SECRET, add, form=form)) is not None:
            return _page_with_secret(request, made)
    context = {"entries": place_publish_hooks.hooks(request.user), "form": form, "tab": "hooks"}
    return render(request, "settings/hooks.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def hook_detail(request: PanelRequest, hook_id: int) -> HttpResponse:
    """Show a publish hook and its recent answers. A POST requires the password and changes the hook."""
    reader = governor(request)
    hook = place_publish_hooks.hook_for(request.user, hook_id)
    form = HookForm(request.POST or None, reader=reader, hook=hook)
    if form.is_valid():
        hook.version = form.cleaned_data["version"]  # the version that the page showed
        change = partial(
            form.place_rule, place_publish_hooks.change_hook, author=request.user, terms=form.terms, hook=hook
        )
        if run_confirmed(request, _about_change(hook), change, form=form) is not None:
            say_done(request, gettext("Hook saved. Changes apply from the next request."))
            return redirect("settings-hook", hook.pk)
    replies = place_publish_hooks.replies_of(hook)
    context = {"hook": hook, "form": form, "replies": replies, "summary": summary_of(replies)}
    return render(request, "settings/hook.html", context, status=422 if form.is_bound else 200)


@require_POST
def hook_test(request: PanelRequest, hook_id: int) -> HttpResponse:
    """Send an example publication to the publish hook and show the hook's answer."""
    governor(request)
    answer = place_publish_hooks.try_hook(hook_id=hook_id, author=request.user, clock=timezone.now)
    if answer.allow is None:
        messages.error(
            request,
            gettext("No valid response after {ms:,.0f} ms: {reason}").format(
                ms=answer.ms, reason=answer.fault or answer.reason
            ),
        )
    else:
        message = gettext("Hook response: {word}, after {ms:,.0f} ms.")
        if answer.reason:
            message = gettext("Hook response: {word}, after {ms:,.0f} ms. Reason: {reason}")
        say_done(request, message, word=gettext(answer.word), ms=answer.ms, reason=answer.reason)
    return redirect("settings-hook", hook_id)


@require_POST
def hook_rotate(request: PanelRequest, hook_id: int) -> HttpResponse:
    """Replace the publish hook's secret and show the new one once. The old secret stays valid for a day."""
    governor(request)
    ask(request, _ABOUT_SECRET)
    made = place_publish_hooks.rotate_secret(hook_id=hook_id, author=request.user, now=timezone.now())
    return _page_with_secret(request, made, rotated=True)


def _about_change(hook: PublishHook) -> Question:
    return Question(
        gettext("Edit publish hook"),
        gettext("The server at this URL can read every change before it’s published."),
        button=gettext("Save changes"),
        back=reverse("settings-hook", args=[hook.pk]),
        needs_password=True,
        only_password=True,
    )


def _about_lifting(hook: PublishHook) -> Question:
    effect = gettext("Publications in these zones will no longer need this hook’s approval.")
    return about_lifting(hook, gettext("Delete hook"), [effect], back="settings-hooks")


def _page_with_secret(request: PanelRequest, made: NewHook, *, rotated: bool = False) -> HttpResponse:
    page = render(request, "settings/hook_made.html", {"hook": made.hook, "secret": made.secret, "rotated": rotated})
    return show_once(request, page, after=reverse("settings-hook", args=[made.hook.pk]))


@require_POST
def hook_lift(request: PanelRequest, hook_id: int) -> HttpResponse:
    """Delete a publish hook after the user confirms."""
    return lift_rule(
        request,
        lambda: _about_lifting(place_publish_hooks.hook_for(request.user, hook_id)),
        partial(place_publish_hooks.lift_hook, hook_id=hook_id),
        gettext("Publish hook deleted."),
        back="settings-hooks",
    )
