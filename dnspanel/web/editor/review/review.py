"""Views that review and publish a draft: its diff, rule violations, conflicts, and the effect on caches."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quotas import Usage
from dnspanel.texts import gettext, ngettext
from dnspanel.web.editor.lines.rrset_form import RRsetForm
from dnspanel.web.editor.review.alike_changes import fold_alike
from dnspanel.web.editor.review.named_draft_context import named_draft_context
from dnspanel.web.editor.review.review_chains import chains_after
from dnspanel.web.editor.review.review_display import DisplayPlan, checks_of, displayed_plans, effect_of, page_of
from dnspanel.web.editor.review.review_form import PublishForm
from dnspanel.web.editor.zone_head import zone_head
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, is_in_drawer, open_page, reporting, say_done
from dnspanel.web.frame.near_quotas import near_quotas
from dnspanel.zones import errors
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.drafts.discarded import discard, discarded_by, take_back
from dnspanel.zones.drafts.named_drafts import NamedDraft, draft_in_hand, named_draft, request_of
from dnspanel.zones.governance.publish_guards import freezes_now
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.plan.plan import ZonePlan
from dnspanel.zones.plan.zone_quotas import rrset_limit
from dnspanel.zones.publishing import revision
from dnspanel.zones.requests import publish_requests, request_status
from dnspanel.zones.rights import access
from dnspanel.zones.rules.violations import Severity


@require_http_methods(["GET", "HEAD", "POST"])
def zone_review(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the draft's changes to one zone. A POST publishes or schedules them, or requests approval."""
    zone = access.zone_for_editing(request.user, zone_name)
    return publish_seen(request, zone) if request.method == "POST" else review_page(request, zone)


@require_http_methods(["GET", "HEAD", "POST"])
def draft_review(request: PanelRequest) -> HttpResponse:
    """Show the draft's changes to all zones. A POST publishes or schedules them together, or requests approval."""
    access.require(request.user, Permission.EDIT)
    return publish_seen(request, None) if request.method == "POST" else review_page(request, None)


class _NotAsSeen(Exception):
    """Raised if the draft changed since the page was shown, or if a field is invalid."""

    def __init__(self, form: PublishForm, plans: Sequence[ZonePlan]) -> None:
        super().__init__()
        self.form, self.plans = form, plans


def publish_seen(request: PanelRequest, zone: Zone | None, *, of: NamedDraft | None = None) -> HttpResponse:
    """Publish the changes that the page showed, or schedule them or request approval (`act`).

    If the changes now differ or are refused, show the review with the input. `of` is the named draft to publish, or
    None for the person's current draft.
    """

    def consenting(plans: Sequence[ZonePlan]) -> revision.Consent:
        form = _form_of_seen(request, plans, of)
        return revision.Consent(
            reason=form.cleaned_data["reason"],
            accept_warnings=form.accepted_warnings,
            confirmed=form.is_confirmed,
            past_rules=form.act == "past",
        )

    form_id = _form_id(request)
    try:
        if form_id is None or PublishForm(request.POST, plans=()).act in ("ask", "plan"):
            plans = revision.preview(author=request.user, zones=None if zone is None else [zone], of=of)
            zones = [plan.zone for plan in plans] if zone is None else [zone]  # only the zones that the person saw
            return _ask(request, zone, of, _form_of_seen(request, plans, of), zones)
        zones = revision.drafted_zones(author=request.user, of=of) if zone is None else [zone]
        publication = revision.publish(
            acting=Acting(request.user, Channel.WEB, timezone.now(), form_id=form_id),
            zones=zones,
            of=of,
            consent=consenting,
        )
    except _NotAsSeen as exc:
        return review_page(request, zone, of=of, form=exc.form, plans=exc.plans, status=422)
    except errors.NothingToPublish:
        messages.info(request, gettext("No changes left to publish."))
        return review_page(request, zone, of=of)
    except errors.Conflicts:
        return review_page(request, zone, of=of, form=PublishForm(request.POST, plans=()), status=409)
    except (
        errors.RuleViolations,
        errors.GuardHolds,
        errors.QuotaExceeded,
        errors.DraftRefused,
        errors.RequestRefused,
        errors.ApprovalNeeded,
        errors.Frozen,
        errors.HookRefused,
    ) as exc:
        form = PublishForm(request.POST, plans=revision.preview(author=request.user, zones=zones, of=of))
        form.refuse(None, str(exc))
        return review_page(request, zone, of=of, form=form, status=422)
    return redirect("publication", publication.sequence)


def _form_id(request: PanelRequest) -> UUID | None:
    """Return the form's id, or None if it is invalid, so that the form then rejects the request."""
    try:
        return UUID(request.POST.get("form_id", ""))
    except ValueError:
        return None


def _form_of_seen(request: PanelRequest, plans: Sequence[ZonePlan], of: NamedDraft | None) -> PublishForm:
    """Return the valid form. Raise _NotAsSeen if it is invalid or if the plans differ from those on the page."""
    by_name = sorted(plans, key=lambda plan: plan.zone.name)
    form = PublishForm(request.POST, plans=by_name)
    if plans and request.POST.get("seen") != fingerprint(plans):
        form.refuse(
            None,
            gettext("Your draft has changed since this page was loaded. Review it again before you publish it.")
            if of is None
            else gettext("The draft has changed since this page was loaded. Review it again before you publish it."),
        )
    if not form.is_valid():
        raise _NotAsSeen(form, by_name)
    return form


def _ask(
    request: PanelRequest, zone: Zone | None, of: NamedDraft | None, form: PublishForm, zones: Sequence[Zone]
) -> HttpResponse:
    """Request approval of the changes that the page showed, or schedule them. Then open the request's page."""
    in_hand = draft_in_hand(request.user) if of is None and zone is None else None
    if in_hand is not None and in_hand.name:
        of = named_draft(request.user, in_hand.key)
    now = timezone.now()
    made = publish_requests.ask(
        author=request.user,
        name=form.cleaned_data["name"] or f"{request.user.username}, {timezone.localtime(now):%Y-%m-%d %H:%M:%S}",
        named=of,
        zones=zones,
        terms=publish_requests.Terms(
            form.cleaned_data["reason"],
            accepted=form.accepted_warnings,
            confirmed=form.is_confirmed,
            publish_at=form.cleaned_data["publish_at"],
        ),
        now=now,
    )
    return open_page(request, reverse("draft-request", args=[made.key]))


def review_page(  # noqa: PLR0913  # the parts of a page
    request: PanelRequest,
    zone: Zone | None,
    *,
    of: NamedDraft | None = None,
    form: PublishForm | None = None,
    plans: Sequence[ZonePlan] | None = None,
    resolving: RRsetForm | None = None,
    resolving_id: int = 0,
    status: int = 200,
) -> HttpResponse:
    if plans is None:
        plans = revision.preview(author=request.user, zones=None if zone is None else [zone], of=of)
    checks = checks_of(plans)
    changes = changes_context(request, plans, resolving, resolving_id)
    display = changes["plans"]
    rules = request_status.rules_for(plans, request.user, displayed=zone)
    conflicts = sum(len(plan.conflicts) for plan in plans)
    in_drawer = is_in_drawer(request)
    context: dict[str, Any] = {
        "in_drawer": in_drawer,
        "review_url": _url(zone, of),
        "zone": zone,
        "named": of,  # this page can only show and publish a named draft, not change it
        **changes,
        "asks": [rule for rule in rules.approval if rule.needed],
        "tickets": [rule for rule in rules.approval if rule.ticket],
        "freezes": freezes_now(rules, timezone.now()),
        "may_go_past": bool(rules) and request_status.may_go_past(request.user, plans),
        "request_of": request_of(of.draft) if of is not None else None,
        "next_revision": plans[0].zone.revision + 1 if plans else 0,
        "form": form or PublishForm(initial=_initial(request), plans=plans),
        "seen": fingerprint(plans),
        "errors": [check for check in checks if check.severity == Severity.ERROR],
        "warnings": [check for check in checks if check.severity == Severity.WARNING],
        "notes": [check for check in checks if check.severity == Severity.NOTE],
        "conflicts": conflicts,
        "conflicts_are_own": _all_are_by(request.user, display),
        "effect": effect_of(plans, timezone.now()),
        "near_quotas": [
            *(near_quotas(request.user, Kind.OPERATIONS) if of is None else ()),
            *_nearly_full(request.user, plans),
        ],
        "blocked": bool(conflicts or any(plan.errors for plan in plans)),
    }
    if in_drawer:
        return render(request, "editor/_drawer_review.html", context, status=status)
    if zone is not None:
        context["head"] = zone_head(request, zone, "review", rules if plans else None)
    if of is not None:
        context |= named_draft_context(request, of)
    elif zone is None:
        context["in_hand"] = draft_in_hand(request.user)
        context["discarded"] = discarded_by(request.user, now=timezone.now())
    return render(request, _template(zone, of), context, status=status)


def changes_context(
    request: PanelRequest, plans: Sequence[ZonePlan], resolving: RRsetForm | None = None, resolving_id: int = 0
) -> dict[str, Any]:
    """Return the template context of the change list: one page of the plans, as records, text or an API call.

    `resolving` is a rejected form for the conflict with the id `resolving_id`.
    """
    view = request.GET.get("as")
    page = page_of(request.GET.get("page", ""), sum(len(plan.changes) + len(plan.already_so) for plan in plans))
    displayed = list(displayed_plans(plans, page, resolving, resolving_id, as_call=view == "call"))
    return {
        "plans": displayed,
        "folds": [fold for fold in fold_alike(plans, displayed) if fold.diffs] if view not in ("call", "text") else [],
        "zones": len(plans),
        "page": page,
        "chains": chains_after(plans, request.user) if page.number == 1 else [],
        "merges": sum(len(plan.changes) for plan in plans),
        "as_text": view == "text",
        "as_call": view == "call",
        "has_call": True,
    }


def _url(zone: Zone | None, of: NamedDraft | None) -> str:
    if of is not None:
        return reverse("draft-detail", args=[of.draft.key])
    return reverse("zone-review", args=[zone.name]) if zone else reverse("changes")


def _template(zone: Zone | None, of: NamedDraft | None) -> str:
    if of is not None:
        return "editor/named_draft.html"
    return "editor/review.html" if zone else "editor/changes.html"


def _initial(request: PanelRequest) -> dict[str, object]:
    """Return the form's initial values. The URL can suggest a reason; views that revert revisions use this."""
    return {"form_id": uuid4(), "reason": request.GET.get("reason", "")[:500]}


def _all_are_by(person: User, display: Sequence[DisplayPlan]) -> bool:
    """Return True if there are conflicts, and this person or their token published the other side of each conflict."""
    found = [conflict.is_by(person.username) for plan in display for conflict in plan.conflicts]
    return bool(found) and all(found)


def _nearly_full(author: User, plans: Sequence[ZonePlan]) -> list[str]:
    """Return a message for each growing zone that will be close to its RRset quota."""
    found = []
    for plan in plans:
        if plan.added > plan.removed:
            limit = rrset_limit(author, plan.zone.team)
            usage = Usage(Kind.RRSETS, limit, plan.zone.rrset_count + plan.added - plan.removed)
            if usage.is_near:
                found.append(
                    gettext("After publishing, {name} will have {message}").format(
                        name=plan.zone.name, message=usage.message
                    )
                )
    return found


def fingerprint(plans: Sequence[ZonePlan]) -> str:
    """Return a digest of the draft's changes, independent of merged revisions and the order of zones."""
    content = [
        [plan.zone.pk, change.name, change.type, change.after.to_json() if change.after else None]
        for plan in sorted(plans, key=lambda plan: plan.zone.pk)
        for change in plan.changes
    ]
    return hashlib.blake2s(json.dumps(content).encode(), digest_size=12).hexdigest()


# Conflicts, and the draft as a whole


@require_POST
def conflict_resolve(request: PanelRequest, operation_id: int) -> HttpResponse:
    """Resolve a conflict with the published, drafted, combined or typed values, then open `next` or the review."""
    zone = access.zone_for_editing(request.user, request.POST.get("zone", ""))
    choice = request.POST.get("choice", "")
    now = timezone.now()
    form = None
    if choice == "edit":
        form = RRsetForm(request.POST, zone_name=zone.name, default_ttl=3600)
        if not form.is_valid() or form.rrset is None:
            return review_page(request, zone, resolving=form, resolving_id=operation_id, status=422)
    with reporting(request, errors.CannotResolve):
        draft.resolve(author=request.user, operation_id=operation_id, choice=_choice(choice), now=now)
    if form is not None and form.rrset is not None:
        draft.replace_rrset(author=request.user, zone=zone, rrset=form.rrset, now=now)
    return redirect(_next(request, zone))


def _choice(text: str) -> draft.Choice:
    """Return the chosen side of the conflict. Typed values count as "mine"."""
    if text == "theirs":
        return "theirs"
    return "both" if text == "both" else "mine"


def _next(request: PanelRequest, zone: Zone) -> str:
    next_page = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(next_page, allowed_hosts=None) and next_page.startswith("/")
    return next_page if safe else reverse("zone-review", args=[zone.name])


@require_POST
def draft_discard(request: PanelRequest) -> HttpResponse:
    """Discard the draft's changes to all zones."""
    access.require(request.user, Permission.EDIT)
    count = discard(author=request.user, now=timezone.now())
    say_done(request, ngettext("{count} change discarded.", "{count} changes discarded.", count), count=count)
    return redirect("changes")


@require_POST
def draft_take_back(request: PanelRequest, draft_id: int) -> HttpResponse:
    """Restore discarded changes to the draft."""
    access.require(request.user, Permission.EDIT)
    with reporting(request, errors.DraftRefused, text=NOTHING_CHANGED):
        count = take_back(author=request.user, draft_id=draft_id, now=timezone.now())
        say_done(
            request,
            ngettext("{count} change restored to your draft.", "{count} changes restored to your draft.", count),
            count=count,
        )
    return redirect("changes")
