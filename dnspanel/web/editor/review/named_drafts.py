"""Views of named drafts: the list, the review of one draft, and actions on a draft."""

from collections.abc import Callable
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import Team, User
from dnspanel.accounts.rights.known_people import people_known_to, teams_known_to
from dnspanel.accounts.texts.same_text import same_but_for_ascii_case
from dnspanel.texts import gettext, ngettext
from dnspanel.web.editor.review.review import publish_seen, review_page
from dnspanel.web.frame.forms import id_in
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, is_fragment, reporting, say_done
from dnspanel.web.frame.read_once import draft_counts_of
from dnspanel.zones.drafts import named_drafts
from dnspanel.zones.drafts.named_drafts import LONGEST_NAME, RECEIVER_UNKNOWN, NamedDraft
from dnspanel.zones.errors import DraftRefused, DraftUnknown
from dnspanel.zones.log.sequence_log import publication_of_form
from dnspanel.zones.rights import access

DRAFTS_PER_PAGE = 50


@require_safe
def draft_list(request: PanelRequest) -> HttpResponse:
    """List the user's own named drafts and the drafts shared with the user. htmx fetches only the next rows."""
    access.require(request.user, Permission.READ)
    before = id_in(request.GET.get("before", ""))
    found = named_drafts.named_draft_page(request.user, before=before, limit=DRAFTS_PER_PAGE + 1)
    listed = found[:DRAFTS_PER_PAGE]
    context: dict[str, object] = {
        "drafts": listed,
        "next_query": f"before={listed[-1].draft.pk}" if len(found) > len(listed) else "",
    }
    if is_fragment(request) and before is not None:
        return render(request, "editor/_named_draft_rows.html", context)
    if access.may_edit(request.user):
        counts = draft_counts_of(request)
        context |= {
            "in_hand": named_drafts.draft_in_hand(request.user),
            "changes_in_hand": sum(count.total for count in counts),
            "zones_in_hand": len(counts),
            "longest_name": LONGEST_NAME,
        }
    return render(request, "editor/named_drafts.html", context)


@require_POST
def draft_aside(request: PanelRequest) -> HttpResponse:
    """Save the user's current draft under its own name or, if it has none, under the name in the form."""
    access.require(request.user, Permission.EDIT)
    now, in_hand = timezone.now(), named_drafts.draft_in_hand(request.user)
    with reporting(request, DraftRefused, text=NOTHING_CHANGED):
        if in_hand is not None and in_hand.name:
            named = named_drafts.named_draft(request.user, in_hand.key)
            named_drafts.put_back(by=request.user, named=named, now=now)
            say_done(request, gettext("“{name}” saved. Your draft is now empty."), name=in_hand.name)
        else:
            made = named_drafts.put_aside(author=request.user, name=request.POST.get("name", ""), now=now)
            say_done(request, gettext("Your draft was saved as “{name}”."), name=made.name)
        return redirect("draft-list")
    return redirect("changes")


@require_http_methods(["GET", "HEAD", "POST"])
def draft_detail(request: PanelRequest, draft_key: UUID) -> HttpResponse:
    """Show a named draft's review. A POST publishes or schedules the shown changes, or requests approval.

    A repeated POST shows the publication of the first one.
    """
    access.require(request.user, Permission.EDIT if request.method == "POST" else Permission.READ)
    try:
        named = named_drafts.named_draft(request.user, draft_key)
    except DraftUnknown as exc:
        # A published draft no longer exists. If the same form is sent twice, show its publication.
        return redirect("publication", publication_of_form(_form_id(request), otherwise=exc).sequence)
    return publish_seen(request, None, of=named) if request.method == "POST" else review_page(request, None, of=named)


@require_POST
def draft_act(request: PanelRequest, draft_key: UUID, act: str) -> HttpResponse:
    """Perform one of `_ACTS` on the draft, then redirect to a page that shows the result."""
    access.require(request.user, Permission.EDIT)
    if act not in _ACTS:
        raise Http404
    named = named_drafts.named_draft(request.user, draft_key)
    with reporting(request, DraftRefused, text=NOTHING_CHANGED):
        return _ACTS[act](request, named)
    return redirect("draft-detail", draft_key)


def _take_up(request: PanelRequest, named: NamedDraft) -> HttpResponse:
    mine = request.POST.get("mine", "")
    named_drafts.take_up(
        author=request.user,
        named=named,
        now=timezone.now(),
        aside=request.POST.get("name", "") if mine == "aside" else "",
        merge=mine == "merge",
    )
    say_done(
        request, gettext("“{name}” is now your current draft. Your edits will be added to it."), name=named.draft.name
    )
    return redirect("changes")


def _put_back(request: PanelRequest, named: NamedDraft) -> HttpResponse:
    named_drafts.put_back(by=request.user, named=named, now=timezone.now())
    say_done(request, gettext("“{name}” saved with all changes."), name=named.draft.name)
    return redirect("draft-list")


def _rename(request: PanelRequest, named: NamedDraft) -> HttpResponse:
    named_drafts.rename(by=request.user, named=named, name=request.POST.get("name", ""), now=timezone.now())
    return _to(named)


def _share(request: PanelRequest, named: NamedDraft) -> HttpResponse:
    typed = request.POST.get("with", "").strip()
    to: User | Team | None = people_known_to(request.user).filter(username=typed).first()
    to = to or teams_known_to(request.user).filter(same_but_for_ascii_case("name", typed)).first()
    if to is None:
        raise DraftRefused(gettext(RECEIVER_UNKNOWN))
    may_edit = request.POST.get("may") == "edit"
    named_drafts.share(by=request.user, named=named, to=to, may_edit=may_edit, now=timezone.now())
    who = gettext("all members of {name}").format(name=to.name) if isinstance(to, Team) else to.username
    message = (
        gettext("Draft shared with {who} for editing. They can only see changes in zones they can access.")
        if may_edit
        else gettext("Draft shared with {who} for viewing. They can only see changes in zones they can access.")
    )
    say_done(request, message, who=who)
    return _to(named)


def _unshare(request: PanelRequest, named: NamedDraft) -> HttpResponse:
    share_id = id_in(request.POST.get("share", "")) or 0
    named_drafts.unshare(by=request.user, named=named, share_id=share_id, now=timezone.now())
    return _to(named)


def _link(request: PanelRequest, named: NamedDraft) -> HttpResponse:
    is_open = request.POST.get("open") == "yes"
    named_drafts.open_by_link(by=request.user, named=named, is_open=is_open, now=timezone.now())
    return _to(named)


def _discard(request: PanelRequest, named: NamedDraft) -> HttpResponse:
    lost = named_drafts.discard_named(by=request.user, named=named, now=timezone.now())
    say_done(
        request,
        ngettext("“{name}” discarded with {lost:,} change.", "“{name}” discarded with {lost:,} changes.", lost),
        name=named.draft.name,
        lost=lost,
    )
    return redirect("draft-list")


_ACTS: dict[str, Callable[[PanelRequest, NamedDraft], HttpResponse]] = {
    "take-up": _take_up,
    "put-back": _put_back,
    "rename": _rename,
    "share": _share,
    "unshare": _unshare,
    "link": _link,
    "discard": _discard,
}


def _to(named: NamedDraft) -> HttpResponse:
    return redirect("draft-detail", named.draft.key)


def _form_id(request: PanelRequest) -> UUID | None:
    try:
        return UUID(request.POST.get("form_id", ""))
    except ValueError:
        return None
