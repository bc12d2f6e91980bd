"""API resources for sign-in providers (OpenID Connect, SAML and LDAP). Callers need the permission `people`.

Changes need an administrator's token without limits, because a provider can sign in anyone.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Permission
from dnspanel.accounts.errors import ProviderRefused
from dnspanel.accounts.models import ProviderKind, SignInProvider
from dnspanel.accounts.providers import rows
from dnspanel.accounts.providers.kinds import KINDS, settings_of
from dnspanel.accounts.providers.provider_identity import Rule
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.problems import RequestFault, invalid
from dnspanel.api.v2.http.view import V2View, actor_in, api_operation, no_content, query_parameter
from dnspanel.api.v2.schema.fields import PAGED, choice_parameter, page_of, read, stamp
from dnspanel.api.v2.schema.provider_serializers import ANY_PROVIDER, SHAPES, ProviderKindSerializer
from dnspanel.field_faults import INVALID
from dnspanel.zones.rights import access

_LISTED = query_parameter("kind", "Only providers of this kind.", enum=ProviderKind.values)


class SignInProviders(V2View):
    @api_operation("listSignInProviders", page_of(ANY_PROVIDER), *PAGED, _LISTED)
    def get(self, request: Request) -> HttpResponse:
        """List sign-in providers.

        Lists the providers of all kinds with their settings and rules, without their secrets. Needs the permission
        `people`.
        """
        access.require(self.actor, Permission.PEOPLE)
        kind = choice_parameter(request.query_params, "kind", ProviderKind.values)
        found = SignInProvider.objects.filter(kind=kind) if kind else SignInProvider.objects.all()
        return page_by_id(request, found, each_as(provider_json))

    @api_operation("createSignInProvider", {201: ANY_PROVIDER}, request=ANY_PROVIDER)
    def post(self, request: Request) -> HttpResponse:
        """Create a sign-in provider.

        Lets people sign in with the new provider. `kind` decides which other fields the body can have. The panel first
        reads an OpenID Connect provider's configuration or a SAML provider's metadata. For LDAP, the panel signs in to
        the server and searches the base. If this fails, the status is 422. Needs an administrator's token without
        limits.
        """
        now = timezone.now()
        access.require(self.actor, Permission.PEOPLE)
        values = _read_new(request.data)
        kind = KINDS[values["kind"]]
        values["attributes"] = {**kind.attributes, **values.get("attributes", {})}
        provider = _write(values["kind"], kind.create, values, by=self.actor, now=now)
        if not values["active"]:
            rows.switch_provider(provider=provider, active=False, by=self.actor, now=now)
        return answer_with_tag(provider_json(provider), 201, Location=f"{request.path}/{provider.pk}")


class OneSignInProvider(V2View):
    @api_operation("getSignInProvider", ANY_PROVIDER)
    def get(self, request: Request, provider_id: int) -> HttpResponse:
        """Read a sign-in provider.

        Returns the provider's settings and rules, without the secret, and the panel's URLs to configure at the
        provider. Needs the permission `people`.
        """
        return answer_with_tag(provider_json(_provider_to_change(request, provider_id)[1]))

    @api_operation("changeSignInProvider", ANY_PROVIDER, request=ANY_PROVIDER)
    def patch(self, request: Request, provider_id: int) -> HttpResponse:
        """Change a sign-in provider.

        Changes the provider's settings, or switches the provider on or off. Fields that the request body omits stay
        unchanged, including single attributes. Needs an administrator's token without limits.
        """
        actor, provider = _provider_to_change(request, provider_id)
        values = _read_change(provider, request.data)
        now, active = timezone.now(), values.pop("active", None)
        with _conditional_write(request, provider_id):
            provider = rows.provider_by_id(provider_id)
            if values:
                present = settings_of(provider)
                attributes = {**present.get("attributes", {}), **values.get("attributes", {})}
                change = partial(KINDS[provider.kind].change, provider=provider)
                _write(provider.kind, change, present | values | {"attributes": attributes}, by=actor, now=now)
            if active is not None:
                rows.switch_provider(provider=provider, active=active, by=actor, now=now)
        return answer_with_tag(provider_json(rows.provider_by_id(provider_id)))

    @api_operation("deleteSignInProvider", {204: None})
    def delete(self, request: Request, provider_id: int) -> HttpResponse:
        """Delete a sign-in provider.

        Also deletes the provider's links to accounts and the rights from the provider's rules. Accounts stay. Needs an
        administrator's token without limits.
        """
        actor, provider = _provider_to_change(request, provider_id)
        with _conditional_write(request, provider_id):
            rows.delete_provider(provider=provider, by=actor, now=timezone.now())
        return no_content()


def provider_json(provider: SignInProvider) -> dict[str, Any]:
    """Return the JSON form of a provider, without its secret."""
    return {
        "id": provider.pk,
        "kind": provider.kind,
        **settings_of(provider),
        "active": provider.active,
        **_own_members_of(provider),
        "created_at": stamp(provider.created_at),
    }


def _own_members_of(provider: SignInProvider) -> dict[str, str]:
    """Return the read-only fields that only this kind of provider has."""
    if provider.kind == ProviderKind.OIDC:
        return {"redirect_uri": rows.panel_url("openid_connect_callback", provider.slug)}
    if provider.kind == ProviderKind.SAML:
        return {
            "issuer": provider.issuer,
            "acs_url": rows.panel_url("saml-acs", provider.slug),
            "own_metadata_url": rows.panel_url("saml-metadata", provider.slug),
        }
    return {"look_fault": provider.look_fault}


def _read_new(body: Any) -> dict[str, Any]:
    """Return the values of a new provider. Read `kind` first, because it decides which other fields are valid."""
    first = {name: value for name, value in body.items() if name == "kind"} if isinstance(body, Mapping) else body
    return read(SHAPES[read(ProviderKindSerializer, first)["kind"]], body)


def _read_change(provider: SignInProvider, body: Any) -> dict[str, Any]:
    """Return the values to change. Raise Problem if the body has another value for a field that can't change."""
    shape = SHAPES[provider.kind]
    fixed = {name: getattr(provider, name) for name in ("kind", "slug", "issuer") if name in shape().fields}
    sent = body if isinstance(body, Mapping) else {}
    if sent.get("kind") not in ProviderKind.values:
        fixed.pop("kind")  # the shape's error lists the kinds
    moved = [name for name, value in fixed.items() if sent.get(name, value) != value]
    if moved:
        texts = {name: f"The {name} of a provider cannot be changed. Create another provider." for name in moved}
        raise invalid([RequestFault(INVALID, text, pointer=f"/{name}") for name, text in texts.items()])
    values = read(shape, body, partial=True)
    return {name: value for name, value in values.items() if name != "kind"}


def _write(kind_name: str, verb: Callable[..., Any], values: Mapping[str, Any], **acting: Any) -> Any:
    """Call `verb` with the terms of this kind of provider, and map its errors to the fields of the body."""
    kind = KINDS[kind_name]
    given = {name: values[name] for name in kind.settings}
    given |= {"rules": tuple(map(Rule.from_json, given["rules"])), "mail_domains": tuple(given["mail_domains"])}
    try:
        return verb(terms=kind.terms(**given), **{kind.secret: values.get(kind.secret, "")}, **acting)
    except ProviderRefused as exc:
        members = {str(field.source): name for name, field in SHAPES[kind_name]().fields.items()}
        members |= {name: f"attributes/{name}" for name in kind.attributes}
        raise ProviderRefused({members.get(name, name): faults for name, faults in exc.fields.items()}) from exc


def _conditional_write(request: Request, provider_id: int) -> AbstractContextManager[None]:
    resource = f"sign-in-provider/{provider_id}"
    return conditional_write(request, resource, lambda: provider_json(rows.provider_by_id(provider_id)))


def _provider_to_change(request: Request, provider_id: int) -> tuple[Actor, SignInProvider]:
    """Return the caller and the provider. Raise ProviderUnknown, or Forbidden if the caller lacks `people`."""
    actor = actor_in(request)
    access.require(actor, Permission.PEOPLE)
    return actor, rows.provider_by_id(provider_id)
