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


_SECRET = forms.PasswordInput(attrs={**MONO, "autocomplete": "new-password"})


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
    slug = mono_field(
        gettext_lazy("URL slug"),
        40,
        gettext_lazy("Use lowercase letters, digits and dashes. You can’t change the slug later."),
        required=True,
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
    mail_domains = mono_field(
        gettext_lazy("Email domains"),
        rows.MOST_DOMAINS * 255,
        gettext_lazy("Enter the domains allowed at first sign-in, separated by commas."),
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

    issuer = mono_field(
        gettext_lazy("Issuer"),
        rows.LONGEST_URL,
        gettext_lazy("Enter the issuer exactly as the provider writes it. It can’t be changed later."),
        required=True,
        placeholder="https://",
        type="url",
    )
    client_id = mono_field(gettext_lazy("Client ID"), 255, required=True)
    secret = forms.CharField(
        label=gettext_lazy("Client secret"),
        max_length=oidc.LONGEST_SECRET,
        required=True,
        help_text=gettext_lazy("The secret is stored encrypted and won’t be shown again."),
        widget=_SECRET,
    )
    scopes = mono_field(gettext_lazy("Scopes"), 300, required=True, initial=oidc.DEFAULT_SCOPES)
    group_claim = mono_field(
        gettext_lazy("Groups claim"),
        100,
        gettext_lazy("Enter a claim such as groups, or a nested claim such as realm_access.roles."),
        required=True,
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

    metadata_url = mono_field(
        gettext_lazy("Metadata URL"),
        rows.LONGEST_URL,
        gettext_lazy("The panel loads the metadata when you save, and again every few hours."),
        placeholder="https://",
        type="url",
    )
    metadata = mono_field(
        gettext_lazy("Metadata XML"),
        LONGEST_METADATA,
        gettext_lazy("Enter an EntityDescriptor for a single provider. The entity ID can’t be changed later."),
        rows=5,
    )
    client_id = mono_field(
        gettext_lazy("Panel entity ID"),
        saml.LONGEST_ENTITY_ID,
        gettext_lazy("Leave empty to use the panel’s metadata URL."),
    )
    subject = mono_field(
        gettext_lazy("ID attribute"),
        saml.LONGEST_ATTRIBUTE,
        gettext_lazy(
            "This attribute identifies the person. Leave empty to use the NameID, which must not be transient."
        ),
    )
    mail = mono_field(gettext_lazy("Email attribute"), saml.LONGEST_ATTRIBUTE, required=True)
    username = mono_field(gettext_lazy("User name attribute"), saml.LONGEST_ATTRIBUTE, required=True)
    first_name = mono_field(gettext_lazy("First name attribute"), saml.LONGEST_ATTRIBUTE, required=True)
    last_name = mono_field(gettext_lazy("Last name attribute"), saml.LONGEST_ATTRIBUTE, required=True)
    group_claim = mono_field(
        gettext_lazy("Groups attribute"),
        rows.LONGEST_GROUP_NAME,
        gettext_lazy("Enter the attribute’s Name or FriendlyName."),
        required=True,
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

    uri = mono_field(
        gettext_lazy("Server"),
        rows.LONGEST_URL,
        gettext_lazy("The panel always uses TLS, with StartTLS for ldap:// addresses."),
        required=True,
        placeholder="ldaps://ldap.example.net",
    )
    certificates = mono_field(
        gettext_lazy("CA certificates"),
        ldap.LONGEST_CERTIFICATES,
        gettext_lazy("Enter certificates in PEM format. Leave empty to trust public CAs."),
        rows=4,
    )
    bind_dn = mono_field(
        gettext_lazy("Bind DN"),
        tree.LONGEST_DN,
        gettext_lazy("The bind DN only needs the right to read people and groups. Leave empty for anonymous access."),
    )
    secret = forms.CharField(
        label=gettext_lazy("Bind password"),
        max_length=ldap.LONGEST_SECRET,
        required=False,
        help_text=gettext_lazy("The secret is stored encrypted and won’t be shown again."),
        widget=_SECRET,
    )
    base = mono_field(
        gettext_lazy("People search base"), tree.LONGEST_DN, required=True, placeholder="ou=people,dc=example,dc=net"
    )
    person_filter = mono_field(
        gettext_lazy("Sign-in filter"),
        tree.LONGEST_FILTER,
        gettext_lazy("For Active Directory, use (&(objectCategory=person)(objectClass=user))."),
        required=True,
    )
    login = mono_field(
        gettext_lazy("Sign-in attributes"),
        tree.LONGEST_ATTRIBUTE,
        gettext_lazy("Separate multiple entries with commas."),
        required=True,
    )
    subject = mono_field(
        gettext_lazy("ID attribute"),
        tree.LONGEST_ATTRIBUTE,
        gettext_lazy(
            "This attribute identifies the person and can’t be changed later. Use entryUUID, or objectGUID "
            "for Active Directory."
        ),
        required=True,
    )
    username = mono_field(
        gettext_lazy("User name attribute"),
        tree.LONGEST_ATTRIBUTE,
        gettext_lazy("Use uid, or sAMAccountName for Active Directory."),
        required=True,
    )
    mail = mono_field(gettext_lazy("Email attribute"), tree.LONGEST_ATTRIBUTE, required=True)
    first_name = mono_field(gettext_lazy("First name attribute"), tree.LONGEST_ATTRIBUTE)
    last_name = mono_field(gettext_lazy("Last name attribute"), tree.LONGEST_ATTRIBUTE)
    groups = forms.ChoiceField(label=gettext_lazy("Group membership"), choices=_GROUPS, initial=Groups.SEARCH)
    group_claim = mono_field(
        gettext_lazy("Membership attribute"),
        100,
        gettext_lazy("Enter a group attribute such as member or uniqueMember, or a person attribute such as memberOf."),
        required=True,
        initial=tree.DEFAULT_MEMBERS,
    )
    group_base = mono_field(
        gettext_lazy("Group search base"),
        tree.LONGEST_DN,
        gettext_lazy("Leave empty to use the people search base. Groups outside this search base are ignored."),
    )
    group_filter = mono_field(
        gettext_lazy("Group filter"),
        tree.LONGEST_FILTER,
        gettext_lazy("For Active Directory, use (objectClass=group)."),
        required=True,
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

    login = mono_field(gettext_lazy("Sign-in name"), LONGEST_NAME, required=True, autocapitalize="none")


FORMS: dict[str, type[CommonForm]] = {
    ProviderKind.OIDC: OidcForm,
    ProviderKind.SAML: SamlForm,
    ProviderKind.LDAP: LdapForm,
}
