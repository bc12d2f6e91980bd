"""The forms for sign-in providers, one for each kind, and for a name to look up on an LDAP server."""

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
from dnspanel.web.frame.forms import MONO, MONO_LINES, PanelForm, split_list

_GROUPS = [
    (Groups.SEARCH, gettext_lazy("Groups list their members")),
    (Groups.NESTED, gettext_lazy("Groups list their members, and may be members of groups")),
    (Groups.ACTIVE_DIRECTORY, gettext_lazy("Active Directory, through all levels")),
    (Groups.ATTRIBUTE, gettext_lazy("An attribute of the person lists them, such as memberOf")),
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
    """Return a form field for a name, an address or a secret. Other keyword arguments are HTML attributes."""
    return forms.CharField(
        label=label,
        max_length=max_length,
        required=required,
        initial=initial,
        help_text=help_text,
        widget=widget(attrs=MONO | attrs),
    )


class CommonForm(PanelForm):
    """The base class of the forms for sign-in providers, with the fields that every kind of provider has."""

    kind: ClassVar[Kind]
    template: ClassVar[str]

    name = forms.CharField(label=gettext_lazy("Name on the button"), max_length=40)
    slug = _mono(
        gettext_lazy("Word in the URL"),
        40,
        gettext_lazy("Lowercase letters, digits and dashes. It can’t be changed later."),
    )
    rules = RulesField()
    makes_people = forms.BooleanField(
        label=gettext_lazy("Create accounts at first sign-in"),
        required=False,
        help_text=gettext_lazy(
            "A verified mail address is required. It must match the mail domains, and the person must match a group, "
            "if you enter any."
        ),
    )
    links_by_mail = forms.BooleanField(
        label=gettext_lazy("A verified mail address opens the account that has it"),
        required=False,
        help_text=gettext_lazy(
            "Only for a provider that you trust with every account here. Else people link theirs themselves."
        ),
    )
    trusts_mail = forms.BooleanField(
        label=gettext_lazy("It verifies every address, though it does not say so"),
        required=False,
        help_text=gettext_lazy("Select this only if people can’t change their own address there."),
    )
    mail_domains = _mono(
        gettext_lazy("Mail domains"),
        rows.MOST_DOMAINS * 255,
        gettext_lazy("With commas between them; of first sign-ins. Empty: any."),
        required=False,
    )
    session_hours = forms.IntegerField(
        label=gettext_lazy("Hours after which people sign in again"),
        min_value=1,
        max_value=rows.LONGEST_SESSION,
        initial=12,
        help_text=gettext_lazy(
            "Until then they keep what their groups gave, also when the provider has taken a group away."
        ),
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
        """Create a provider from the form, or change this one. Raise ProviderRefused if the values are invalid."""
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
        gettext_lazy("Exactly as the provider writes it. It stays; it is asked for its configuration at once."),
        widget=forms.URLInput,
        placeholder="https://",
    )
    client_id = _mono(gettext_lazy("Client ID"), 255)
    secret = _mono(
        gettext_lazy("Client secret"),
        oidc.LONGEST_SECRET,
        gettext_lazy("Kept encrypted, and never shown again."),
        widget=forms.PasswordInput,
        autocomplete="new-password",
    )
    scopes = _mono(gettext_lazy("Scopes"), 300, initial=oidc.DEFAULT_SCOPES)
    group_claim = _mono(
        gettext_lazy("Claim with the groups"),
        100,
        gettext_lazy("Such as groups, or realm_access.roles for a claim within a claim."),
        initial="groups",
    )

    def __init__(self, *args: Any, provider: SignInProvider | None = None, **kwargs: Any) -> None:
        super().__init__(*args, provider=provider, **kwargs)
        if provider is not None:
            self.fields["issuer"].disabled = True
            self.fields["secret"].required = False
            self.fields["secret"].help_text = gettext("Empty: the current one stays. It is never shown.")


class SamlForm(CommonForm):
    """The form for a SAML provider."""

    kind = KINDS[ProviderKind.SAML]
    template = "access/_saml_fields.html"

    metadata_url = _mono(
        gettext_lazy("URL of its metadata"),
        rows.LONGEST_URL,
        gettext_lazy("The panel reads the metadata now, and again every few hours."),
        required=False,
        widget=forms.URLInput,
        placeholder="https://",
    )
    metadata = forms.CharField(
        label=gettext_lazy("Or the metadata themselves"),
        required=False,
        max_length=LONGEST_METADATA,
        help_text=gettext_lazy("XML with an EntityDescriptor of one provider. Its entity ID stays."),
        widget=forms.Textarea(attrs=MONO_LINES | {"rows": 5}),
    )
    client_id = _mono(
        gettext_lazy("Entity ID of the panel there"),
        saml.LONGEST_ENTITY_ID,
        gettext_lazy("Empty: the URL of the panel’s metadata."),
        required=False,
    )
    subject = _mono(
        gettext_lazy("Attribute that never changes"),
        saml.LONGEST_ATTRIBUTE,
        gettext_lazy("It identifies the person. Empty: the NameID, which must not be transient."),
        required=False,
    )
    mail = _mono(gettext_lazy("Attribute with the mail address"), saml.LONGEST_ATTRIBUTE)
    username = _mono(gettext_lazy("Attribute with the user name"), saml.LONGEST_ATTRIBUTE)
    first_name = _mono(gettext_lazy("Attribute with the first name"), saml.LONGEST_ATTRIBUTE)
    last_name = _mono(gettext_lazy("Attribute with the last name"), saml.LONGEST_ATTRIBUTE)
    group_claim = _mono(
        gettext_lazy("Attribute with the groups"),
        rows.LONGEST_GROUP_NAME,
        gettext_lazy("By its Name or its FriendlyName, as all of these."),
        initial=saml.DEFAULT_GROUPS,
    )

    def __init__(self, *args: Any, provider: SignInProvider | None = None, **kwargs: Any) -> None:
        super().__init__(*args, provider=provider, **kwargs)
        self.fields["trusts_mail"].help_text = gettext(
            "SAML doesn’t say if addresses are verified. Select this only if people can’t change their own address."
        )
        if provider is not None:
            self.fields["metadata"].help_text = gettext("Empty: the current metadata stays.")


class LdapForm(CommonForm):
    """The form for an LDAP or Active Directory server."""

    kind = KINDS[ProviderKind.LDAP]
    template = "access/_ldap_fields.html"

    uri = _mono(
        gettext_lazy("Server"),
        rows.LONGEST_URL,
        gettext_lazy("With ldap:// the panel asks for StartTLS. It never speaks outside of TLS."),
        placeholder="ldaps://ldap.example.net",
    )
    certificates = forms.CharField(
        label=gettext_lazy("Certificates of its own CA"),
        required=False,
        max_length=ldap.LONGEST_CERTIFICATES,
        help_text=gettext_lazy("In PEM. Empty: the public CAs count."),
        widget=forms.Textarea(attrs=MONO_LINES | {"rows": 4}),
    )
    bind_dn = _mono(
        gettext_lazy("The panel’s name there (bind DN)"),
        tree.LONGEST_DN,
        gettext_lazy("This name only needs the right to read people and groups. Empty: anonymous."),
        required=False,
    )
    secret = _mono(
        gettext_lazy("Its password"),
        ldap.LONGEST_SECRET,
        gettext_lazy("Kept encrypted, and never shown again."),
        required=False,
        widget=forms.PasswordInput,
        autocomplete="new-password",
    )
    base = _mono(
        gettext_lazy("Where people are (search base)"), tree.LONGEST_DN, placeholder="ou=people,dc=example,dc=net"
    )
    person_filter = _mono(
        gettext_lazy("Sign-in filter"),
        tree.LONGEST_FILTER,
        gettext_lazy("In Active Directory (&(objectCategory=person)(objectClass=user))."),
    )
    login = _mono(
        gettext_lazy("Attributes with the name that people type"),
        tree.LONGEST_ATTRIBUTE,
        gettext_lazy("With commas between them."),
    )
    subject = _mono(
        gettext_lazy("Attribute that never changes"),
        tree.LONGEST_ATTRIBUTE,
        gettext_lazy(
            "It identifies the person and can’t be changed later: entryUUID, or objectGUID in Active Directory."
        ),
    )
    username = _mono(
        gettext_lazy("Attribute with the user name"),
        tree.LONGEST_ATTRIBUTE,
        gettext_lazy("uid, or sAMAccountName in Active Directory."),
    )
    mail = _mono(gettext_lazy("Attribute with the mail address"), tree.LONGEST_ATTRIBUTE)
    first_name = _mono(
        gettext_lazy("Attribute with the first name"),
        tree.LONGEST_ATTRIBUTE,
        required=False,
    )
    last_name = _mono(
        gettext_lazy("Attribute with the last name"),
        tree.LONGEST_ATTRIBUTE,
        required=False,
    )
    groups = forms.ChoiceField(label=gettext_lazy("Group membership"), choices=_GROUPS, initial=Groups.SEARCH)
    group_claim = _mono(
        gettext_lazy("Attribute of that"),
        100,
        gettext_lazy("Of the group: member or uniqueMember. Of the person: memberOf."),
        initial=tree.DEFAULT_MEMBERS,
    )
    group_base = _mono(
        gettext_lazy("Where groups are (search base)"),
        tree.LONGEST_DN,
        gettext_lazy("Empty: where people are. Groups from elsewhere give nothing."),
        required=False,
    )
    group_filter = _mono(
        gettext_lazy("Which groups (filter)"),
        tree.LONGEST_FILTER,
        gettext_lazy("In Active Directory (objectClass=group)."),
    )

    def __init__(self, *args: Any, provider: SignInProvider | None = None, **kwargs: Any) -> None:
        super().__init__(*args, provider=provider, **kwargs)
        self.fields["name"].label = gettext("Name")
        self.fields["slug"].label = gettext("Word for it")
        self.fields["trusts_mail"].help_text = gettext(
            "LDAP doesn’t say if addresses are verified. Select this only if people can’t change their own address."
        )
        self.fields["session_hours"].help_text = gettext(
            "The panel also checks every few minutes for changed groups and disabled people."
        )
        if provider is not None:
            self.fields["subject"].disabled = True
            self.fields["secret"].help_text = gettext("Empty: the current one stays. It is never shown.")


class TryForm(PanelForm):
    """The form for a name to look up on the LDAP server."""

    login = _mono(gettext_lazy("Name, as it is typed to sign in"), LONGEST_NAME, autocapitalize="none")


FORMS: dict[str, type[CommonForm]] = {
    ProviderKind.OIDC: OidcForm,
    ProviderKind.SAML: SamlForm,
    ProviderKind.LDAP: LdapForm,
}
