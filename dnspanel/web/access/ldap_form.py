"""The forms for an LDAP sign-in server, and for a name to look up on the server."""

from datetime import datetime
from typing import Any

from django import forms

from dnspanel.accounts.models import SignInProvider, User
from dnspanel.accounts.providers import rows
from dnspanel.accounts.providers.ldap import ldap_servers as ldap
from dnspanel.accounts.providers.ldap import ldap_terms as tree
from dnspanel.accounts.providers.ldap.ldap_terms import Groups
from dnspanel.accounts.providers.ldap.visit import LONGEST_NAME
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.access.provider_form import CommonForm, attribute_field
from dnspanel.web.frame.forms import MONO, PanelForm

_GROUPS = [
    (Groups.SEARCH, gettext_lazy("Groups list their members")),
    (Groups.NESTED, gettext_lazy("Groups list their members, and may be members of groups")),
    (Groups.ACTIVE_DIRECTORY, gettext_lazy("Active Directory, through all levels")),
    (Groups.ATTRIBUTE, gettext_lazy("An attribute of the person lists them, such as memberOf")),
]


def _filter(label: str, name: str, help_text: str) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=tree.LONGEST_FILTER,
        initial=tree.DEFAULTS[name],
        help_text=help_text,
        widget=forms.TextInput(attrs=MONO),
    )


class LdapForm(CommonForm):
    """The form for an LDAP or Active Directory server."""

    template = "access/_ldap_fields.html"

    uri = forms.CharField(
        label=gettext_lazy("Server"),
        max_length=rows.LONGEST_URL,
        help_text=gettext_lazy("With ldap:// the panel asks for StartTLS. It never speaks outside of TLS."),
        widget=forms.TextInput(attrs=MONO | {"placeholder": "ldaps://ldap.example.net"}),
    )
    certificates = forms.CharField(
        label=gettext_lazy("Certificates of its own CA"),
        required=False,
        max_length=ldap.LONGEST_CERTIFICATES,
        help_text=gettext_lazy("In PEM. Empty: the public CAs count."),
        widget=forms.Textarea(attrs={"rows": 4, "class": "textarea input-mono", "spellcheck": "false"}),
    )
    bind_dn = forms.CharField(
        label=gettext_lazy("The panel’s name there (bind DN)"),
        required=False,
        max_length=tree.LONGEST_DN,
        help_text=gettext_lazy("This name only needs the right to read people and groups. Empty: anonymous."),
        widget=forms.TextInput(attrs=MONO | {"autocomplete": "off"}),
    )
    secret = forms.CharField(
        label=gettext_lazy("Its password"),
        required=False,
        max_length=ldap.LONGEST_SECRET,
        help_text=gettext_lazy("Kept encrypted, and never shown again."),
        widget=forms.PasswordInput(attrs=MONO | {"autocomplete": "new-password"}),
    )
    base = forms.CharField(
        label=gettext_lazy("Where people are (search base)"),
        max_length=tree.LONGEST_DN,
        widget=forms.TextInput(attrs=MONO | {"placeholder": "ou=people,dc=example,dc=net"}),
    )
    person_filter = _filter(
        gettext_lazy("Sign-in filter"),
        "person_filter",
        gettext_lazy("In Active Directory (&(objectCategory=person)(objectClass=user))."),
    )
    login = attribute_field(
        gettext_lazy("Attributes with the name that people type"),
        tree.DEFAULTS["login"],
        tree.LONGEST_ATTRIBUTE,
        gettext_lazy("With commas between them."),
    )
    subject = attribute_field(
        gettext_lazy("Attribute that never changes"),
        tree.DEFAULTS["subject"],
        tree.LONGEST_ATTRIBUTE,
        gettext_lazy(
            "It identifies the person and can’t be changed later: entryUUID, or objectGUID in Active Directory."
        ),
    )
    username = attribute_field(
        gettext_lazy("Attribute with the user name"),
        tree.DEFAULTS["username"],
        tree.LONGEST_ATTRIBUTE,
        gettext_lazy("uid, or sAMAccountName in Active Directory."),
    )
    mail = attribute_field(
        gettext_lazy("Attribute with the mail address"), tree.DEFAULTS["mail"], tree.LONGEST_ATTRIBUTE
    )
    first_name = attribute_field(
        gettext_lazy("Attribute with the first name"),
        tree.DEFAULTS["first_name"],
        tree.LONGEST_ATTRIBUTE,
        required=False,
    )
    last_name = attribute_field(
        gettext_lazy("Attribute with the last name"),
        tree.DEFAULTS["last_name"],
        tree.LONGEST_ATTRIBUTE,
        required=False,
    )
    groups = forms.ChoiceField(label=gettext_lazy("Group membership"), choices=_GROUPS, initial=Groups.SEARCH)
    group_claim = forms.CharField(
        label=gettext_lazy("Attribute of that"),
        max_length=100,
        initial=tree.DEFAULT_MEMBERS,
        help_text=gettext_lazy("Of the group: member or uniqueMember. Of the person: memberOf."),
        widget=forms.TextInput(attrs=MONO),
    )
    group_base = forms.CharField(
        label=gettext_lazy("Where groups are (search base)"),
        required=False,
        max_length=tree.LONGEST_DN,
        help_text=gettext_lazy("Empty: where people are. Groups from elsewhere give nothing."),
        widget=forms.TextInput(attrs=MONO),
    )
    group_filter = _filter(
        gettext_lazy("Which groups (filter)"),
        "group_filter",
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

    def values(self, provider: SignInProvider) -> dict[str, object]:
        columns = {name: getattr(provider, column) for name, column in ldap.COLUMNS.items()}
        return {**super().values(provider), **columns, **tree.DEFAULTS, **provider.attributes}

    def terms(self) -> ldap.LdapTerms:
        """Return the form's values as `LdapTerms`, without the secret."""
        given = {name: self.cleaned_data[name] for name in ldap.COLUMNS}
        attributes = {name: self.cleaned_data[name] for name in tree.DEFAULTS}
        return ldap.LdapTerms(**self.common(), **given, attributes=attributes)

    def create(self, *, by: User, now: datetime) -> SignInProvider:
        return ldap.create_provider(terms=self.terms(), secret=self.cleaned_data["secret"], by=by, now=now)

    def change(self, provider: SignInProvider, *, by: User, now: datetime) -> None:
        secret = self.cleaned_data["secret"]
        ldap.change_provider(provider=provider, terms=self.terms(), secret=secret, by=by, now=now)


class TryForm(PanelForm):
    """The form for a name to look up on the LDAP server."""

    login = forms.CharField(
        label=gettext_lazy("Name, as it is typed to sign in"),
        max_length=LONGEST_NAME,
        widget=forms.TextInput(attrs=MONO | {"autocomplete": "off", "autocapitalize": "none"}),
    )
