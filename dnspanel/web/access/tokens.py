"""Views of API tokens and TSIG keys: list, create, show once, rotate, revoke."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Actor, Grant, Permission, can
from dnspanel.accounts.audit.audit_log import entries_about_token
from dnspanel.accounts.errors import NotYours, TokenDead, TokenRefused
from dnspanel.accounts.models import Token, TokenKind, User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.tokens import token_terms
from dnspanel.accounts.tokens import tokens as verbs
from dnspanel.accounts.tokens.presets import Preset
from dnspanel.accounts.tokens.snippets import Place, Snippet, snippets_for
from dnspanel.texts import gettext, gettext_lazy, joined
from dnspanel.web.access.describe_grant import GrantDescriber, GrantDescription, describer_for
from dnspanel.web.access.token_forms import OFFERS, TokenForm, closest_zone
from dnspanel.web.access.tsig_snippets import tsig_snippets
from dnspanel.web.frame.confirm import Question, ask, run_confirmed
from dnspanel.web.frame.forms import id_in
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, actor_for, reporting, say_done
from dnspanel.web.frame.near_quotas import near_quotas
from dnspanel.web.frame.one_time_page import show_once
from dnspanel.web.templatetags.panel import moment, spoken_age
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access

SOON = timedelta(days=14)
MOST_LISTED = 500
_OVERLAPS = {
    "0": gettext_lazy("immediately"),
    "1": gettext_lazy("in 1 day"),
    "7": gettext_lazy("in 7 days"),
    "30": gettext_lazy("in 30 days"),
}


@dataclass(frozen=True, slots=True)
class State:
    """A token's state: a word with its color and icon, and the reason."""

    word: str
    tone: str
    icon: str
    reason: str = ""

    @property
    def is_alive(self) -> bool:
        return self.tone not in {"bad", "quiet"}


@dataclass(frozen=True, slots=True)
class DisplayToken:
    """A token with its state and the descriptions of its grants, for display in a list."""

    token: Token
    state: State
    grants: tuple[GrantDescription, ...]


@require_safe
def token_list(request: PanelRequest) -> HttpResponse:
    """List the user's own tokens. `dead=yes` includes tokens that no longer work.

    `whose=all` lists everyone's tokens, for users with the permission `people`.
    """
    actor = actor_for(request)
    everybodys = request.GET.get("whose") == "all" and can(actor, Permission.PEOPLE)
    found = verbs.tokens_visible_to(actor).select_related("owner", "rotated_to").order_by("-pk")
    if not everybodys:
        found = found.filter(owner=actor.user)
    now, listed = timezone.now(), list(found[:MOST_LISTED])
    display = display_tokens(actor, listed, now)
    with_dead = request.GET.get("dead") == "yes"
    alive = [each for each in display if each.state.is_alive]
    context = {
        "tokens": display if with_dead else alive,
        "dead": len(display) - len(alive),
        "with_dead": with_dead,
        "everybodys": everybodys,
        "may_see_all": can(actor, Permission.PEOPLE),
        "offers": OFFERS,
        "limit": MOST_LISTED if len(listed) == MOST_LISTED else 0,
    }
    return render(request, "access/tokens.html", context)


@sensitive_post_parameters("key_secret", "password")
@require_http_methods(["GET", "HEAD", "POST"])
def token_new(request: PanelRequest, preset: str) -> HttpResponse:
    """Show the form for a token of this preset. A POST creates the token and shows its secret once.

    A TSIG key or a token with broad access requires the user's password.
    """
    offer = next((each for each in OFFERS if each.preset.value == preset), None)
    if offer is None:
        raise Http404
    begun = {"zone": request.GET.get("zone", "")[:1100], "zones": request.GET.get("zone", "")[:1100]}
    owner = _owner(request)
    form = offer.form(request.POST or None, person=request.user, initial={k: v for k, v in begun.items() if v})
    if form.is_valid():
        now = timezone.now()
        create = partial(_create_token, request, owner, form, now)
        question = _about_powers(form.terms(now), is_key=form.makes_key)
        if (made := run_confirmed(request, question, create, form=form)) is not None:
            return _page_with_secret(request, made, form=form)
    near = near_quotas(owner, Kind.TOKENS)
    context = {"offers": OFFERS, "offer": offer, "form": form, "near_quotas": near, "owner": owner}
    context["of_owner"] = "" if owner == request.user else f"?owner={owner.pk}"
    return render(request, "access/token_new.html", context, status=422 if form.is_bound else 200)


def _owner(request: PanelRequest) -> User:
    """Return the owner of a new token: the signed-in user, or the service account in the URL."""
    if "owner" not in request.GET:
        return request.user
    access.require(request.user, Permission.PEOPLE)
    return get_object_or_404(User, pk=id_in(request.GET["owner"]), is_service=True, is_active=True)


def _create_token(request: PanelRequest, owner: User, form: TokenForm, now: datetime) -> verbs.NewToken | None:
    """Create the token or TSIG key. If it is refused, add the errors to the form and return None."""
    actor, cleaned = actor_for(request), form.cleaned_data
    with form.catching(TokenRefused):
        if not form.makes_key:
            return verbs.create_token(owner=owner, terms=form.terms(now), by=actor, now=now)
        return verbs.create_tsig_key(
            owner=owner,
            name=cleaned["key_name"],
            terms=form.terms(now),
            by=actor,
            now=now,
            algorithm=cleaned["algorithm"] or "hmac-sha256",
            secret=cleaned["key_secret"].strip(),
        )
    return None


def _page_with_secret(
    request: PanelRequest, made: verbs.NewToken, *, form: TokenForm | None = None, old: Token | None = None
) -> HttpResponse:
    """Return the page that shows the token's secret once. `old` is the token that it replaces, if any."""
    preset = form.preset if form else Preset.CUSTOM
    zone, name = _place_of(form) if form else ("", "")
    context = {"token": made.token, "secret": made.secret, "snippets": _snippets(made, preset, zone, name), "old": old}
    page = render(request, "access/token_made.html", context)
    return show_once(request, page, after=reverse("token-detail", args=[made.token.pk]))


def _about_powers(terms: token_terms.TokenTerms, *, is_key: bool) -> Question | None:
    """Return the password question for a new TSIG key or a token with broad access, or None for any other token."""
    powers = [gettext(power.value) for power in (Permission.PEOPLE, Permission.NODES) if power in terms.permissions]
    if any(grant.everywhere and not grant.is_limited and grant.rights >= EVERY_RIGHT for grant in terms.scope):
        powers.insert(0, gettext("do everything in all zones"))
    if not (powers or is_key):
        return None
    may = gettext(" The token is allowed to: {list}.").format(list=joined("; ", powers)) if powers else ""
    return Question(
        gettext("Create TSIG key") if is_key else gettext("Create token with broad access"),
        gettext("Anyone with the secret can act as you without your password.{may}").format(may=may),
        button=gettext("Create"),
        back=reverse("token-list"),
        needs_password=True,
        only_password=True,
        is_dangerous=False,
    )


def _snippets(made: verbs.NewToken, preset: Preset, zone: str, name: str) -> tuple[Snippet, ...]:
    if made.token.kind == TokenKind.TSIG:
        return tsig_snippets(
            preset=preset,
            key_name=str(made.token.tsig_name),
            algorithm=made.token.tsig_algorithm,
            secret=made.secret,
            server=urlsplit(settings.PANEL_URL).hostname or "localhost",
            port=settings.UPDATE_PORT,
            zone=zone,
            name=name,
        )
    return snippets_for(preset, Place(settings.PANEL_URL, made.secret, zone, name))


def _place_of(form: TokenForm) -> tuple[str, str]:
    """Return the zone and name that the new token is for, or empty strings."""
    zone: Zone | str | None = form.cleaned_data.get("zone")
    name = form.cleaned_data.get("name") or ""
    found = closest_zone(form.person, name) if name else zone
    return (found.name if isinstance(found, Zone) else ""), name


@require_safe
def token_detail(request: PanelRequest, token_id: int) -> HttpResponse:
    """Show a token: its rights, recent uses, and history."""
    actor, now = actor_for(request), timezone.now()
    token = verbs.token_for(actor, token_id)
    predecessor = Token.objects.filter(rotated_to=token).first()
    context = {
        "display": display_tokens(actor, [token], now)[0],
        "token": token,
        "per_minute": token_terms.requests_per_minute(token),
        "predecessor": predecessor,
        "entries": entries_about_token(token),
        "overlaps": _OVERLAPS,
        "may_rotate": token.kind == TokenKind.API and token.rotated_to_id is None and token.owner_id == actor.user.pk,
    }
    return render(request, "access/token.html", context)


@require_POST
def token_rotate(request: PanelRequest, token_id: int) -> HttpResponse:
    """Create a successor to the token and show its secret once. The old token works until the overlap ends."""
    actor = actor_for(request)
    token = verbs.token_for(actor, token_id)
    days = request.POST.get("overlap", "1")
    if days not in _OVERLAPS:
        raise Http404
    rotate = partial(verbs.rotate_token, token=token, by=actor, now=timezone.now(), overlap=timedelta(days=int(days)))
    with reporting(request, NotYours, TokenDead, TokenRefused, text=NOTHING_CHANGED):
        made = run_confirmed(request, _about_powers(_terms_of(token), is_key=False), rotate)
        return _page_with_secret(request, made, old=verbs.token_for(actor, token.pk))
    return redirect("token-detail", token.pk)


@require_POST
def token_revoke(request: PanelRequest, token_id: int) -> HttpResponse:
    """Revoke the token, its later rotations and the tokens created with them, after a confirmation."""
    actor = actor_for(request)
    token = verbs.token_for(actor, token_id)
    ask(request, _about_revoking(token, timezone.now()))
    verbs.revoke_token(token=token, by=actor, now=timezone.now())
    say_done(request, gettext("{purpose} revoked."), purpose=token.purpose)
    return redirect("token-list")


def _terms_of(token: Token) -> token_terms.TokenTerms:
    """Return the token's purpose, scope and permissions as `TokenTerms`."""
    scope = tuple(map(Grant.from_json, token.scope))
    return token_terms.TokenTerms(token.purpose, scope, frozenset(map(Permission, token.permissions)))


def _about_revoking(token: Token, now: datetime) -> Question:
    used, others = gettext("The token has never been used."), verbs.ending_with(token)
    if token.last_used_at is not None:
        message = gettext("The token was last used {value}.")
        if token.last_address:
            message = gettext("The token was last used {value} from {address}.")
        age = spoken_age((now - token.last_used_at).total_seconds())
        used = message.format(value=age, address=token.last_address)
    many = (
        gettext("1 other token or key")
        if others == 1
        else gettext("{others} other tokens and keys").format(others=others)
    )
    made = gettext("Its successors and the tokens created with it are also revoked: {many}.").format(many=many)
    return Question(
        gettext("Revoke {purpose}").format(purpose=token.purpose),
        gettext("The token stops working immediately and can’t be restored."),
        used,
        *((made,) if others else ()),
        gettext("Changes that were published with the token remain."),
        button=gettext("Revoke"),
        back=reverse("token-detail", args=[token.pk]),
    )


def display_tokens(actor: Actor, tokens: list[Token], now: datetime) -> list[DisplayToken]:
    """Return the tokens with their states and grant descriptions, in at most two queries for all tokens."""
    describer: GrantDescriber = describer_for(
        actor, (Grant.from_json(each) for token in tokens for each in token.scope)
    )
    return [DisplayToken(token, state_of(token, now), describer.of_all(token.scope)) for token in tokens]


def state_of(token: Token, now: datetime) -> State:
    """Return the token's state: whether it works, and until when."""
    try:
        verbs.refuse_dead(token, now)
    except TokenDead as exc:
        if token.revoked_at is not None:
            return State(gettext("revoked"), "quiet", "close", str(exc))
        return State(
            gettext("expired") if token.expires_at and token.expires_at <= now else gettext("unused"),
            "bad",
            "clock",
            str(exc),
        )
    if not token.owner.is_active:
        return State(gettext("account closed"), "bad", "lock", gettext("The account that owns the token is closed."))
    if token.rotated_to_id is not None and token.expires_at is not None:
        return State(
            gettext("replaced"),
            "warn",
            "sync",
            gettext("Works until {expires_at}.").format(expires_at=moment(token.expires_at)),
        )
    if token.expires_at is not None and token.expires_at <= now + SOON:
        return State(
            gettext("expires soon"),
            "warn",
            "clock",
            gettext("Expires on {expires_at:%Y-%m-%d}.").format(expires_at=token.expires_at),
        )
    return State(gettext("active"), "ok", "check")
