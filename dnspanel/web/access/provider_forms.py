"""Forms for each kind of sign-in provider, and for a name to look up on an LDAP server."""

from datetime import datetime
from typing import Any, ClassVar

from django import forms

from dnspanel.accounts.models import ProviderKind, SignInProvider, User
from dnspanel.accounts.providers import rows
from dnspanel.accounts.providers.kinds import KINDS, Kind, settings_of
from dnspanel.accounts.providers.ldap import ldap_servers as ldap
from dnspanel.accounts.providers.ldap import ldap_terms as tree
from dnspanel.accounts.providers.ldap.ldap_terms import Groups
from dnspanel.accounts.providers.ldap.visit import LONGEST_NAME
from dnspanel.accounts.providers.links import rules_of
from dnspanel.accounts.providers.oidc import oidc_providers as oidc
from dnspanel.accounts.providers.saml import saml_providers as saml
from dnspanel.accounts.providers.saml.metadata import LONGEST_METADATA
from dnspanel.accounts.texts.canonical import ascii_lower
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.access.group_rules import RulesField, rules_text
from dnspanel.web.frame.all_or_some import ALL, AllOrSome, AllOrSomeForm
from dnspanel.web.frame.forms import MONO, PanelForm, mono_field, number_field, split_list, switch_field, text_field

_GROUPS = [
    (Groups.SEARCH, gettext_lazy("Groups list their members")),
    (Groups.NESTED, gettext_lazy("Groups list their members, including nested groups")),
    (Groups.ACTIVE_DIRECTORY, gettext_lazy("Active Directory, including nested groups")),
    (Groups.ATTRIBUTE, gettext_lazy("A user attribute, such as memberOf, lists the groups")),
]


def _mono(
    label: str,
    max_length: int,
    help_text: str = "",
    *,
    initial: str = "",
    required: bool = True,
    widget: type[forms.Widget] = forms.TextInput,
    **attrs: str,
) -> forms.CharField:
    """Create a form field for a name, an address or a secret. Other keyword arguments are HTML attributes."""
    return forms.CharField(
        label=label,
        max_length=max_length,
        required=required,
        initial=initial,
        help_text=help_text,
        widget=widget(attrs=MONO | attrs),
    )


class CommonForm(AllOrSomeForm):
    """The base class of forms for sign-in providers, with the fields common to all kinds of providers."""

    kind: ClassVar[Kind]
    template: ClassVar[str]
    all_or_some = (
        AllOrSome(
            ("mail_domains",),
            "domains",
            gettext_lazy("First sign-in"),
            gettext_lazy("All email domains"),
            gettext_lazy("Only these email domains"),
            default=ALL,
        ),
    )

    name = text_field(gettext_lazy("Button text"), 40, required=True)
    slug = _mono(
        gettext_lazy("URL slug"),
        40,
        gettext_lazy("Use lowercase letters, digits and dashes. You can’t change the slug later."),
    )
    rules = RulesField()
    makes_people = switch_field(
        gettext_lazy("Create accounts at first sign-in"),
        gettext_lazy(
            "The person needs a verified email address in one of the email domains and one of the groups in "
            "the group rules. Without group rules, no group is needed."
        ),
    )
    links_by_mail = switch_field(
        gettext_lazy("Link accounts by verified email address"),
        gettext_lazy(
            "Select this only if you trust the provider with every account. Otherwise, people can link their "
            "own accounts themselves."
        ),
    )
    trusts_mail = switch_field(
        gettext_lazy("Treat all email addresses as verified"),
        gettext_lazy("Select this only if people can’t change their own email addresses at the provider."),
    )
    mail_domains = _mono(
        gettext_lazy("Email domains"),
        rows.MOST_DOMAINS * 255,
        gettext_lazy("Enter the domains allowed at first sign-in, separated by commas."),
        required=False,
    )
    session_hours = number_field(
        gettext_lazy("Session length (hours)"),
        1,
        rows.LONGEST_SESSION,
        gettext_lazy(
            "People must sign in again after this time. Group changes at the provider take effect at the next sign-in."
        ),
        required=True,
        initial=12,
    )

    def __init__(self, *args: Any, provider: SignInProvider | None = None, **kwargs: Any) -> None:
        kwargs["initial"] = self.values(provider) if provider is not None else dict(self.kind.attributes)
        super().__init__(*args, **kwargs)
        if provider is not None:
            self.fields["slug"].disabled = True

    def values(self, provider: SignInProvider) -> dict[str, object]:
        """Return the form's initial values for an existing provider."""
        values = settings_of(provider)
        attributes = values.pop("attributes", {})
        lists = {"rules": rules_text(rules_of(provider)), "mail_domains": ", ".join(provider.mail_domains)}
        return {**values, **attributes, **lists}

    def save(self, provider: SignInProvider | None, *, by: User, now: datetime) -> SignInProvider:
        """Create a provider from the form, or change the given one. Raise ProviderRefused for invalid values."""
        given = self.cleaned_data
        terms = {name: given[name] for name in self.kind.settings if name != "attributes"}
        if self.kind.attributes:
            terms["attributes"] = {name: given[name] for name in self.kind.attributes}
        arguments = {"terms": self.kind.terms(**terms), self.kind.secret: given[self.kind.secret], "by": by, "now": now}
        if provider is None:
            return self.kind.create(**arguments)
        self.kind.change(provider=provider, **arguments)
        return provider

    def clean_mail_domains(self) -> tuple[str, ...]:
        listed = split_list(ascii_lower(self.cleaned_data["mail_domains"]))
        return tuple(dict.fromkeys(listed))


class OidcForm(CommonForm):
    """The form for an OpenID Connect provider."""

    kind = KINDS[ProviderKind.OIDC]
    template = "access/_provider_fields.html"

    issuer = _mono(
        gettext_lazy("Issuer"),
        rows.LONGEST_URL,
        gettext_lazy("Enter the issuer exactly as the provider writes it. It can’t be changed later."),
        widget=forms.URLInput,
        placeholder="https://",
    )
    client_id = _mono(gettext_lazy("Client ID"), 255)
    secret = _mono(
        gettext_lazy("Client secret"),
        oidc.LONGEST_SECRET,
        gettext_lazy("The secret is stored encrypted and won’t be shown again."),
        widget=forms.PasswordInput,
        autocomplete="new-password",
    )
    scopes = _mono(gettext_lazy("Scopes"), 300, initial=oidc.DEFAULT_SCOPES)
    group_claim = _mono(
        gettext_lazy("Groups claim"),
        100,
        gettext_lazy("Enter a claim such as groups, or a nested claim such as realm_access.roles."),
        initial="groups",
    )

    def __init__(self, *args: Any, provider: SignInProvider | None = None, **kwargs: Any) -> None:
        super().__init__(*args, provider=provider, **kwargs)
        if provider is not None:
            self.fields["issuer"].disabled = True
            self.fields["secret"].required = False
            self.fields["secret"].help_text = gettext("Leave empty to keep the current secret.")


class SamlForm(CommonForm):
    """The form for a SAML provider."""

    kind = KINDS[ProviderKind.SAML]
    template = "access/_saml_fields.html"

    metadata_url = _mono(
        gettext_lazy("Metadata URL"),
        rows.LONGEST_URL,
        gettext_lazy("The panel loads the metadata when you save, and again every few hours."),
        required=False,
        widget=forms.URLInput,
        placeholder="https://",
    )
    metadata = mono_field(
        gettext_lazy("Metadata XML"),
        LONGEST_METADATA,
        gettext_lazy("Enter an EntityDescriptor for a single provider. The entity ID can’t be changed later."),
        rows=5,
    )
    client_id = _mono(
        gettext_lazy("Panel entity ID"),
        saml.LONGEST_ENTITY_ID,
        gettext_lazy("Leave empty to use the panel’s metadata URL."),
        required=False,
    )
    subject = _mono(
        gettext_lazy("ID attribute"),
        saml.LONGEST_ATTRIBUTE,
        gettext_lazy(
            "This attribute identifies the person. Leave empty to use the NameID, which must not be transient."
        ),
        required=False,
    )
    mail = _mono(gettext_lazy("Email attribute"), saml.LONGEST_ATTRIBUTE)
    username = _mono(gettext_lazy("User name attribute"), saml.LONGEST_ATTRIBUTE)
    first_name = _mono(gettext_lazy("First name attribute"), saml.LONGEST_ATTRIBUTE)
    last_name = _mono(gettext_lazy("Last name attribute"), saml.LONGEST_ATTRIBUTE)
    group_claim = _mono(
        gettext_lazy("Groups attribute"),
        rows.LONGEST_GROUP_NAME,
        gettext_lazy("Enter the attribute’s Name or FriendlyName."),
        initial=saml.DEFAULT_GROUPS,
    )

    def __init__(self, *args: Any, provider: SignInProvider | None = None, **kwargs: Any) -> None:
        super().__init__(*args, provider=provider, **kwargs)
        self.fields["trusts_mail"].help_text = gettext(
            "SAML doesn’t state whether email addresses are verified. Select this only if people can’t change "
            "their own email addresses."
        )
        if provider is not None:
            self.fields["metadata"].help_text = gettext("Leave empty to keep the current metadata.")


class LdapForm(CommonForm):
    """The form for an LDAP or Active Directory server."""

    kind = KINDS[ProviderKind.LDAP]
    template = "access/_ldap_fields.html"

    uri = _mono(
        gettext_lazy("Server"),
        rows.LONGEST_URL,
        gettext_lazy("The panel always uses TLS, with StartTLS for ldap:// addresses."),
        placeholder="ldaps://ldap.example.net",
    )
    certificates = mono_field(
        gettext_lazy("CA certificates"),
        ldap.LONGEST_CERTIFICATES,
        gettext_lazy("Enter certificates in PEM format. Leave empty to trust public CAs."),
        rows=4,
    )
    bind_dn = _mono(
        gettext_lazy("Bind DN"),
        tree.LONGEST_DN,
        gettext_lazy("The bind DN only needs the right to read people and groups. Leave empty for anonymous access."),
        required=False,
    )
    secret = _mono(
        gettext_lazy("Bind password"),
        ldap.LONGEST_SECRET,
        gettext_lazy("The secret is stored encrypted and won’t be shown again."),
        required=False,
        widget=forms.PasswordInput,
        autocomplete="new-password",
    )
    base = _mono(gettext_lazy("People search base"), tree.LONGEST_DN, placeholder="ou=people,dc=example,dc=net")
    person_filter = _mono(
        gettext_lazy("Sign-in filter"),
        tree.LONGEST_FILTER,
        gettext_lazy("For Active Directory, use (&(objectCategory=person)(objectClass=user))."),
    )
    login = _mono(
        gettext_lazy("Sign-in attributes"),
        tree.LONGEST_ATTRIBUTE,
        gettext_lazy("Separate multiple entries with commas."),
    )
    subject = _mono(
        gettext_lazy("ID attribute"),
        tree.LONGEST_ATTRIBUTE,
        gettext_lazy(
            "This attribute identifies the person and can’t be changed later. Use entryUUID, or objectGUID "
            "for Active Directory."
        ),
    )
    username = _mono(
        gettext_lazy("User name attribute"),
        tree.LONGEST_ATTRIBUTE,
        gettext_lazy("Use uid, or sAMAccountName for Active Directory."),
    )
    mail = _mono(gettext_lazy("Email attribute"), tree.LONGEST_ATTRIBUTE)
    first_name = _mono(gettext_lazy("First name attribute"), tree.LONGEST_ATTRIBUTE, required=False)
    last_name = _mono(gettext_lazy("Last name attribute"), tree.LONGEST_ATTRIBUTE, required=False)
    groups = forms.ChoiceField(label=gettext_lazy("Group membership"), choices=_GROUPS, initial=Groups.SEARCH)
    group_claim = _mono(
        gettext_lazy("Membership attribute"),
        100,
        gettext_lazy("Enter a group attribute such as member or uniqueMember, or a person attribute such as memberOf."),
        initial=tree.DEFAULT_MEMBERS,
    )
    group_base = _mono(
        gettext_lazy("Group search base"),
        tree.LONGEST_DN,
        gettext_lazy("Leave empty to use the people search base. Groups outside this search base are ignored."),
        required=False,
    )
    group_filter = _mono(
        gettext_lazy("Group filter"),
        tree.LONGEST_FILTER,
        gettext_lazy("For Active Directory, use (objectClass=group)."),
    )

    def __init__(self, *args: Any, provider: SignInProvider | None = None, **kwargs: Any) -> None:
        super().__init__(*args, provider=provider, **kwargs)
        self.fields["name"].label = gettext("Name")
        self.fields["trusts_mail"].help_text = gettext(
            "LDAP doesn’t state whether email addresses are verified. Select this only if people can’t change "
            "their own email addresses."
        )
        self.fields["session_hours"].help_text = gettext(
            "The panel also checks for changed groups and disabled people every few minutes."
        )
        if provider is not None:
            self.fields["subject"].disabled = True
            self.fields["secret"].help_text = gettext("Leave empty to keep the current secret.")


class TryForm(PanelForm):
    """The form for a name to look up on the LDAP server."""

    login = _mono(gettext_lazy("Sign-in name"), LONGEST_NAME, autocapitalize="none")


FORMS: dict[str, type[CommonForm]] = {
    ProviderKind.OIDC: OidcForm,
    ProviderKind.SAML: SamlForm,
    ProviderKind.LDAP: LdapForm,
}
