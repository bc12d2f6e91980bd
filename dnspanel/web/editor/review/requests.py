"""Views of requests (drafts that wait for approval or a scheduled time): list, review, and actions on a request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.editor.review.alike_changes import title_of
from dnspanel.web.editor.review.review import changes_context
from dnspanel.web.editor.review.review_display import checks_of
from dnspanel.web.frame.forms import OwnClockField, PanelForm, id_in
from dnspanel.web.frame.layout import PanelRequest, actor_for, is_fragment, say_done
from dnspanel.web.templatetags.panel import moment
from dnspanel.zones.audit.audit_trail import rrset_changes
from dnspanel.zones.errors import (
    ApprovalNeeded,
    DraftRefused,
    Frozen,
    HookRefused,
    NothingToPublish,
    PublishRefused,
    RequestRefused,
)
from dnspanel.zones.models import Channel, PublishRequest, RequestState
from dnspanel.zones.requests import publish_requests, request_lists, request_status
from dnspanel.zones.rights import access
from dnspanel.zones.rules.violations import Severity
from dnspanel.zones.store.stored_changes import change_of

REQUESTS_PER_PAGE = 50
MOST_IN_TITLE = 1_000  # changes of a published request; with more, its name is the title
_REFUSALS = (RequestRefused, DraftRefused, ApprovalNeeded, Frozen, HookRefused, PublishRefused)


_BADGES = {
    "failed": ("bad", "error", gettext_lazy("scheduled publish failed")),
    request_status.ApprovalState.READY: ("ok", "check", gettext_lazy("ready to publish")),
    request_status.ApprovalState.PENDING: ("info", "clock", gettext_lazy("pending")),
    request_status.ApprovalState.APPROVED: ("ok", "check", gettext_lazy("approved")),
    RequestState.PUBLISHED: ("ok", "check", gettext_lazy("published")),
    RequestState.PAST_RULES: ("warn", "alert", gettext_lazy("rules bypassed")),
    RequestState.DECLINED: ("bad", "close", gettext_lazy("declined")),
    RequestState.WITHDRAWN: ("quiet", "undo", gettext_lazy("withdrawn")),
}


@dataclass(frozen=True, slots=True)
class DisplayRequest:
    """A request with its state as a badge. `approval` is None if the request has ended."""

    request: PublishRequest
    approval: request_status.ApprovalState | None

    @property
    def badge(self) -> tuple[str, str, str]:
        """The state's tone, icon and text."""
        state = (
            "failed" if self.approval and self.request.refusal else self.approval or RequestState(self.request.state)
        )
        return _BADGES.get(state, _BADGES[RequestState.WITHDRAWN])


class TimeForm(PanelForm):
    """The form for the time at which a request is published automatically."""

    publish_at = OwnClockField(label=gettext_lazy("Publish time"))


@require_safe
def request_list(request: PanelRequest) -> HttpResponse:
    """List requests that wait for the user, recent bypasses, and own requests. htmx fetches only more own requests."""
    access.require(request.user, Permission.READ)
    before = id_in(request.GET.get("before", ""))
    found = request_lists.requests_of(request.user, before=before, limit=REQUESTS_PER_PAGE + 1)
    listed = found[:REQUESTS_PER_PAGE]
    context: dict[str, object] = {
        "requests": _display_requests(listed),
        "next_query": f"before={listed[-1].pk}" if len(found) > len(listed) else "",
    }
    if is_fragment(request) and before is not None:
        return render(request, "editor/_request_rows.html", context)
    context["waiting"] = _display_requests(request_lists.waiting_for(request.user))
    since = timezone.now() - request_lists.PAST_RULES_LISTED
    context["past"] = _display_requests(request_lists.past_rules_lately(request.user, since=since))
    return render(request, "editor/requests.html", context)


def _display_requests(requests: Sequence[PublishRequest]) -> list[DisplayRequest]:
    reached = request_lists.approval_states(requests)
    return [DisplayRequest(each, reached.get(each.pk)) for each in requests]


@require_safe
def request_detail(request: PanelRequest, request_key: UUID) -> HttpResponse:
    """Show a request with its comments and, if it is open, its review and the changes since the user's approval."""
    access.require(request.user, Permission.READ)
    found = request_lists.request_for(request.user, request_key)
    notes = request_lists.notes_of(found)
    status = request_status.status_of(found, request.user) if found.is_open else None
    context: dict[str, object] = {
        "asked": found,
        "state": DisplayRequest(found, status.approval if status else None),
        "notes": notes,
        "longest": publish_requests.LONGEST_TEXT,
    }
    if found.publication_id is not None:
        rows = rrset_changes(actor_for(request), found.publication_id, MOST_IN_TITLE + 1)
        if len(rows) <= MOST_IN_TITLE:
            context["title"] = title_of([(row.revision.zone.name, change_of(row)) for row in rows])
    if status is not None:
        visible = set(access.zones_visible_to(request.user).filter(pk__in=found.zone_ids).values_list("pk", flat=True))
        plans = tuple(plan for plan in status.plans if plan.zone.pk in visible)
        context["title"] = title_of([(plan.zone.name, change) for plan in plans for change in plan.changes])
        own = status.own_approval
        moved = own is not None and own.is_stale
        only_moved = moved and request.GET.get("all") != "yes"
        if own is not None and only_moved:
            plans = request_status.moved_only(plans, own.moved)
        checks = checks_of(plans)
        errors = [check for check in checks if check.severity == Severity.ERROR]
        is_blocked = bool(errors or status.frozen or any(plan.conflicts for plan in plans))
        context |= {
            "status": status,
            "is_blocked": is_blocked,
            "publishes": status.completes and not is_blocked and found.publish_at is None,
            "stale": {each.note.pk for each in status.approvals if each.is_stale},
            "moved": moved,
            "only_moved": only_moved,
            "named": True,  # the page can't change the request's draft
            "review_url": reverse("draft-request", args=[found.key]),
            "errors": errors,
            "warnings": [check for check in checks if check.severity == Severity.WARNING],
            "conflicts": sum(len(plan.conflicts) for plan in plans),
            "may_go_past": request_status.may_go_past(request.user, status.plans),
            "freezes": status.frozen,
            "hidden": len(found.zone_ids) - len(visible),
            "time_form": TimeForm(initial={"publish_at": found.publish_at}),
            **changes_context(request, plans),
        }
    return render(request, "editor/request.html", context)


@require_POST
def request_act(request: PanelRequest, request_key: UUID, act: str) -> HttpResponse:
    """Perform one of `_ACTS` on the request, then redirect to a page that shows the result."""
    if act not in _ACTS:
        raise Http404
    access.require(request.user, Permission.READ if act in ("approve", "decline", "comment") else Permission.EDIT)
    found = request_lists.request_for(request.user, request_key)
    try:
        return _ACTS[act](request, found)
    except NothingToPublish:
        messages.info(request, gettext("No changes left to publish."))
    except _REFUSALS as exc:
        messages.error(request, gettext("{exc} Nothing was changed.").format(exc=exc))
    return _to(found)


def _approve(request: PanelRequest, found: PublishRequest) -> HttpResponse:
    publish_requests.approve(
        request=found,
        by=request.user,
        seen=request.POST.get("seen", ""),
        text=request.POST.get("text", ""),
        now=timezone.now(),
    )
    if request.POST.get("publish") != "yes":
        say_done(request, gettext("Request approved."))
        return _to(found)
    try:
        return _publish(request, found)
    except _REFUSALS as exc:
        messages.error(request, gettext("The request was approved, but not published: {exc}").format(exc=exc))
        return _to(found)


def _decline(request: PanelRequest, found: PublishRequest) -> HttpResponse:
    publish_requests.decline(request=found, by=request.user, text=request.POST.get("text", ""), now=timezone.now())
    say_done(request, gettext("Request declined."))
    return _to(found)


def _comment(request: PanelRequest, found: PublishRequest) -> HttpResponse:
    publish_requests.comment(request=found, by=request.user, text=request.POST.get("text", ""), now=timezone.now())
    return _to(found)


def _withdraw(request: PanelRequest, found: PublishRequest) -> HttpResponse:
    draft = found.draft
    publish_requests.withdraw(request=found, by=request.user, now=timezone.now())
    say_done(request, gettext("Request withdrawn. The draft is now in your saved drafts."))
    return _to(found) if draft is None else redirect("draft-detail", draft.key)


def _plan(request: PanelRequest, found: PublishRequest) -> HttpResponse:
    form = TimeForm(request.POST)
    if request.POST.get("when") != "never" and not form.is_valid():
        raise RequestRefused(gettext("Choose a publish time."))
    at = None if request.POST.get("when") == "never" else form.cleaned_data["publish_at"]
    publish_requests.publish_at_time(request=found, by=request.user, publish_at=at, now=timezone.now())
    say_done(
        request,
        gettext("The request will be published on {at}.").format(at=moment(at))
        if at
        else gettext("Schedule cancelled."),
    )
    return _to(found)


def _publish(request: PanelRequest, found: PublishRequest) -> HttpResponse:
    publication = publish_requests.publish_request(
        request=found, by=request.user, channel=Channel.WEB, now=timezone.now()
    )
    return redirect("publication", publication.sequence)


def _past(request: PanelRequest, found: PublishRequest) -> HttpResponse:
    reason = request.POST.get("text", "").strip()
    if not reason:
        raise RequestRefused(gettext("Enter a reason for bypassing the rules."))
    publication = publish_requests.publish_request(
        request=found, by=request.user, channel=Channel.WEB, now=timezone.now(), past_rules=reason[:500]
    )
    return redirect("publication", publication.sequence)


_ACTS: dict[str, Callable[[PanelRequest, PublishRequest], HttpResponse]] = {
    "approve": _approve,
    "decline": _decline,
    "comment": _comment,
    "withdraw": _withdraw,
    "plan": _plan,
    "publish": _publish,
    "past": _past,
}


def _to(found: PublishRequest) -> HttpResponse:
    return redirect("draft-request", found.key)
