"""Resources of SAML providers for sign-in. Callers need the permission `people`."""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.models import ProviderKind, SignInProvider
from dnspanel.accounts.providers import rows
from dnspanel.accounts.providers.saml import saml_providers as saml
from dnspanel.accounts.providers.saml.metadata import LONGEST_METADATA
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
from dnspanel.api.v2.schema.fields import PAGED, Shape, Text, page_of, read, stamp
from dnspanel.zones.rights import access

_TERMS = tuple(saml.SamlTerms.__dataclass_fields__)
_ATTRIBUTE = {"max_length": saml.LONGEST_ATTRIBUTE, "required": False}


class SamlAttributesSerializer(Shape):
    """The names of the provider's attributes, as Name or FriendlyName."""

    subject = Text(**_ATTRIBUTE, allow_blank=True, help_text="Unchanging attribute. Empty: the NameID.")
    mail = Text(**_ATTRIBUTE)
    username = Text(**_ATTRIBUTE)
    first_name = Text(**_ATTRIBUTE)
    last_name = Text(**_ATTRIBUTE)


class SamlProviderSerializer(ProviderShape):
    """A SAML provider.

    `slug` and `issuer` cannot be changed later.
    """

    metadata_url = Text(max_length=rows.LONGEST_URL, default="", allow_blank=True, help_text="Read regularly.")
    metadata = Text(
        max_length=LONGEST_METADATA,
        default="",
        allow_blank=True,
        write_only=True,
        help_text="Metadata, if there is no URL.",
    )
    client_id = Text(
        max_length=saml.LONGEST_ENTITY_ID,
        default="",
        allow_blank=True,
        help_text="Entity ID of the panel; empty: `own_metadata_url`.",
    )
    attributes = SamlAttributesSerializer(default=dict)
    group_claim = Text(
        max_length=rows.LONGEST_GROUP_NAME, default=saml.DEFAULT_GROUPS, help_text="Attribute with groups."
    )
    issuer = serializers.CharField(read_only=True, help_text="Entity ID, from the metadata.")
    acs_url = serializers.CharField(read_only=True, help_text="URL for the provider's responses.")
    own_metadata_url = serializers.CharField(read_only=True, help_text="URL of the panel's metadata.")


class SamlProviders(V2View):
    """View to list and create SAML providers."""

    unconditional = True

    @extend_schema(operation_id="listSamlProviders", parameters=PAGED, responses=page_of(SamlProviderSerializer))
    def get(self, request: Request) -> HttpResponse:
        """List SAML providers.

        Lists the providers with their settings and rules. Needs the permission `people`.
        """
        access.require(actor_in(request), Permission.PEOPLE)
        found = SignInProvider.objects.filter(kind=ProviderKind.SAML)
        return page_by_id(request, page_request(request, int), found, each_as(saml_json))

    @extend_schema(
        operation_id="createSamlProvider", request=SamlProviderSerializer, responses={201: SamlProviderSerializer}
    )
    def post(self, request: Request) -> HttpResponse:
        """Create a SAML provider.

        Lets people sign in at the new provider. The panel reads the provider's metadata from a URL, or from the request
        body. If the panel cannot use the metadata, the status is 422. Needs the permission `people`.
        """
        actor, now = actor_in(request), timezone.now()
        access.require(actor, Permission.PEOPLE)
        values = read(SamlProviderSerializer, request.data)
        terms = saml.SamlTerms(**given_terms(values, _TERMS))
        provider = saml.create_provider(terms=terms, metadata=values["metadata"], by=actor, now=now)
        if not values["active"]:
            rows.switch_provider(provider=provider, active=False, by=actor, now=now)
        return answer_with_tag(saml_json(provider), 201, Location=f"{request.path}/{provider.pk}")


class OneSamlProvider(V2View):
    """View to read, change or delete a SAML provider."""

    @extend_schema(operation_id="getSamlProvider", responses=SamlProviderSerializer)
    def get(self, request: Request, provider_id: int) -> HttpResponse:
        """Read a SAML provider.

        Returns the provider's settings and rules, and the panel's URLs that the provider needs. Needs the permission
        `people`.
        """
        return answer_with_tag(saml_json(provider_to_change(request, provider_id, ProviderKind.SAML)[1]))

    @extend_schema(operation_id="changeSamlProvider", request=SamlProviderSerializer, responses=SamlProviderSerializer)
    def patch(self, request: Request, provider_id: int) -> HttpResponse:
        """Change a SAML provider.

        Changes the provider's settings, or switches the provider on or off. Fields that the request body omits stay
        unchanged. Needs the permission `people`.
        """
        actor, _ = provider_to_change(request, provider_id, ProviderKind.SAML)
        values = read(SamlProviderSerializer, request.data, partial=True)
        now, active, metadata = timezone.now(), values.pop("active", None), values.pop("metadata", "")
        with written_provider(request, provider_id, ProviderKind.SAML, saml_json):
            provider = rows.provider_by_id(provider_id, ProviderKind.SAML)
            if values or metadata:
                given = given_terms({name: getattr(provider, name) for name in _TERMS} | values, _TERMS)
                terms = saml.SamlTerms(**given)
                saml.change_provider(provider=provider, terms=terms, metadata=metadata, by=actor, now=now)
            if active is not None:
                rows.switch_provider(provider=provider, active=active, by=actor, now=now)
        return answer_with_tag(saml_json(rows.provider_by_id(provider_id)))

    @extend_schema(operation_id="deleteSamlProvider", responses={204: None})
    def delete(self, request: Request, provider_id: int) -> HttpResponse:
        """Delete a SAML provider.

        Also deletes the provider's links to accounts and the rights from the provider's rules. Accounts stay. Needs the
        permission `people`.
        """
        actor, provider = provider_to_change(request, provider_id, ProviderKind.SAML)
        with written_provider(request, provider_id, ProviderKind.SAML, saml_json):
            rows.delete_provider(provider=provider, by=actor, now=timezone.now())
        return no_content()


def saml_json(provider: SignInProvider) -> dict[str, Any]:
    """Return the JSON form of a SAML provider."""
    return {
        "id": provider.pk,
        **{name: getattr(provider, name) for name in _TERMS},
        "attributes": {**saml.ATTRIBUTES, **provider.attributes},
        "issuer": provider.issuer,
        "active": provider.active,
        "acs_url": saml.panel_url("saml-acs", provider.slug),
        "own_metadata_url": saml.panel_url("saml-metadata", provider.slug),
        "created_at": stamp(provider.created_at),
    }
