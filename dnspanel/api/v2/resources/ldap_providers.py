"""Resources of LDAP servers for sign-in. Callers need the permission `people`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.errors import ProviderRefused
from dnspanel.accounts.models import ProviderKind, SignInProvider
from dnspanel.accounts.providers import rows
from dnspanel.accounts.providers.ldap import ldap_servers as ldap
from dnspanel.accounts.providers.ldap import ldap_terms as tree
from dnspanel.api.v2.http.answers import actor_in, no_content
from dnspanel.api.v2.http.conditional_write import answer_with_tag
from dnspanel.api.v2.http.pages import each_as, page_by_id, page_request
from dnspanel.api.v2.http.view import V2View
from dnspanel.api.v2.resources.sign_in_providers import (
    ProviderShape,
    given_terms,
    provider_to_change,
    written_provider,
)
from dnspanel.api.v2.schema.fields import PAGED, Choice, Shape, Text, page_of, read, stamp
from dnspanel.zones.rights import access

_TERMS = tuple(ldap.LdapTerms.__dataclass_fields__)
_ATTRIBUTE = {"max_length": 100, "required": False}


class LdapAttributesSerializer(Shape):
    """The search bases of people and groups on the server, and the names of their attributes."""

    base = Text(max_length=tree.LONGEST_DN, required=False, help_text="Search base for people.")
    person_filter = Text(
        max_length=tree.LONGEST_FILTER, required=False, help_text="LDAP filter that finds people who can sign in."
    )
    login = Text(**_ATTRIBUTE, help_text="Attributes with the name that people type, separated by commas.")
    subject = Text(**_ATTRIBUTE, help_text="Unchanging attribute: entryUUID or objectGUID. Cannot be changed later.")
    username = Text(**_ATTRIBUTE)
    mail = Text(**_ATTRIBUTE)
    first_name = Text(**_ATTRIBUTE, allow_blank=True)
    last_name = Text(**_ATTRIBUTE, allow_blank=True)
    groups = Choice(
        choices=[each.value for each in tree.Groups],
        required=False,
        help_text="Way in which the server stores memberships.",
    )
    group_base = Text(max_length=tree.LONGEST_DN, required=False, allow_blank=True, help_text="Empty: as for people.")
    group_filter = Text(max_length=tree.LONGEST_FILTER, required=False, help_text="LDAP filter that finds groups.")


class LdapProviderSerializer(ProviderShape):
    """An LDAP server or an Active Directory.

    `slug` and the attribute `subject` cannot be changed later.
    """

    uri = Text(max_length=rows.LONGEST_URL, help_text="URL: ldaps://host, or ldap://host for StartTLS.")
    certificates = Text(
        max_length=ldap.LONGEST_CERTIFICATES, default="", allow_blank=True, help_text="CA certificates (PEM)."
    )
    bind_dn = Text(max_length=tree.LONGEST_DN, default="", allow_blank=True, help_text="DN of the panel.")
    secret = Text(
        max_length=ldap.LONGEST_SECRET, default="", allow_blank=True, write_only=True, help_text="Never returned."
    )
    group_claim = Text(max_length=100, default=tree.DEFAULT_MEMBERS, help_text="Attribute with the memberships.")
    attributes = LdapAttributesSerializer()
    look_fault = serializers.CharField(read_only=True, help_text="Reason why the panel could not look up people.")


class LdapProviders(V2View):
    """View to list and create LDAP servers."""

    unconditional = True

    @extend_schema(operation_id="listLdapProviders", parameters=PAGED, responses=page_of(LdapProviderSerializer))
    def get(self, request: Request) -> HttpResponse:
        """List LDAP servers.

        Lists the servers with their settings and rules, without their secrets. Needs the permission `people`.
        """
        access.require(actor_in(request), Permission.PEOPLE)
        found = SignInProvider.objects.filter(kind=ProviderKind.LDAP)
        return page_by_id(request, page_request(request, int), found, each_as(ldap_json))

    @extend_schema(
        operation_id="createLdapProvider", request=LdapProviderSerializer, responses={201: LdapProviderSerializer}
    )
    def post(self, request: Request) -> HttpResponse:
        """Create an LDAP server.

        Lets people sign in with their LDAP passwords. The panel first signs in to the server and searches the base. If
        the panel fails to do so, the status is 422. Needs the permission `people`.
        """
        actor, now = actor_in(request), timezone.now()
        access.require(actor, Permission.PEOPLE)
        values = read(LdapProviderSerializer, request.data)
        with _pointing():
            provider = ldap.create_provider(terms=_terms(values), secret=values["secret"], by=actor, now=now)
        if not values["active"]:
            rows.switch_provider(provider=provider, active=False, by=actor, now=now)
        return answer_with_tag(ldap_json(provider), 201, Location=f"{request.path}/{provider.pk}")


class OneLdapProvider(V2View):
    """View to read, change or delete an LDAP server."""

    @extend_schema(operation_id="getLdapProvider", responses=LdapProviderSerializer)
    def get(self, request: Request, provider_id: int) -> HttpResponse:
        """Read an LDAP server.

        Returns the server's settings and rules, without the secret. Needs the permission `people`.
        """
        return answer_with_tag(ldap_json(provider_to_change(request, provider_id, ProviderKind.LDAP)[1]))

    @extend_schema(operation_id="changeLdapProvider", request=LdapProviderSerializer, responses=LdapProviderSerializer)
    def patch(self, request: Request, provider_id: int) -> HttpResponse:
        """Change an LDAP server.

        Changes the server's settings, or switches the server on or off. Fields that the request body omits stay
        unchanged, including single attributes. A new address, name or certificate needs the secret again. Needs the
        permission `people`.
        """
        actor, _ = provider_to_change(request, provider_id, ProviderKind.LDAP)
        values = read(LdapProviderSerializer, request.data, partial=True)
        now, active, secret = timezone.now(), values.pop("active", None), values.pop("secret", "")
        with _pointing(), written_provider(request, provider_id, ProviderKind.LDAP, ldap_json):
            provider = rows.provider_by_id(provider_id, ProviderKind.LDAP)
            if values or secret:
                terms = _terms(_as_terms(provider) | values, provider.attributes)
                ldap.change_provider(provider=provider, terms=terms, secret=secret, by=actor, now=now)
            if active is not None:
                rows.switch_provider(provider=provider, active=active, by=actor, now=now)
        return answer_with_tag(ldap_json(rows.provider_by_id(provider_id)))

    @extend_schema(operation_id="deleteLdapProvider", responses={204: None})
    def delete(self, request: Request, provider_id: int) -> HttpResponse:
        """Delete an LDAP server.

        Also deletes the server's links to accounts and the rights from the server's rules. Accounts stay. Needs the
        permission `people`.
        """
        actor, provider = provider_to_change(request, provider_id, ProviderKind.LDAP)
        with written_provider(request, provider_id, ProviderKind.LDAP, ldap_json):
            rows.delete_provider(provider=provider, by=actor, now=timezone.now())
        return no_content()


@contextmanager
def _pointing() -> Iterator[None]:
    """Add the path `attributes/` to errors about attributes, so that an error points at its attribute in the body."""
    try:
        yield
    except ProviderRefused as exc:
        within = {name: f"attributes/{name}" for name in tree.DEFAULTS}
        fields = {within.get(name, name): faults for name, faults in exc.fields.items()}
        raise ProviderRefused(fields) from exc


def ldap_json(provider: SignInProvider) -> dict[str, Any]:
    """Return the JSON form of an LDAP server, without its secret."""
    return {
        "id": provider.pk,
        **_as_terms(provider),
        "active": provider.active,
        "look_fault": provider.look_fault,
        "created_at": stamp(provider.created_at),
    }


def _as_terms(provider: SignInProvider) -> dict[str, Any]:
    named = {name: getattr(provider, ldap.COLUMNS.get(name, name)) for name in _TERMS}
    return named | {"attributes": tree.DEFAULTS | provider.attributes}


def _terms(values: dict[str, Any], attributes: dict[str, str] = tree.DEFAULTS) -> ldap.LdapTerms:
    given = given_terms(values, _TERMS)
    return ldap.LdapTerms(**given | {"attributes": attributes | given["attributes"]})
