"""Resources for consumed catalogs (RFC 9432): the catalogs, their rules, their members, and pending removals."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write, tag_of
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.representation import code_of
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, form_id_of, no_content, query_parameter
from dnspanel.api.v2.resources.primaries import PrimariesSerializer, primaries_json
from dnspanel.api.v2.schema.fields import PAGED, Choice, Integer, Shape, Text, ZoneName, page_of, read
from dnspanel.api.v2.schema.query_parameters import DRY_RUN
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.catalogs import access, set_up_catalogs
from dnspanel.catalogs.models import Catalog, Listing, Rule, State
from dnspanel.catalogs.queries import CatalogRow, catalog_row, rows_of
from dnspanel.catalogs.set_up_catalogs import CatalogTerms, RuleTerms
from dnspanel.primaries.set_up_primaries import Terms
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel


class CatalogTermsSerializer(Shape):
    """The settings for a consumed catalog's members."""

    team = Integer(default=None, allow_null=True, help_text="Id of the team that members belong to.")
    tags = serializers.ListField(child=Text(max_length=60), max_length=50, default=list)
    within = serializers.ListField(
        child=Text(max_length=1100),
        max_length=set_up_catalogs.MOST_WITHIN,
        default=list,
        help_text="Names below which members are allowed; empty: any. A member inside or above a zone that is not a "
        "member is accepted only if that zone is listed here.",
    )
    most_members = Integer(
        default=1_000,
        min_value=1,
        max_value=set_up_catalogs.MOST_MEMBERS,
        help_text="Limit of members. A catalog with more members is refused.",
    )
    most_lost = Integer(
        default=20,
        min_value=0,
        max_value=100,
        help_text="Percentage of members that can leave at once; more removals wait for `confirmCatalogRemovals`.",
    )


class NewCatalogSerializer(CatalogTermsSerializer):
    """A catalog to consume."""

    name = ZoneName()
    primaries = PrimariesSerializer(help_text="Primaries of the catalog zone and of its members.")


class CatalogSerializer(CatalogTermsSerializer):
    """A consumed catalog and its state."""

    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(read_only=True)
    state = serializers.ChoiceField(
        choices=["in-step", "awaited", "failing", "broken", "kept", "refused"],
        read_only=True,
        help_text="Most severe state: `broken` (nothing is applied), `kept` (removals wait for a confirmation), "
        "`refused` (some listed zones are refused), `failing` (no transfers).",
    )
    serial = serializers.IntegerField(read_only=True, allow_null=True, help_text="Null before the first transfer.")
    listed = serializers.IntegerField(read_only=True, help_text="Number of listed zones.")
    members = serializers.IntegerField(read_only=True, help_text="Number of listed zones that are members here.")
    refused = serializers.IntegerField(read_only=True, help_text="Number of members that are not zones here.")
    broken_since = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="Time when the catalog became unreadable; null: it is readable."
    )
    broken_reason = serializers.CharField(read_only=True, help_text="Reason why the catalog is unreadable.")
    kept_since = serializers.DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="Time when removals began to wait for `confirmCatalogRemovals`; null: none.",
    )
    kept = serializers.IntegerField(read_only=True, help_text="Number of removals that wait for the confirmation.")
    kept_revision = serializers.IntegerField(read_only=True, allow_null=True, help_text="Revision to confirm.")
    created_at = serializers.DateTimeField(read_only=True)


class RuleSerializer(Shape):
    """A rule for the members of one group in a consumed catalog: their team, tags and primaries."""

    group = Text(
        max_length=set_up_catalogs.LONGEST_GROUP, help_text="Group of members (RFC 9432) that the rule applies to."
    )
    team = Integer(default=None, allow_null=True, help_text="Null: the catalog's team.")
    tags = serializers.ListField(
        child=Text(max_length=60), max_length=50, default=list, help_text="Tags in addition to the catalog's tags."
    )
    primaries = PrimariesSerializer(default=None, allow_null=True, help_text="Null: the primaries of the catalog.")


class RulesSerializer(Shape):
    """The rules of a consumed catalog.

    For each member, the first rule that matches one of the member's groups applies.
    """

    rules = serializers.ListField(child=RuleSerializer(), max_length=set_up_catalogs.MOST_RULES)


class CatalogListingSerializer(serializers.Serializer):
    """A member of a consumed catalog and its state."""

    zone = serializers.CharField()
    label = serializers.CharField(help_text="The member's label in the catalog zone.")
    groups = serializers.ListField(child=serializers.CharField(), help_text="Groups of the member in the catalog.")
    coo = serializers.CharField(help_text="Catalog that the member can move to; empty: none.")
    state = Choice(choices=State.choices)
    reason = serializers.CharField(help_text="Reason why the member is not a zone here.")
    since = serializers.DateTimeField(help_text="Start of this state.")
    serial = serializers.IntegerField(allow_null=True, help_text="Serial on the primary; null: not transferred yet.")


class ConfirmationSerializer(Shape):
    """The catalog revision whose removals the client confirms."""

    revision = Integer(help_text="`kept_revision` of the catalog that you have read.")


class Catalogs(V2View):
    @api_operation("listCatalogs", page_of(CatalogSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List consumed catalogs.

        A consumed catalog is another server's catalog zone. The panel creates zones for its members. Needs the
        permission `fleet`.
        """
        return page_by_id(request, access.catalogs_visible_to(self.actor), _catalogs_json)

    @api_operation("createCatalog", {201: CatalogSerializer}, DRY_RUN, request=NewCatalogSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Consume a catalog.

        The panel transfers the catalog zone immediately, then creates zones for its members. Needs the permission
        `nodes` and the rights `create-zone`, `add`, `settings` and `delete-zone` for all zones.
        """
        actor = access.require_set_up(self.actor)
        values = read(NewCatalogSerializer, request.data)
        name, primaries = values.pop("name"), _primaries(values.pop("primaries"))
        catalog = set_up_catalogs.follow_catalog(
            name=name,
            primaries_terms=primaries,
            terms=CatalogTerms(**values),
            acting=Acting(actor, Channel.API, timezone.now(), form_id=form_id_of(request)),
        )
        return _answer_catalog(actor, catalog.pk, 201, Location=f"{request.path}/{catalog.pk}")


class OneCatalog(V2View):
    @api_operation("getCatalog", CatalogSerializer)
    def get(self, request: Request, catalog_id: int) -> HttpResponse:
        """Read a consumed catalog.

        Returns the catalog's settings, serial and state, and its number of members. Needs the permission `fleet`.
        """
        return _answer_catalog(self.actor, catalog_id)

    @api_operation("changeCatalog", CatalogSerializer, request=CatalogTermsSerializer)
    def patch(self, request: Request, catalog_id: int) -> HttpResponse:
        """Change a consumed catalog.

        Changes the settings for the catalog's members. The new settings also apply to existing members. Fields that the
        request body omits stay unchanged. Needs the same rights as `createCatalog`.
        """
        actor, catalog = _to_change(request, catalog_id)
        values = read(CatalogTermsSerializer, request.data, partial=True)
        with _guard_write(request, actor, catalog_id):
            terms = replace(set_up_catalogs.terms_of(access.catalog_for(actor, catalog_id)), **values)
            set_up_catalogs.change_catalog(catalog=catalog, terms=terms, author=actor, now=timezone.now())
        return _answer_catalog(actor, catalog_id)

    @api_operation("deleteCatalog", {204: None}, DRY_RUN)
    def delete(self, request: Request, catalog_id: int) -> HttpResponse:
        """Stop consuming a catalog.

        Moves the catalog zone to the trash. Its members' zones remain, and the panel still transfers them from their
        primaries. Needs the same rights as `createCatalog`.
        """
        actor, catalog = _to_change(request, catalog_id)
        with _guard_write(request, actor, catalog_id):
            set_up_catalogs.unfollow_catalog(catalog=catalog, author=actor, channel=Channel.API, now=timezone.now())
        return no_content()


class CatalogRules(V2View):
    @api_operation("getCatalogRules", RulesSerializer)
    def get(self, request: Request, catalog_id: int) -> HttpResponse:
        """Read the rules of a consumed catalog.

        A rule sets the team, the tags and the primaries for the members of one group. Needs the permission `fleet`.
        """
        return answer_with_tag(_rules_json(access.catalog_for(self.actor, catalog_id)))

    @api_operation("setCatalogRules", RulesSerializer, request=RulesSerializer)
    def put(self, request: Request, catalog_id: int) -> HttpResponse:
        """Set the rules of a consumed catalog.

        Replaces all rules. If a rule contains a key without its secret, the current secret is kept. Needs the same
        rights as `createCatalog`.
        """
        actor, catalog = _to_change(request, catalog_id)
        values = read(RulesSerializer, request.data)["rules"]
        rules = [
            RuleTerms(**{**each, "primaries": _primaries(each["primaries"]) if each["primaries"] else None})
            for each in values
        ]
        with conditional_write(request, f"catalog-rules/{catalog_id}", lambda: _rules_json(catalog)):
            set_up_catalogs.set_rules(catalog=catalog, rules=rules, author=actor, now=timezone.now())
        return answer_with_tag(_rules_json(catalog))


class CatalogConfirmation(V2View):
    # Unconditional: the body has the revision.
    @api_operation("confirmCatalogRemovals", {202: CatalogSerializer}, request=ConfirmationSerializer)
    def post(self, request: Request, catalog_id: int) -> HttpResponse:
        """Confirm that members leave a consumed catalog.

        Confirmation is needed if more than five members, and more than `most_lost` percent, left in one revision of the
        catalog. The panel then removes the zones of these members within seconds. Needs the same rights as
        `createCatalog`.
        """
        actor, catalog = _to_change(request, catalog_id)
        revision = read(ConfirmationSerializer, request.data)["revision"]
        set_up_catalogs.confirm_removals(catalog=catalog, revision=revision, author=actor, now=timezone.now())
        return _answer_catalog(actor, catalog_id, 202, Location=request.path.removesuffix("/confirm"))


class CatalogZones(V2View):
    @api_operation(
        "listCatalogZones",
        page_of(CatalogListingSerializer),
        query_parameter("state", "Only members in this state.", enum=State.values),
        *PAGED,
    )
    def get(self, request: Request, catalog_id: int) -> HttpResponse:
        """List the members of a consumed catalog.

        Each member has a state, and a reason if the panel didn't create the member's zone. Only zones that the token
        can read are listed. Needs the permission `fleet`.
        """
        found = access.listings_visible_to(self.actor, access.catalog_for(self.actor, catalog_id))
        if (state := request.query_params.get("state")) in State.values:
            found = found.filter(state=state)
        return page_by_id(request, found, each_as(_listing_json))


def catalog_json(row: CatalogRow) -> dict[str, Any]:
    """Return the JSON form of a consumed catalog, with its settings and state."""
    catalog = row.catalog
    return row_json(
        CatalogSerializer,
        catalog,
        **_terms_json(catalog),
        name=catalog.zone.name,
        state=code_of(row.word),
        serial=catalog.zone.transferred.serial,
        members=row.members,
        refused=row.refused,
        kept=catalog.kept_count,
    )


def _catalogs_json(catalogs: Sequence[Catalog]) -> list[dict[str, Any]]:
    return [catalog_json(row) for row in rows_of(catalogs)]


def _terms_json(catalog: Catalog) -> dict[str, Any]:
    """Return the catalog settings that its ETag covers, without the state, which changes without a request."""
    terms = asdict(set_up_catalogs.terms_of(catalog))
    return {name: list(value) if isinstance(value, tuple) else value for name, value in terms.items()}


def _rules_json(catalog: Catalog) -> dict[str, Any]:
    return {"rules": [_rule_json(rule) for rule in catalog.rules.order_by("pk")]}


def _rule_json(rule: Rule) -> dict[str, Any]:
    return {
        "group": rule.group,
        "team": rule.team_id,
        "tags": list(rule.tags),
        "primaries": {**primaries_json(rule), "uses_ixfr": True} if rule.addresses else None,
    }


def _listing_json(listing: Listing) -> dict[str, Any]:
    transferred = getattr(listing.zone, "transferred", None)
    return row_json(
        CatalogListingSerializer,
        listing,
        zone=listing.zone_name,
        serial=None if transferred is None else transferred.serial,
    )


def _primaries(values: Mapping[str, Any]) -> Terms:
    """Convert these primaries to `Terms`, without `uses_ixfr`, which is set for each zone."""
    return Terms(**{name: value for name, value in values.items() if name != "uses_ixfr"})


def _to_change(request: Request, catalog_id: int) -> tuple[Actor, Catalog]:
    actor = access.require_set_up(actor_in(request))
    return actor, access.catalog_for(actor, catalog_id)


def _guard_write(request: Request, actor: Actor, catalog_id: int) -> AbstractContextManager[None]:
    return conditional_write(
        request, f"catalog/{catalog_id}", lambda: _terms_json(access.catalog_for(actor, catalog_id))
    )


def _answer_catalog(actor: Actor, catalog_id: int, status: int = 200, **headers: str) -> HttpResponse:
    catalog = access.catalog_for(actor, catalog_id)
    return answer(catalog_json(catalog_row(catalog)), status, headers={"ETag": tag_of(_terms_json(catalog)), **headers})
