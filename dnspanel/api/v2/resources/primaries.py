"""API resources to set the primaries of zones, transfer the zones, take them over, and give them back."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Right
from dnspanel.accounts.tokens import tsig_secrets
from dnspanel.api.v2.http.accepted import answer_publication, moved_by
from dnspanel.api.v2.http.etag import conditional_write, tag_of
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.problems import Problem
from dnspanel.api.v2.http.representation import zone_url
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, form_id_of, query_parameter
from dnspanel.api.v2.resources.zones import chosen_team
from dnspanel.api.v2.schema.fields import (
    PAGED,
    Choice,
    Flag,
    Integer,
    OptionalText,
    Shape,
    Text,
    ZoneName,
    page_of,
    read,
)
from dnspanel.api.v2.schema.publication_serializers import WrittenSerializer
from dnspanel.api.v2.schema.query_parameters import DRY_RUN, WAIT, WAIT_FOR
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.api.v2.schema.zone_serializers import MOST_REASON
from dnspanel.primaries import set_up_primaries
from dnspanel.primaries.models import PrimaryTerms, TransferredZone
from dnspanel.primaries.primary_tls import LONGEST_PEM, own_authority
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.rights import access
from replication.dns import names


class PrimariesSerializer(Shape):
    """The primaries of a zone."""

    addresses = serializers.ListField(
        child=Text(max_length=47),
        min_length=1,
        max_length=set_up_primaries.MOST_PRIMARIES,
        help_text="IP addresses in the order of queries, with a port if it is not 53 (853 over TLS).",
    )
    tsig_name = OptionalText(max_length=1100, help_text="Name of the key for all; empty: no key.")
    tsig_algorithm = Choice(
        choices=[(name, name) for name in tsig_secrets.ALGORITHMS],
        default="hmac-sha256",
        help_text="Algorithm of the TSIG key.",
    )
    tsig_secret = Text(
        max_length=1000,
        default=None,
        allow_null=True,
        write_only=True,
        help_text="TSIG secret in Base64. Null: the stored secret of this key stays.",
    )
    uses_tls = Flag(default=False, help_text="Transfer over TLS 1.3 only (RFC 9103).")
    tls_names = serializers.ListField(
        child=Text(max_length=253),
        max_length=set_up_primaries.MOST_PRIMARIES,
        default=list,
        help_text="Names in the primaries' certificates: one for all, or one for each address in the same order.",
    )
    tls_certificates = OptionalText(
        max_length=LONGEST_PEM,
        help_text="PEM. With names: the CA of the primaries' certificates; empty: the system's CAs. Without names: "
        "the primaries' own certificates.",
    )
    shows_certificate = Flag(default=False, help_text="Show the panel's certificate if a primary asks for it.")
    uses_ixfr = Flag(default=True, help_text="Use IXFR where possible; false: always AXFR.")


class PastRulesSerializer(Shape):
    """The reason for an action on the zone's primaries, and a flag to skip approval rules and freezes."""

    reason = OptionalText(max_length=MOST_REASON, write_only=True, help_text="Reason, for other people.")
    past_rules = Flag(
        default=False,
        write_only=True,
        help_text="Skip approval rules and freezes of the zone. Needs the `govern` right and a reason.",
    )


class ChosenPrimariesSerializer(PastRulesSerializer, PrimariesSerializer):
    """The new primaries of an existing zone."""


class NewTransferredZoneSerializer(PrimariesSerializer):
    """A zone to transfer from other primaries."""

    name = ZoneName()
    team = Integer(default=None, allow_null=True, help_text="Id of the zone's team.")


class TransferredZoneSerializer(PrimariesSerializer):
    """The primaries of a zone, and its last transfer."""

    zone = serializers.CharField(read_only=True)
    elsewhere = serializers.BooleanField(read_only=True, help_text="False: it was taken over, and can be given back.")
    is_served = serializers.BooleanField(read_only=True, help_text="False: not transferred yet, or expired.")
    serial = serializers.IntegerField(read_only=True, allow_null=True, help_text="Serial on the primary, if known.")
    transferred_at = serializers.DateTimeField(read_only=True, allow_null=True, help_text="End of the last transfer.")
    transferred_how = serializers.ChoiceField(
        choices=["axfr", "ixfr", ""], read_only=True, help_text="Method of the last transfer."
    )
    transferred_from = serializers.CharField(read_only=True, help_text="Primary of the last transfer.")
    transferred_bytes = serializers.IntegerField(read_only=True, help_text="Bytes of the last transfer.")
    confirmed_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="Last time that a primary confirmed the zone or sent it."
    )
    expires_at = serializers.DateTimeField(read_only=True, allow_null=True)
    due_at = serializers.DateTimeField(read_only=True, allow_null=True, help_text="Time of the next query.")
    failed_since = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="Start of the failures; null: no failures."
    )
    failures = serializers.IntegerField(read_only=True, help_text="Failed attempts since the last transfer.")
    error = serializers.CharField(read_only=True, help_text="Reason why the last attempt failed.")
    noticed_at = serializers.DateTimeField(read_only=True, allow_null=True, help_text="Time of the last NOTIFY.")
    notices_refused = serializers.IntegerField(read_only=True, help_text="Number of refused NOTIFY messages.")
    authority = serializers.CharField(
        read_only=True,
        help_text="CA certificate (PEM) of the panel's client certificate; empty: none. Always empty in lists.",
    )


class TransferNowSerializer(Shape):
    """The options of a transfer."""

    all = Flag(default=False, help_text="Transfer the whole zone, whatever its serial.")


class TransferredZones(V2View):
    """View that lists zones with other primaries, including zones that were taken over, and creates such a zone."""

    @api_operation(
        "listTransferredZones",
        page_of(TransferredZoneSerializer),
        query_parameter("failing", "true: only zones whose transfers fail.", bool),
        *PAGED,
    )
    def get(self, request: Request) -> HttpResponse:
        """List zones from other primaries.

        Each zone includes the result of its last transfer, with the reason if it failed. Only zones whose settings the
        token can change are listed.
        """
        found = _rows_of(self.actor)
        if request.query_params.get("failing") == "true":
            found = found.filter(failed_since__isnull=False)
        return page_by_id(request, found, each_as(transferred_json))

    @api_operation(
        "createTransferredZone", {201: TransferredZoneSerializer}, DRY_RUN, request=NewTransferredZoneSerializer
    )
    def post(self, request: Request) -> HttpResponse:
        """Create a zone from other primaries.

        The first transfer starts at once. Nodes serve the zone after this transfer. Needs the `create-zone` right, and
        the right `add` for all zones.
        """
        values = read(NewTransferredZoneSerializer, request.data)
        uses_ixfr = values.pop("uses_ixfr")
        name, team = values.pop("name"), chosen_team(self.actor, values.pop("team"))
        set_up_primaries.create_transferred_zone(
            name=name,
            terms=set_up_primaries.Terms(**values),
            acting=Acting(self.actor, Channel.API, timezone.now(), form_id=form_id_of(request)),
            team=team,
        )
        zone = access.zone_for_reading(self.actor, names.parse(name))
        set_up_primaries.set_ixfr(zone=zone, uses_ixfr=uses_ixfr, author=self.actor, now=timezone.now())
        return _answer_primaries(zone, 201, Location=f"{zone_url(zone.name)}/primaries")


class ZonePrimaries(V2View):
    @api_operation("getZonePrimaries", TransferredZoneSerializer)
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """Read the primaries of a zone.

        Returns the addresses of the primaries, the zone's timers and its last transfer. The status is 404 for a zone
        that never had other primaries. Needs the `settings` right.
        """
        return _answer_primaries(_zone(request, zone_name))

    @api_operation("setZonePrimaries", {200: TransferredZoneSerializer}, DRY_RUN, request=ChosenPrimariesSerializer)
    def put(self, request: Request, zone_name: str) -> HttpResponse:
        """Set the primaries of a zone.

        The next transfer replaces all records of the zone, and the zone can no longer be edited here. Approval rules,
        freezes, locks and publish hooks apply as for a change to the whole zone. If the zone already has the given
        primaries, only `uses_ixfr` is set. Needs the `settings` right. New primaries also need the `add` right for all
        zones, and for a zone that is edited here the rights `change` and `remove`.
        """
        zone = _zone(request, zone_name)
        values = read(ChosenPrimariesSerializer, request.data)
        uses_ixfr = values.pop("uses_ixfr")
        reason, past_rules = values.pop("reason"), values.pop("past_rules")
        with _guard_write(request, zone):
            terms = set_up_primaries.Terms(**values)
            if not set_up_primaries.comes_by(zone, terms):
                set_up_primaries.set_primaries(
                    zone=zone,
                    terms=terms,
                    acting=Acting(self.actor, Channel.API, timezone.now(), reason),
                    past_rules=past_rules,
                )
            set_up_primaries.set_ixfr(zone=zone, uses_ixfr=uses_ixfr, author=self.actor, now=timezone.now())
        return _answer_primaries(zone)


class ZoneTransfer(V2View):
    # Unconditional: the zone gets the primary's content, whatever its current content is.
    @api_operation("transferZone", {202: TransferredZoneSerializer}, request=TransferNowSerializer)
    def post(self, request: Request, zone_name: str) -> HttpResponse:
        """Transfer a zone now.

        A worker contacts the primaries, even if no timer is due. Use `getZonePrimaries` to read the result. Needs the
        right `settings`.
        """
        zone = _zone(request, zone_name)
        wants_all = read(TransferNowSerializer, request.data)["all"]
        set_up_primaries.ask_now(zone=zone, author=self.actor, now=timezone.now(), wants_all=wants_all)
        return _answer_primaries(zone, 202, Location=f"{zone_url(zone.name)}/primaries")


class ZoneTakeOver(V2View):
    conditional = True

    @api_operation(
        "takeOverZone",
        {200: WrittenSerializer, 202: WrittenSerializer},
        WAIT,
        WAIT_FOR,
        DRY_RUN,
        request=PastRulesSerializer,
    )
    def post(self, request: Request, zone_name: str) -> HttpResponse:
        """Take over a zone.

        Makes this panel the primary, in one publication. After that, the zone can be edited here, and nodes serve the
        zone even if it had expired. Needs the `settings` right.
        """
        zone = _zone(request, zone_name)
        with _guard_write(request, zone):
            publication = set_up_primaries.take_over(zone=zone, **_acting(request, self.actor))
        zones = moved_by(publication, self.actor) if publication else []
        return answer_publication(request, publication, {"zones": zones, "warnings": []})


class ZoneGivenBack(V2View):
    conditional = True

    @api_operation("giveBackZone", {202: TransferredZoneSerializer}, DRY_RUN, request=PastRulesSerializer)
    def post(self, request: Request, zone_name: str) -> HttpResponse:
        """Give a zone back to its primaries.

        Only a zone that was taken over can be given back. The next transfer replaces changes that were made here. Needs
        the right `settings`, and the right `add` for all zones.
        """
        zone = _zone(request, zone_name)
        with _guard_write(request, zone):
            set_up_primaries.give_back(zone=zone, **_acting(request, self.actor))
        return _answer_primaries(zone, 202, Location=f"{zone_url(zone.name)}/primaries")


def transferred_json(row: TransferredZone) -> dict[str, Any]:
    """Return the JSON form of a zone's primaries and its last transfer. `row.zone` must be loaded."""
    members = {**_terms_json(row), "elsewhere": row.is_active, "is_served": row.zone.is_served, "authority": ""}
    return row_json(TransferredZoneSerializer, row, zone=row.zone.name, **members)


def primaries_json(row: PrimaryTerms) -> dict[str, Any]:
    """Return the JSON form of primaries, without the TSIG secret."""
    return {
        "addresses": list(row.addresses),
        "tsig_name": row.tsig_name,
        "tsig_algorithm": row.tsig_algorithm or "hmac-sha256",
        "uses_tls": row.uses_tls,
        "tls_names": list(row.tls_names),
        "tls_certificates": row.tls_certificates,
        "shows_certificate": row.shows_certificate,
    }


def _terms_json(row: TransferredZone) -> dict[str, Any]:
    """Return the settings that the ETag covers. It doesn't cover transfers, whose state changes without a request."""
    return {**primaries_json(row), "uses_ixfr": row.uses_ixfr}


def _acting(request: Request, actor: Actor) -> dict[str, Any]:
    """Return the author, the reason, and the flag to skip rules, as keyword arguments. The request body is optional."""
    said = read(PastRulesSerializer, request.data)
    acting = Acting(actor, Channel.API, timezone.now(), said.get("reason", ""))
    return {"acting": acting, "past_rules": said.get("past_rules", False)}


def _rows_of(actor: Actor) -> QuerySet[TransferredZone]:
    zones = access.zones_within_reach(actor, Right.SETTINGS).filter(deleted_at=None)
    return TransferredZone.objects.filter(zone__in=zones).select_related("zone")


def _zone(request: Request, zone_name: str) -> Zone:
    return access.zone_for(actor_in(request), zone_name, Right.SETTINGS)


def _guard_write(request: Request, zone: Zone) -> Any:
    """Return a `conditional_write` that locks the zone's primaries and checks If-Match.

    The ETag also changes when the zone is taken over or given back.
    """
    return conditional_write(request, f"primaries/{zone.pk}", lambda: _state_of(_row(zone)))


def _row(zone: Zone) -> TransferredZone | None:
    return TransferredZone.objects.filter(pk=zone.pk).select_related("zone").first()


def _state_of(row: TransferredZone | None) -> dict[str, Any] | None:
    return None if row is None else {**_terms_json(row), "elsewhere": row.is_active}


def _answer_primaries(zone: Zone, status: int = 200, **headers: str) -> HttpResponse:
    """Return the response with the zone's primaries and their ETag. Raise Problem (404) if it never had others."""
    row = _row(zone)
    if row is None:
        raise Problem("not-found", f"{zone.name} has no other primaries: this panel is its primary.")
    told = {**transferred_json(row), "authority": own_authority(row, now=timezone.now())}
    return answer(told, status, headers={"ETag": tag_of(_state_of(row)), **headers})
