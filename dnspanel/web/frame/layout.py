"""The frame around every page: the navigation, the pills in the header, messages, and htmx events in responses."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from dnspanel.accounts.actors.actors import Actor, Permission, actor_of, can
from dnspanel.accounts.models import Role, SignInProvider, User
from dnspanel.accounts.providers.rows import providers_with_buttons
from dnspanel.accounts.sessions.session_store import MUST_SET_UP
from dnspanel.accounts.sign_in.passkeys import are_possible
from dnspanel.alerts.queries import AlertSummary, alert_summary
from dnspanel.fleet.reads.summary import FleetSummary, fleet_summary
from dnspanel.languages import LANGUAGES
from dnspanel.texts import gettext_lazy
from dnspanel.web.frame.read_once import draft_counts_of, statuses_of
from dnspanel.web.script_texts import script_texts
from dnspanel.zones.log.publish_hold import Hold, current_hold
from dnspanel.zones.rights import access
from replication import __version__

NOTHING_CHANGED = gettext_lazy("{exc} Nothing was changed.")


class PanelRequest(HttpRequest):
    """A request from a signed-in user, which `SignedInMiddleware` guarantees."""

    user: User
    htmx: HtmxDetails


def actor_for(request: PanelRequest) -> Actor:
    """Return the actor of the signed-in user."""
    actor = actor_of(request.user)
    assert actor is not None  # the middleware requires a signed-in person
    return actor


@dataclass(frozen=True, slots=True)
class NavEntry:
    """One entry of the navigation. Pressing `g` and then `key` opens it."""

    text: str
    icon: str
    url: str
    key: str
    current: bool
    # True if a phone shows the entry in the menu behind the last of five entries.
    is_behind: bool


@dataclass(frozen=True, slots=True)
class DraftSummary:
    """The counts that the draft pill shows."""

    changes: int
    zones: int


# Text, icon, view, key, permission that it requires (None: no permission), and the first word of the views it contains.
_NAV: tuple[tuple[str, str, str, str, Permission | None, set[str]], ...] = (
    (gettext_lazy("Home"), "home", "home", "h", None, {"home"}),
    (gettext_lazy("Zones"), "zones", "zone-list", "z", None, {"zone", "template", "server"}),
    (gettext_lazy("Changes"), "changes", "changes", "c", Permission.READ, {"changes", "publication", "draft"}),
    (gettext_lazy("Imports"), "import", "import-list", "i", Permission.EDIT, {"import", "cutover"}),
    (gettext_lazy("Nodes"), "nodes", "node-list", "n", Permission.FLEET, {"node", "alert", "secondary", "catalog"}),
    (gettext_lazy("People"), "people", "people", "p", Permission.PEOPLE, {"people", "person", "team", "grant"}),
    (gettext_lazy("Access"), "key", "token-list", "t", None, {"token", "webhook", "docs"}),
    (gettext_lazy("Audit log"), "eye", "audit-log", "a", None, {"audit"}),
)
_MOST_ON_A_PHONE = 5
_BEHIND = {"import-list", "people", "token-list", "audit-log"}


class Frame:
    """The contents of `base.html`. Each part is computed only when a template uses it."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        # A person who must set up a second factor first gets the frame of an anonymous visitor.
        is_locked = bool(getattr(request, "session", {}).get(MUST_SET_UP))
        self._user = AnonymousUser() if is_locked else request.user

    @property
    def languages(self) -> tuple[tuple[str, str], ...]:
        """The available languages of pages, as (code, name in that language)."""
        return LANGUAGES

    @cached_property
    def script_texts(self) -> dict[str, str]:
        """Translations for scripts, keyed by the English text. Empty for English."""
        return script_texts()

    @cached_property
    def nav(self) -> tuple[NavEntry, ...]:
        if not self._user.is_authenticated:
            return ()
        match = self._request.resolver_match
        here = (match.view_name or "").partition("-")[0] if match else ""
        entries = [entry for entry in _NAV if entry[4] is None or can(self._user, entry[4])]
        behind = _BEHIND if len(entries) > _MOST_ON_A_PHONE else set()
        return tuple(
            NavEntry(text, icon, reverse(self._reachable(view)), key, here in groups, view in behind)
            for text, icon, view, key, _, groups in entries
        )

    @property
    def nav_behind(self) -> list[NavEntry]:
        """The navigation entries that are in a menu on a phone."""
        return [entry for entry in self.nav if entry.is_behind]

    def _reachable(self, view: str) -> str:
        """Return the view's name, or `publication-list` instead of `changes` for users who can't have a draft."""
        has_draft = view != "changes" or can(self._user, Permission.EDIT)
        return view if has_draft else "publication-list"

    @cached_property
    def draft(self) -> DraftSummary | None:
        """The counts of the user's draft, or None if the user isn't allowed to edit."""
        return _draft(self._request) if can(self._user, Permission.EDIT) else None

    @cached_property
    def fleet(self) -> FleetSummary | None:
        """The state of the fleet, or None if the user isn't allowed to see nodes."""
        may_see = can(self._user, Permission.FLEET)
        return fleet_summary(statuses=statuses_of(self._request)) if may_see else None

    @cached_property
    def alerts(self) -> AlertSummary | None:
        """The open alerts, or None if the user isn't allowed to see nodes."""
        return alert_summary(self._user, now=timezone.now()) if can(self._user, Permission.FLEET) else None

    @cached_property
    def providers(self) -> Sequence[SignInProvider]:
        """The sign-in providers that have a button on the sign-in page."""
        return providers_with_buttons()

    @property
    def demo(self) -> tuple[str, list[User]] | None:
        """The password of the demo's people and these people, one for each role. None outside the demo."""
        found = User.objects.filter(is_active=True, username__in=[f"demo-{role}" for role in Role]).order_by("pk")
        return (settings.DEMO_PASSWORD, list(found)) if settings.DEMO_PASSWORD else None

    @cached_property
    def hold(self) -> Hold | None:
        """The hold on publishing, or None if publishing isn't on hold or the visitor isn't signed in."""
        return current_hold() if self._user.is_authenticated else None

    @property
    def version(self) -> str:
        return __version__

    @property
    def sends_mail(self) -> bool:
        """True if a mail server is configured."""
        return bool(settings.EMAIL_HOST)

    @property
    def has_passkeys(self) -> bool:
        """True if browsers allow passkeys at the panel's URL."""
        return are_possible()

    @cached_property
    def may(self) -> dict[str, bool]:
        """Permissions by name, such as `frame.may.edit`. `create` is True if the user can create zones in any team."""
        may = {permission.name.lower(): can(self._user, permission) for permission in Permission}
        return may | {"create": access.may_create_zones(self._user)}


def frame(request: HttpRequest) -> dict[str, object]:
    """Return the template context with `frame`."""
    return {"frame": Frame(request)}


def _draft(request: HttpRequest) -> DraftSummary:
    counts = draft_counts_of(request)
    return DraftSummary(changes=sum(zone.total for zone in counts), zones=len(counts))


@require_safe
def draft_pill(request: PanelRequest) -> HttpResponse:
    """Render only the draft pill, which reloads itself after the event `draft-changed`."""
    return render(request, "editor/_draft_pill.html", {"summary": Frame(request).draft})


@require_safe
def fleet_pill(request: PanelRequest) -> HttpResponse:
    """Render only the fleet pill. Return 204 if the page already shows the same message (`seen`)."""
    access.require(request.user, Permission.FLEET)
    summary = fleet_summary()
    if request.GET.get("seen") == summary.message:
        return HttpResponse(status=204)
    return render(request, "fleet/_pill.html", {"fleet": summary})


def is_fragment(request: PanelRequest) -> bool:
    """Return True if htmx requests only part of a page. A page restored from the history is a whole page."""
    return bool(request.htmx) and not request.htmx.boosted and not request.htmx.history_restore_request


def open_page(request: PanelRequest, to: str) -> HttpResponse:
    """Redirect to a page. htmx then loads the page as a whole, and not into the part that it requested."""
    return HttpResponseClientRedirect(to) if is_fragment(request) else redirect(to)


def is_in_drawer(request: PanelRequest) -> bool:
    """Return True if htmx requests a fragment for the drawer over the editor, either directly or after a redirect."""
    return is_fragment(request) and (request.htmx.target == "drawer-body" or request.GET.get("drawer") == "1")


def say(
    response: HttpResponse,
    *,
    toast: str = "",
    kind: str = "ok",
    speak: str = "",
    focus: str = "",
    draft_changed: bool = False,
) -> HttpResponse:
    """Add htmx events for `panel.js`: toast (`kind`: ok, warn or bad), announcement, focus, and update of the draft."""
    events: dict[str, object] = json.loads(response.get("HX-Trigger", "{}"))
    if toast:
        events["toast"] = {"kind": kind, "text": toast}
    if speak:
        events["speak"] = speak
    if focus:
        events["focus-on"] = focus
    if draft_changed:
        events["draft-changed"] = ""
    response["HX-Trigger"] = json.dumps(events)
    return response


def no_store(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Prevent caching of the view's response, which shows a secret. Used as a decorator."""

    def with_no_store(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response

    return with_no_store


class RefusalBlock:
    """A context manager that passes exceptions of these kinds to a function instead of raising them."""

    def __init__(self, report: Callable[[Exception], object], kinds: tuple[type[Exception], ...]) -> None:
        self._report, self._kinds = report, kinds

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(exc, self._kinds):
            return False
        self._report(exc)
        return True


def reporting(
    request: HttpRequest, *kinds: type[Exception], text: str = "{exc}", level: int = messages.ERROR
) -> RefusalBlock:
    """Return a context manager that shows exceptions of these kinds as messages. `{exc}` in `text` is the exception."""
    return RefusalBlock(lambda exc: messages.add_message(request, level, text.format(exc=exc)), kinds)


def say_done(request: HttpRequest, text: str, **values: object) -> None:
    """Show a message that an action succeeded. `values` replace the placeholders in `text`."""
    messages.success(request, text.format(**values) if values else text)
