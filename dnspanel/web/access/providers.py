"""Views of sign-in providers and linked accounts, for administrators: list, add, change, test, switch off, delete."""

from functools import partial

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.errors import ProviderRefused, SignInRefused
from dnspanel.accounts.models import ProviderKind, ProviderLink, SignInProvider
from dnspanel.accounts.providers import links, rows
from dnspanel.accounts.providers.ldap.trial import try_person
from dnspanel.accounts.providers.provider_http import ProviderAway
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.access.provider_forms import FORMS, CommonForm, TryForm
from dnspanel.web.frame.confirm import Question, ask, run_confirmed
from dnspanel.web.frame.forms import id_in
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.zones.rights import access

LINKS_PER_PAGE = 50


@require_safe
def provider_list(request: PanelRequest) -> HttpResponse:
    """List the sign-in providers."""
    access.require(request.user, Permission.PEOPLE)
    return render(request, "access/providers.html", {"providers": rows.provider_rows()})


@require_http_methods(["GET", "HEAD", "POST"])
def provider_new(request: PanelRequest) -> HttpResponse:
    """Show the form for a new provider. A POST asks for the password and adds the provider."""
    access.require(request.user, Permission.PEOPLE)
    kind = request.GET.get("kind", "")
    kind = kind if kind in FORMS else ProviderKind.OIDC
    form = FORMS[kind](request.POST or None)
    if (saved := _save_form(request, form, None)) is not None:
        return saved
    context = {"form": form, "kind": kind, **_urls("word")}
    return render(request, "access/provider_new.html", context, status=422 if form.is_bound else 200)


_ABOUT_PROVIDER = Question(
    gettext_lazy("Trust provider"),
    gettext_lazy(
        "People who control the provider can sign in as any linked person, with the rights from the provider’s groups."
    ),
    button=gettext_lazy("Trust"),
    back="/people/providers/",
    needs_password=True,
    only_password=True,
)


@require_http_methods(["GET", "HEAD", "POST"])
def provider_detail(request: PanelRequest, provider_id: int) -> HttpResponse:
    """Show a provider and the accounts linked to it. A POST asks for the password and changes the provider."""
    access.require(request.user, Permission.PEOPLE)
    provider = rows.provider_by_id(provider_id)
    form = FORMS[provider.kind](request.POST or None, provider=provider)
    if (saved := _save_form(request, form, provider)) is not None:
        return saved
    found = rows.links_page(provider, after=id_in(request.GET.get("after", "")) or 0, limit=LINKS_PER_PAGE + 1)
    context = {
        "provider": provider,
        "form": form,
        "links": found[:LINKS_PER_PAGE],
        "next_after": found[LINKS_PER_PAGE - 1].pk if len(found) > LINKS_PER_PAGE else "",
        **_urls(provider.slug),
    }
    return render(request, "access/provider.html", context, status=422 if form.is_bound else 200)


def _save_form(request: PanelRequest, form: CommonForm, provider: SignInProvider | None) -> HttpResponse | None:
    """Ask for the password and save the form. Return None if the form is not bound, or has errors."""
    if not form.is_valid():
        return None
    save = partial(form.save, provider, by=request.user, now=timezone.now())
    with form.catching(ProviderRefused):
        saved = run_confirmed(request, _ABOUT_PROVIDER, save)
        added = gettext("Provider {name} added.").format(name=saved.name)
        say_done(request, added if provider is None else gettext("Provider saved. The changes apply to new sign-ins."))
        return redirect("people-provider", saved.pk)
    return None


@require_http_methods(["GET", "HEAD", "POST"])
def provider_try(request: PanelRequest, ldap_id: int) -> HttpResponse:
    """Look up a name on an LDAP server. Show the person, and the roles and teams from their groups. Change nothing."""
    access.require(request.user, Permission.PEOPLE)
    provider = rows.provider_by_id(ldap_id, ProviderKind.LDAP)
    form = TryForm(request.POST or None)
    trial = None
    if form.is_valid():
        try:
            trial = try_person(provider=provider, typed=form.cleaned_data["login"], by=request.user, now=timezone.now())
        except (ProviderAway, SignInRefused) as exc:
            form.refuse_all({"login": [str(exc)]})
    context = {"provider": provider, "form": form, "trial": trial}
    return render(request, "access/provider_try.html", context, status=422 if form.errors else 200)


@require_POST
def provider_switch(request: PanelRequest, provider_id: int) -> HttpResponse:
    """Enable the provider after a password check if `active` is yes. Otherwise, disable it after a confirmation."""
    access.require(request.user, Permission.PEOPLE)
    provider = rows.provider_by_id(provider_id)
    active = request.POST.get("active") == "yes"
    question = Question(
        gettext("Disable {name}").format(name=provider.name),
        gettext("No one will be able to sign in with this provider."),
        gettext("All linked people will be signed out everywhere."),
        button=gettext("Disable"),
        back=reverse("people-provider", args=[provider.pk]),
    )
    ask(request, _ABOUT_PROVIDER if active else question)
    rows.switch_provider(provider=provider, active=active, by=request.user, now=timezone.now())
    say_done(request, gettext("{name} enabled.") if active else gettext("{name} disabled."), name=provider.name)
    return redirect("people-provider", provider.pk)


@require_POST
def provider_delete(request: PanelRequest, provider_id: int) -> HttpResponse:
    """Delete the provider with its links, after a confirmation. The linked users are signed out."""
    access.require(request.user, Permission.PEOPLE)
    provider = rows.provider_by_id(provider_id)
    question = Question(
        gettext("Delete {name}").format(name=provider.name),
        gettext("All linked people will be signed out everywhere and lose the rights from their groups."),
        gettext("Their accounts remain, but people without a password will no longer be able to sign in."),
        button=gettext("Delete"),
        back=reverse("people-provider", args=[provider.pk]),
    )
    ask(request, question)
    rows.delete_provider(provider=provider, by=request.user, now=timezone.now())
    say_done(request, gettext("{name} deleted."), name=provider.name)
    return redirect("people-providers")


@require_POST
def link_remove(request: PanelRequest, link_id: int) -> HttpResponse:
    """Remove the link between an account and a provider and sign the user out, after a confirmation."""
    access.require(request.user, Permission.PEOPLE)
    found = get_object_or_404(ProviderLink.objects.select_related("user", "provider"), pk=link_id)
    question = Question(
        gettext("Unlink {username} from {name}").format(username=found.user.username, name=found.provider.name),
        gettext("{username} will be signed out everywhere and lose the rights from the provider’s groups.").format(
            username=found.user.username
        ),
        gettext("Without a password or another linked provider, this person will no longer be able to sign in."),
        button=gettext("Unlink"),
        back=reverse("people-provider", args=[found.provider_id]),
    )
    ask(request, question)
    links.unlink(link=found, by=request.user, now=timezone.now())
    say_done(
        request, gettext("{username} unlinked from {name}."), username=found.user.username, name=found.provider.name
    )
    return redirect("people-provider", found.provider_id)


def _urls(slug: str) -> dict[str, str]:
    """Return the panel URLs that an administrator enters at the provider, keyed by template variable."""
    return {
        "answer_url": rows.panel_url("openid_connect_callback", slug),
        "acs_url": rows.panel_url("saml-acs", slug),
        "own_metadata_url": rows.panel_url("saml-metadata", slug),
    }
