"""Resources of OpenID Connect providers for sign-in. Callers need the permission `people`."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.models import ProviderKind, Role, SignInProvider
from dnspanel.accounts.providers import rows
from dnspanel.accounts.providers.oidc import oidc_providers as providers
from dnspanel.accounts.providers.provider_identity import LONGEST_GROUP, MOST_RULES, Rule
from dnspanel.api.v2.http.answers import actor_in, no_content
from dnspanel.api.v2.http.conditional_write import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import each_as, page_by_id, page_request
from dnspanel.api.v2.http.view import V2View
from dnspanel.api.v2.schema.fields import PAGED, Choice, Flag, Integer, Shape, Text, page_of, read, stamp
from dnspanel.zones.rights import access

_TERMS = tuple(providers.ProviderTerms.__dataclass_fields__)


class SignInRuleSerializer(Shape):
    """A rule that gives a role to the members of a group.

    The role applies to the whole panel or to a team. For a custom role, `role` must be `member`.
    """

    group = Text(max_length=LONGEST_GROUP, help_text="Name of the group at the provider.")
    role = Choice(choices=Role.choices)
    team = Integer(allow_null=True, default=None, help_text="Id of the team; null: panel-wide.")
    own_role = Integer(allow_null=True, default=None, help_text="Id of a role from `listRoles`.")


class ProviderShape(Shape):
    """The fields that all kinds of providers share."""

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


class SignInProviderSerializer(ProviderShape):
    """An OpenID Connect provider.

    `slug` and `issuer` cannot be changed later.
    """

    issuer = Text(max_length=rows.LONGEST_URL, help_text="Issuer, exactly as the provider writes it.")
    client_id = Text(max_length=255, help_text="Id of the panel at the provider.")
    client_secret = Text(max_length=providers.LONGEST_SECRET, write_only=True, help_text="Never returned.")
    scopes = Text(max_length=300, default=providers.DEFAULT_SCOPES, help_text="Scopes to request, separated by spaces.")
    group_claim = Text(max_length=100, default="groups", help_text="Claim that lists a person's groups.")
    redirect_uri = serializers.CharField(read_only=True, help_text="Redirect URI to configure at the provider.")


class SignInProviders(V2View):
    """View to list and create OpenID Connect providers."""

    unconditional = True

    @extend_schema(operation_id="listSignInProviders", parameters=PAGED, responses=page_of(SignInProviderSerializer))
    def get(self, request: Request) -> HttpResponse:
        """List OpenID Connect providers.

        Lists the providers with their settings and rules, without their secrets. Needs the permission `people`.
        """
        access.require(actor_in(request), Permission.PEOPLE)
        page = page_request(request, int)
        return page_by_id(request, page, SignInProvider.objects.filter(kind=ProviderKind.OIDC), each_as(provider_json))

    @extend_schema(
        operation_id="createSignInProvider",
        request=SignInProviderSerializer,
        responses={201: SignInProviderSerializer},
    )
    def post(self, request: Request) -> HttpResponse:
        """Create an OpenID Connect provider.

        Lets people sign in at the new provider. The panel first reads the provider's configuration. If the panel cannot
        read the configuration, the status is 422. Needs the permission `people`.
        """
        actor, now = actor_in(request), timezone.now()
        access.require(actor, Permission.PEOPLE)
        values = read(SignInProviderSerializer, request.data)
        provider = providers.create_provider(terms=_terms(values), secret=values["client_secret"], by=actor, now=now)
        if not values["active"]:
            rows.switch_provider(provider=provider, active=False, by=actor, now=now)
        return answer_with_tag(provider_json(provider), 201, Location=f"{request.path}/{provider.pk}")


class OneSignInProvider(V2View):
    """View to read, change or delete an OpenID Connect provider."""

    @extend_schema(operation_id="getSignInProvider", responses=SignInProviderSerializer)
    def get(self, request: Request, provider_id: int) -> HttpResponse:
        """Read an OpenID Connect provider.

        Returns the provider's settings and rules, without the secret. Needs the permission `people`.
        """
        return answer_with_tag(provider_json(provider_to_change(request, provider_id, ProviderKind.OIDC)[1]))

    @extend_schema(
        operation_id="changeSignInProvider", request=SignInProviderSerializer, responses=SignInProviderSerializer
    )
    def patch(self, request: Request, provider_id: int) -> HttpResponse:
        """Change an OpenID Connect provider.

        Changes the provider's settings, or switches the provider on or off. Fields that the request body omits stay
        unchanged. Needs the permission `people`.
        """
        actor, _ = provider_to_change(request, provider_id, ProviderKind.OIDC)
        values = read(SignInProviderSerializer, request.data, partial=True)
        now, active = timezone.now(), values.pop("active", None)
        with written_provider(request, provider_id, ProviderKind.OIDC, provider_json):
            provider = rows.provider_by_id(provider_id, ProviderKind.OIDC)
            if values:
                terms = _terms({name: getattr(provider, name) for name in _TERMS} | values)
                secret = values.get("client_secret", "")
                providers.change_provider(provider=provider, terms=terms, secret=secret, by=actor, now=now)
            if active is not None:
                rows.switch_provider(provider=provider, active=active, by=actor, now=now)
        return answer_with_tag(provider_json(rows.provider_by_id(provider_id, ProviderKind.OIDC)))

    @extend_schema(operation_id="deleteSignInProvider", responses={204: None})
    def delete(self, request: Request, provider_id: int) -> HttpResponse:
        """Delete an OpenID Connect provider.

        Also deletes the provider's links to accounts and the rights from the provider's rules. Accounts stay. Needs the
        permission `people`.
        """
        actor, provider = provider_to_change(request, provider_id, ProviderKind.OIDC)
        with written_provider(request, provider_id, ProviderKind.OIDC, provider_json):
            rows.delete_provider(provider=provider, by=actor, now=timezone.now())
        return no_content()


def provider_json(provider: SignInProvider) -> dict[str, Any]:
    """Return the JSON form of an OpenID Connect provider, without its secret."""
    return {
        "id": provider.pk,
        **{name: getattr(provider, name) for name in _TERMS},
        "active": provider.active,
        "redirect_uri": settings.PANEL_URL + reverse("openid_connect_callback", args=[provider.slug]),
        "created_at": stamp(provider.created_at),
    }


def _terms(values: dict[str, Any]) -> providers.ProviderTerms:
    return providers.ProviderTerms(**given_terms(values, _TERMS))


def given_terms(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the values with these names, with the rules as `Rule` objects and the mail domains as a tuple."""
    terms = {name: values[name] for name in names}
    terms["rules"] = tuple(map(Rule.from_json, terms["rules"]))
    terms["mail_domains"] = tuple(terms["mail_domains"])
    return terms


def written_provider(
    request: Request, provider_id: int, kind: ProviderKind, json: Callable[[SignInProvider], dict[str, Any]]
) -> Any:
    """Return the `conditional_write` for this provider, which locks the provider and checks If-Match."""
    return conditional_write(
        request, f"sign-in-provider/{provider_id}", lambda: json(rows.provider_by_id(provider_id, kind))
    )


def provider_to_change(request: Request, provider_id: int, kind: ProviderKind) -> tuple[Actor, SignInProvider]:
    """Return the caller and the provider.

    Raise Forbidden without the permission `people`, ProviderUnknown for an unknown id.
    """
    actor = actor_in(request)
    access.require(actor, Permission.PEOPLE)
    return actor, rows.provider_by_id(provider_id, kind)
