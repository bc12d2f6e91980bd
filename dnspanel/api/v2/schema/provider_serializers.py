"""JSON forms of sign-in providers. The field `kind` decides which form a provider has."""

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers

from dnspanel.accounts.models import ProviderKind, Role
from dnspanel.accounts.providers import rows
from dnspanel.accounts.providers.ldap import ldap_servers as ldap
from dnspanel.accounts.providers.ldap import ldap_terms as tree
from dnspanel.accounts.providers.oidc import oidc_providers as oidc
from dnspanel.accounts.providers.provider_identity import LONGEST_GROUP, MOST_RULES
from dnspanel.accounts.providers.saml import saml_providers as saml
from dnspanel.accounts.providers.saml.metadata import LONGEST_METADATA
from dnspanel.api.v2.schema.fields import Choice, Flag, Integer, OptionalText, Shape, Text

_SAML_ATTRIBUTE = {"max_length": saml.LONGEST_ATTRIBUTE, "required": False}
_LDAP_ATTRIBUTE = {"max_length": tree.LONGEST_ATTRIBUTE, "required": False}


class SignInRuleSerializer(Shape):
    """A rule that gives a role to the members of a group.

    The role applies to the whole panel or to a team. For a custom role, `role` must be `member`.
    """

    group = Text(max_length=LONGEST_GROUP, help_text="Name of the group at the provider.")
    role = Choice(choices=Role.choices)
    team = Integer(allow_null=True, default=None, help_text="Id of the team; null: panel-wide.")
    own_role = Integer(allow_null=True, default=None, help_text="Id of a role from `listRoles`.")


class ProviderShape(Shape):
    """The fields that all kinds of providers share, except `kind`."""

    id = serializers.IntegerField(read_only=True)
    name = Text(max_length=40, help_text="Name on the sign-in button.")
    slug = Text(max_length=40, help_text="Lowercase letters, digits and dashes; part of the panel's URLs.")
    rules = SignInRuleSerializer(many=True, default=list, max_length=MOST_RULES)
    makes_people = Flag(default=False, help_text="Create an account at a person's first sign-in.")
    mail_domains = serializers.ListField(
        child=Text(max_length=253),
        default=list,
        max_length=rows.MOST_DOMAINS,
        help_text="Mail domains of people who get an account at their first sign-in.",
    )
    links_by_mail = Flag(default=False, help_text="Link to the account that has the same verified address.")
    trusts_mail = Flag(default=False, help_text="Treat every address of the provider as verified.")
    session_hours = Integer(
        default=12, min_value=1, max_value=rows.LONGEST_SESSION, help_text="Hours until people must sign in again."
    )
    active = Flag(default=True, help_text="While it is off, sign-in by it is blocked, and sessions of its people end.")
    created_at = serializers.DateTimeField(read_only=True)


class OidcProviderSerializer(ProviderShape):
    """An OpenID Connect provider.

    `kind`, `slug` and `issuer` cannot be changed later.
    """

    kind = Choice(choices=[ProviderKind.OIDC.value])
    issuer = Text(max_length=rows.LONGEST_URL, help_text="Issuer, exactly as the provider writes it.")
    client_id = Text(max_length=255, help_text="Id of the panel at the provider.")
    client_secret = Text(source="secret", max_length=oidc.LONGEST_SECRET, write_only=True, help_text="Never returned.")
    scopes = Text(max_length=300, default=oidc.DEFAULT_SCOPES, help_text="Scopes to request, separated by spaces.")
    group_claim = Text(max_length=100, default="groups", help_text="Claim that lists a person's groups.")
    redirect_uri = serializers.CharField(read_only=True, help_text="Redirect URI to configure at the provider.")


class SamlAttributesSerializer(Shape):
    """The names of the provider's attributes, given as Name or FriendlyName."""

    subject = Text(**_SAML_ATTRIBUTE, allow_blank=True, help_text="Unchanging attribute. Empty: the NameID.")
    mail = Text(**_SAML_ATTRIBUTE)
    username = Text(**_SAML_ATTRIBUTE)
    first_name = Text(**_SAML_ATTRIBUTE)
    last_name = Text(**_SAML_ATTRIBUTE)


class SamlProviderSerializer(ProviderShape):
    """A SAML provider.

    `kind`, `slug` and `issuer` cannot be changed later.
    """

    kind = Choice(choices=[ProviderKind.SAML.value])
    metadata_url = OptionalText(max_length=rows.LONGEST_URL, help_text="Read regularly.")
    metadata = OptionalText(
        max_length=LONGEST_METADATA, write_only=True, help_text="Metadata, if there is no URL. Never returned."
    )
    client_id = OptionalText(
        max_length=saml.LONGEST_ENTITY_ID, help_text="Entity ID of the panel; empty: `own_metadata_url`."
    )
    attributes = SamlAttributesSerializer(default=dict)
    group_claim = Text(
        max_length=rows.LONGEST_GROUP_NAME, default=saml.DEFAULT_GROUPS, help_text="Attribute with groups."
    )
    issuer = serializers.CharField(read_only=True, help_text="Entity ID, from the metadata.")
    acs_url = serializers.CharField(read_only=True, help_text="URL for the provider's responses.")
    own_metadata_url = serializers.CharField(read_only=True, help_text="URL of the panel's metadata.")


class LdapAttributesSerializer(Shape):
    """The search bases for people and groups on the server, and the names of their attributes."""

    base = Text(max_length=tree.LONGEST_DN, required=False, help_text="Search base for people.")
    person_filter = Text(
        max_length=tree.LONGEST_FILTER, required=False, help_text="LDAP filter that finds people who can sign in."
    )
    login = Text(**_LDAP_ATTRIBUTE, help_text="Attributes with the name that people type, separated by commas.")
    subject = Text(
        **_LDAP_ATTRIBUTE, help_text="Unchanging attribute: entryUUID or objectGUID. Cannot be changed later."
    )
    username = Text(**_LDAP_ATTRIBUTE)
    mail = Text(**_LDAP_ATTRIBUTE)
    first_name = Text(**_LDAP_ATTRIBUTE, allow_blank=True)
    last_name = Text(**_LDAP_ATTRIBUTE, allow_blank=True)
    groups = Choice(
        choices=[each.value for each in tree.Groups],
        required=False,
        help_text="Way in which the server stores memberships.",
    )
    group_base = Text(max_length=tree.LONGEST_DN, required=False, allow_blank=True, help_text="Empty: as for people.")
    group_filter = Text(max_length=tree.LONGEST_FILTER, required=False, help_text="LDAP filter that finds groups.")


class LdapProviderSerializer(ProviderShape):
    """An LDAP server or an Active Directory.

    `kind`, `slug` and the attribute `subject` cannot be changed later. A change of `uri`, `bind_dn` or `certificates`
    needs the secret again.
    """

    kind = Choice(choices=[ProviderKind.LDAP.value])
    uri = Text(max_length=rows.LONGEST_URL, help_text="URL: ldaps://host, or ldap://host for StartTLS.")
    certificates = OptionalText(max_length=ldap.LONGEST_CERTIFICATES, help_text="CA certificates (PEM).")
    bind_dn = OptionalText(max_length=tree.LONGEST_DN, help_text="DN of the panel.")
    secret = OptionalText(max_length=ldap.LONGEST_SECRET, write_only=True, help_text="Never returned.")
    group_claim = Text(max_length=100, default=tree.DEFAULT_MEMBERS, help_text="Attribute with the memberships.")
    attributes = LdapAttributesSerializer()
    look_fault = serializers.CharField(read_only=True, help_text="Reason why the panel could not look up people.")


class ProviderKindSerializer(Shape):
    """The field that decides which form the body has."""

    kind = Choice(choices=ProviderKind.values)


SHAPES: dict[str, type[ProviderShape]] = {
    ProviderKind.OIDC.value: OidcProviderSerializer,
    ProviderKind.SAML.value: SamlProviderSerializer,
    ProviderKind.LDAP.value: LdapProviderSerializer,
}
ANY_PROVIDER = PolymorphicProxySerializer("SignInProvider", {**SHAPES}, "kind")
