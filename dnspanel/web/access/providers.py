"""Views of sign-in providers and linked accounts, for administrators: list, add, change, try, switch off, delete."""

from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.errors import ProviderRefused, SignInRefused
from dnspanel.accounts.models import ProviderKind, ProviderLink, SignInProvider, User
from dnspanel.accounts.providers import links, rows
from dnspanel.accounts.providers.ldap.trial import try_person
from dnspanel.accounts.providers.oidc import oidc_providers as verbs
from dnspanel.accounts.providers.provider_http import ProviderAway
from dnspanel.accounts.providers.saml import saml_providers as saml
from dnspanel.accounts.providers.saml.metadata import LONGEST_METADATA
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.access.ldap_form import LdapForm, TryForm
from dnspanel.web.access.provider_form import CommonForm, attribute_field
from dnspanel.web.frame.confirm import Question, ask
from dnspanel.web.frame.forms import MONO, id_in
from dnspanel.web.frame.layout import PanelRequest
from dnspanel.zones.rights import access

LINKS_PER_PAGE = 50


class ProviderForm(CommonForm):
    """The form for an OpenID Connect provider."""

    template = "access/_provider_fields.html"

    issuer = forms.CharField(
        label=gettext_lazy("Issuer"),
        max_length=rows.LONGEST_URL,
        help_text=gettext_lazy(
            "Exactly as the provider writes it. It stays; it is asked for its configuration at once."
        ),
        widget=forms.URLInput(attrs=MONO | {"placeholder": "https://"}),
    )
    client_id = forms.CharField(label=gettext_lazy("Client ID"), max_length=255, widget=forms.TextInput(attrs=MONO))
    secret = forms.CharField(
        label=gettext_lazy("Client secret"),
        max_length=verbs.LONGEST_SECRET,
        help_text=gettext_lazy("Kept encrypted, and never shown again."),
        widget=forms.PasswordInput(attrs=MONO | {"autocomplete": "new-password"}),
    )
    scopes = forms.CharField(
        label=gettext_lazy("Scopes"), max_length=300, initial=verbs.DEFAULT_SCOPES, widget=forms.TextInput(attrs=MONO)
    )
    group_claim = forms.CharField(
        label=gettext_lazy("Claim with the groups"),
        max_length=100,
        initial="groups",
        help_text=gettext_lazy("Such as groups, or realm_access.roles for a claim within a claim."),
        widget=forms.TextInput(attrs=MONO),
    )

    def __init__(self, *args: Any, provider: SignInProvider | None = None, **kwargs: Any) -> None:
        super().__init__(*args, provider=provider, **kwargs)
        if provider is not None:
            self.fields["issuer"].disabled = True
            self.fields["secret"].required = False
            self.fields["secret"].help_text = gettext("Empty: the current one stays. It is never shown.")

    def terms(self) -> verbs.ProviderTerms:
        """Return the form's values as `ProviderTerms`, without the secret."""
        given = {name: self.cleaned_data[name] for name in ("issuer", "client_id", "scopes")}
        return verbs.ProviderTerms(**self.common(), **given)

    def create(self, *, by: User, now: datetime) -> SignInProvider:
        return verbs.create_provider(terms=self.terms(), secret=self.cleaned_data["secret"], by=by, now=now)

    def change(self, provider: SignInProvider, *, by: User, now: datetime) -> None:
        secret = self.cleaned_data["secret"]
        verbs.change_provider(provider=provider, terms=self.terms(), secret=secret, by=by, now=now)


class SamlForm(CommonForm):
    """The form for a SAML provider."""

    template = "access/_saml_fields.html"

    metadata_url = forms.CharField(
        label=gettext_lazy("URL of its metadata"),
        required=False,
        max_length=rows.LONGEST_URL,
        help_text=gettext_lazy("The panel reads the metadata now, and again every few hours."),
        widget=forms.URLInput(attrs=MONO | {"placeholder": "https://"}),
    )
    metadata = forms.CharField(
        label=gettext_lazy("Or the metadata themselves"),
        required=False,
        max_length=LONGEST_METADATA,
        help_text=gettext_lazy("XML with an EntityDescriptor of one provider. Its entity ID stays."),
        widget=forms.Textarea(attrs={"rows": 5, "class": "textarea input-mono", "spellcheck": "false"}),
    )
    client_id = forms.CharField(
        label=gettext_lazy("Entity ID of the panel there"),
        required=False,
        max_length=saml.LONGEST_ENTITY_ID,
        help_text=gettext_lazy("Empty: the URL of the panel’s metadata."),
        widget=forms.TextInput(attrs=MONO),
    )
    subject = forms.CharField(
        label=gettext_lazy("Attribute that never changes"),
        required=False,
        max_length=saml.LONGEST_ATTRIBUTE,
        help_text=gettext_lazy("It identifies the person. Empty: the NameID, which must not be transient."),
        widget=forms.TextInput(attrs=MONO),
    )
    mail = attribute_field(
        gettext_lazy("Attribute with the mail address"), saml.ATTRIBUTES["mail"], saml.LONGEST_ATTRIBUTE
    )
    username = attribute_field(
        gettext_lazy("Attribute with the user name"), saml.ATTRIBUTES["username"], saml.LONGEST_ATTRIBUTE
    )
    first_name = attribute_field(
        gettext_lazy("Attribute with the first name"), saml.ATTRIBUTES["first_name"], saml.LONGEST_ATTRIBUTE
    )
    last_name = attribute_field(
        gettext_lazy("Attribute with the last name"), saml.ATTRIBUTES["last_name"], saml.LONGEST_ATTRIBUTE
    )
    group_claim = forms.CharField(
        label=gettext_lazy("Attribute with the groups"),
        max_length=rows.LONGEST_GROUP_NAME,
        initial=saml.DEFAULT_GROUPS,
        help_text=gettext_lazy("By its Name or its FriendlyName, as all of these."),
        widget=forms.TextInput(attrs=MONO),
    )

    def __init__(self, *args: Any, provider: SignInProvider | None = None, **kwargs: Any) -> None:
        super().__init__(*args, provider=provider, **kwargs)
        self.fields["trusts_mail"].help_text = gettext(
            "SAML doesn’t say if addresses are verified. Select this only if people can’t change their own address."
        )
        if provider is not None:
            self.fields["metadata"].help_text = gettext("Empty: the current metadata stays.")

    def values(self, provider: SignInProvider) -> dict[str, object]:
        return {**super().values(provider), **saml.ATTRIBUTES, **provider.attributes, "metadata": ""}

    def terms(self) -> saml.SamlTerms:
        """Return the form's values as `SamlTerms`, without the metadata."""
        given = {name: self.cleaned_data[name] for name in ("metadata_url", "client_id")}
        attributes = {name: self.cleaned_data[name] for name in saml.ATTRIBUTES}
        return saml.SamlTerms(**self.common(), **given, attributes=attributes)

    def create(self, *, by: User, now: datetime) -> SignInProvider:
        return saml.create_provider(terms=self.terms(), metadata=self.cleaned_data["metadata"], by=by, now=now)

    def change(self, provider: SignInProvider, *, by: User, now: datetime) -> None:
        metadata = self.cleaned_data["metadata"]
        saml.change_provider(provider=provider, terms=self.terms(), metadata=metadata, by=by, now=now)


_FORMS: dict[str, type[CommonForm]] = {
    ProviderKind.OIDC: ProviderForm,
    ProviderKind.SAML: SamlForm,
    ProviderKind.LDAP: LdapForm,
}


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
    kind = kind if kind in _FORMS else ProviderKind.OIDC
    form = _FORMS[kind](request.POST or None)
    if form.is_valid():
        if (question := ask(request, _ABOUT_PROVIDER)) is not None:
            return question
        try:
            provider = form.create(by=request.user, now=timezone.now())
        except ProviderRefused as exc:
            form.refuse_all(exc.fields)
        else:
            messages.success(request, gettext("People can sign in by {name} now.").format(name=provider.name))
            return redirect("people-provider", provider.pk)
    context = {"form": form, "kind": kind, **_urls("word")}
    return render(request, "access/provider_new.html", context, status=422 if form.is_bound else 200)


_ABOUT_PROVIDER = Question(
    title=gettext_lazy("Trust a provider"),
    effects=(
        gettext_lazy(
            "People who control the provider can sign in here as any linked person, with the rights from its groups."
        ),
    ),
    button=gettext_lazy("Trust it"),
    back="/people/providers/",
    needs_password=True,
    only_password=True,
)


@require_http_methods(["GET", "HEAD", "POST"])
def provider_detail(request: PanelRequest, provider_id: int) -> HttpResponse:
    """Show a provider and the accounts linked to it. A POST asks for the password and changes the provider."""
    access.require(request.user, Permission.PEOPLE)
    provider = rows.provider_by_id(provider_id)
    form = _FORMS[provider.kind](request.POST or None, provider=provider)
    if form.is_valid():
        if (question := ask(request, _ABOUT_PROVIDER)) is not None:
            return question
        try:
            form.change(provider, by=request.user, now=timezone.now())
        except ProviderRefused as exc:
            form.refuse_all(exc.fields)
        else:
            messages.success(request, gettext("Changed, from the next sign-in on."))
            return redirect("people-provider", provider.pk)
    found = rows.links_page(provider, after=id_in(request.GET.get("after", "")) or 0, limit=LINKS_PER_PAGE + 1)
    context = {
        "provider": provider,
        "form": form,
        "links": found[:LINKS_PER_PAGE],
        "next_after": found[LINKS_PER_PAGE - 1].pk if len(found) > LINKS_PER_PAGE else "",
        **_urls(provider.slug),
    }
    return render(request, "access/provider.html", context, status=422 if form.is_bound else 200)


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
    """Switch the provider off after a confirmation, or on after a password check (`active` is no or yes)."""
    access.require(request.user, Permission.PEOPLE)
    provider = rows.provider_by_id(provider_id)
    active = request.POST.get("active") == "yes"
    question = Question(
        title=gettext("Switch {name} off").format(name=provider.name),
        effects=(
            gettext("No one can sign in with this provider any more."),
            gettext("All linked people are signed out everywhere."),
        ),
        button=gettext("Switch it off"),
        back=reverse("people-provider", args=[provider.pk]),
    )
    if (page := ask(request, _ABOUT_PROVIDER if active else question)) is not None:
        return page
    rows.switch_provider(provider=provider, active=active, by=request.user, now=timezone.now())
    messages.success(
        request,
        (gettext("{name} is on.") if active else gettext("{name} is off.")).format(name=provider.name),
    )
    return redirect("people-provider", provider.pk)


@require_POST
def provider_delete(request: PanelRequest, provider_id: int) -> HttpResponse:
    """Delete the provider and its links to accounts, after a confirmation."""
    access.require(request.user, Permission.PEOPLE)
    provider = rows.provider_by_id(provider_id)
    question = Question(
        title=gettext("Delete {name}").format(name=provider.name),
        effects=(
            gettext("All linked people are signed out everywhere, and lose the rights from their groups."),
            gettext("Accounts stay. People without a password can’t sign in any more."),
        ),
        button=gettext("Delete it"),
        back=reverse("people-provider", args=[provider.pk]),
    )
    if (page := ask(request, question)) is not None:
        return page
    rows.delete_provider(provider=provider, by=request.user, now=timezone.now())
    messages.success(request, gettext("{name} is deleted.").format(name=provider.name))
    return redirect("people-providers")


@require_POST
def link_remove(request: PanelRequest, link_id: int) -> HttpResponse:
    """Remove the link between an account and a provider, after a confirmation."""
    access.require(request.user, Permission.PEOPLE)
    found = get_object_or_404(ProviderLink.objects.select_related("user", "provider"), pk=link_id)
    question = Question(
        title=gettext("Unlink {username} from {name}").format(username=found.user.username, name=found.provider.name),
        effects=(
            gettext("{username} is signed out everywhere, and loses what the provider’s groups gave.").format(
                username=found.user.username
            ),
            gettext("Without a password or another link, nothing leads into the account any more."),
        ),
        button=gettext("Unlink"),
        back=reverse("people-provider", args=[found.provider_id]),
    )
    if (page := ask(request, question)) is not None:
        return page
    links.unlink(link=found, by=request.user, now=timezone.now())
    messages.success(
        request,
        gettext("{username} is not linked to {name} any more.").format(
            username=found.user.username, name=found.provider.name
        ),
    )
    return redirect("people-provider", found.provider_id)


def _urls(slug: str) -> dict[str, str]:
    """Return the panel URLs that an administrator enters at the provider, by template variable."""
    return {
        "answer_url": settings.PANEL_URL + reverse("openid_connect_callback", args=[slug]),
        "acs_url": rows.panel_url("saml-acs", slug),
        "own_metadata_url": rows.panel_url("saml-metadata", slug),
    }
