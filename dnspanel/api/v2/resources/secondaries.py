"""API resources for secondaries and their zones. A secondary is another name server that transfers zones from here.

Also for zone transfers without a TSIG key, and for additional addresses that receive NOTIFY.
"""

from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Right, person_form
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write, once, tag_of
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, form_id_of, no_content, query_parameter
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import PAGED, Choice, Flag, Integer, OptionalText, Shape, Text, page_of, read, stamp
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.secondaries import access, keyless, server_certificates, set_up_secondaries
from dnspanel.secondaries.models import Kind, Member, NoticeAddress, OpenZone, Secondary, Transport, ZoneChoice
from dnspanel.secondaries.secondary_catalog import catalog_name
from dnspanel.secondaries.set_up_secondaries import MOST_ADDRESSES, MOST_NETWORKS
from dnspanel.zones.models import Zone
from dnspanel.zones.rights.access import zone_for


class SecondarySerializer(Shape):
    """A secondary: another name server that transfers zones from here."""

    id = serializers.IntegerField(read_only=True)
    name = Text(
        max_length=set_up_secondaries.LONGEST_NAME,
        help_text="Lowercase letters, digits and dashes; also names the TSIG key.",
    )
    kind = Choice(choices=Kind.choices, default=Kind.OTHER, help_text="Software of the server.")
    addresses = serializers.ListField(
        child=Text(max_length=47),
        min_length=1,
        max_length=set_up_secondaries.MOST_ADDRESSES,
        help_text="IP addresses for NOTIFY, with a port if it is not 53 (`192.0.2.53:5300`).",
    )
    networks = serializers.ListField(
        child=Text(max_length=49),
        max_length=set_up_secondaries.MOST_NETWORKS,
        default=list,
        help_text="Networks (CIDR) from which the secondary transfers; empty: only its addresses.",
    )
    transport = Choice(
        choices=Transport.choices,
        default=Transport.ANY,
        help_text="Transport of transfers: TCP or TLS, TLS only, or TLS only with its own certificate.",
    )
    certificate = OptionalText(
        max_length=server_certificates.LONGEST,
        help_text="One or two certificates of the server (PEM), without private keys.",
    )
    tls_port = Integer(
        default=None,
        allow_null=True,
        min_value=1,
        max_value=set_up_secondaries.LAST_PORT,
        help_text="Port for serial queries over TLS; null: queries over UDP.",
    )
    choice = Choice(choices=ZoneChoice.choices, default=ZoneChoice.ALL, help_text="Choice of zones.")
    tag = OptionalText(max_length=60, help_text="For `choice` tag.")
    team = Integer(default=None, allow_null=True, help_text="Team id, for `choice` team.")
    zones = serializers.ListField(
        child=Text(max_length=1100),
        max_length=set_up_secondaries.MOST_LISTED,
        default=list,
        help_text="Names of zones, for `choice` list.",
    )
    group_tags = serializers.ListField(
        child=Text(max_length=60),
        max_length=set_up_secondaries.MOST_GROUPS,
        default=list,
        help_text="Tags that are groups of its catalog: a zone is in the group of its first tag in this list.",
    )
    lag_bound = Integer(
        default=300,
        min_value=set_up_secondaries.LEAST_BOUND,
        max_value=set_up_secondaries.MOST_BOUND,
        help_text="Seconds behind a publication until an alert is raised.",
    )
    active = Flag(default=True)
    key_name = serializers.CharField(read_only=True, help_text="Name of the TSIG key.")
    algorithm = serializers.CharField(read_only=True, help_text="Algorithm of the TSIG key.")
    catalog = serializers.CharField(read_only=True, help_text="Catalog zone (RFC 9432).")
    refusals = serializers.IntegerField(read_only=True, help_text="Number of refused transfers.")
    refused_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="Time of the last refused transfer."
    )
    refused_reason = serializers.CharField(read_only=True, help_text="Reason of the refusal.")
    created_at = serializers.DateTimeField(read_only=True)


class NewSecondarySerializer(SecondarySerializer):
    """A new secondary with the secret of its TSIG key.

    The secret is shown only once.
    """

    secret = serializers.CharField(read_only=True, allow_null=True)


class SecondarySecretSerializer(serializers.Serializer):
    """The new secret of a secondary's TSIG key.

    The old secret works for another day.
    """

    secret = serializers.CharField(allow_null=True)


class SecondaryZoneSerializer(serializers.Serializer):
    """A zone of a secondary, and the serial that the secondary serves."""

    zone = serializers.CharField()
    serial = serializers.IntegerField(help_text="Published serial.")
    served_serial = serializers.IntegerField(allow_null=True, help_text="Serial in the last DNS answer.")
    served_at = serializers.DateTimeField(allow_null=True, help_text="Time of the last query for the serial.")
    behind_since = serializers.DateTimeField(allow_null=True, help_text="Start of the delay; null: no delay.")
    compared_at = serializers.DateTimeField(
        allow_null=True, help_text="Time of the last comparison of answers with the zone."
    )
    difference = serializers.CharField(
        help_text="Difference of its answers from the zone, despite the right serial; empty: none."
    )
    differs_since = serializers.DateTimeField(allow_null=True, help_text="Start of the difference; null: none.")
    notified_at = serializers.DateTimeField(allow_null=True, help_text="Time of the last answer to NOTIFY.")
    notify_error = serializers.CharField(help_text="Reason why the last NOTIFY failed.")
    question_error = serializers.CharField(help_text="Reason why the last query failed.")
    transferred_at = serializers.DateTimeField(allow_null=True, help_text="End of the last transfer.")
    transferred_serial = serializers.IntegerField(allow_null=True, help_text="Serial of the last transfer.")
    transferred_how = serializers.ChoiceField(choices=["axfr", "ixfr", ""], help_text="Method: AXFR or IXFR.")
    transferred_over_tls = serializers.BooleanField(help_text="True if the last transfer used TLS.")
    refused_at = serializers.DateTimeField(allow_null=True, help_text="Time of the last refused transfer.")
    refused_reason = serializers.CharField(help_text="Reason of the refusal.")


class Secondaries(V2View):
    @api_operation("listSecondaries", page_of(SecondarySerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List secondaries.

        A secondary is another name server that transfers zones from here. Needs the permission `fleet`.
        """
        found = access.secondaries_visible_to(self.actor)
        return page_by_id(request, found, each_as(secondary_json))

    @api_operation("createSecondary", {201: NewSecondarySerializer}, request=SecondarySerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create a secondary.

        Returns the secondary's TSIG secret, which is shown only once. The secondary can transfer its zones at once, and
        receives NOTIFY. Needs the permission `nodes` and the right `read` for all zones.
        """
        actor = access.require_set_up(self.actor)
        terms = set_up_secondaries.Terms(**read(SecondarySerializer, request.data))
        new = set_up_secondaries.create_secondary(
            terms=terms, by=actor, now=timezone.now(), form_id=form_id_of(request)
        )
        value = secondary_json(new.secondary) | {"secret": new.secret}
        return once(value, secret="secret", Location=f"{request.path}/{new.secondary.pk}")


class OneSecondary(V2View):
    @api_operation("getSecondary", SecondarySerializer)
    def get(self, request: Request, secondary_id: int) -> HttpResponse:
        """Read a secondary.

        Returns the secondary's settings, its refused transfers, and its key without the secret. Needs the permission
        `fleet`.
        """
        return answer_with_tag(secondary_json(access.secondary_for(self.actor, secondary_id)))

    @api_operation("changeSecondary", SecondarySerializer, request=SecondarySerializer)
    def patch(self, request: Request, secondary_id: int) -> HttpResponse:
        """Change a secondary.

        Changes the secondary's settings, or switches the secondary on or off. Fields that the request body omits stay
        unchanged. Needs the permission `nodes` and the right `read` for all zones.
        """
        actor, secondary = _to_change(request, secondary_id)
        values = read(SecondarySerializer, request.data, partial=True)
        with _guard_write(request, actor, secondary_id):
            terms = replace(set_up_secondaries.terms_of(access.secondary_for(actor, secondary_id)), **values)
            set_up_secondaries.change_secondary(secondary=secondary, terms=terms, by=actor, now=timezone.now())
        return answer_with_tag(secondary_json(access.secondary_for(actor, secondary_id)))

    @api_operation("deleteSecondary", {204: None})
    def delete(self, request: Request, secondary_id: int) -> HttpResponse:
        """Delete a secondary.

        The server can no longer transfer zones with the secondary's key. Needs the permission `nodes` and the right
        `read` for all zones.
        """
        actor, secondary = _to_change(request, secondary_id)
        with _guard_write(request, actor, secondary_id):
            set_up_secondaries.delete_secondary(secondary=secondary, by=actor, now=timezone.now())
        return no_content()


class SecondaryNotification(V2View):
    @api_operation("notifySecondary", {202: SecondarySerializer}, request=None)
    def post(self, request: Request, secondary_id: int) -> HttpResponse:
        """Send NOTIFY to a secondary.

        The panel soon sends a NOTIFY for each of the secondary's zones and for its catalog. Needs the permission
        `nodes` and the right `read` for all zones.
        """
        actor, secondary = _to_change(request, secondary_id)
        set_up_secondaries.notify_now(secondary=secondary, by=actor, now=timezone.now())
        # The list of zones shows which zones are still behind.
        place = request.path.removesuffix("notify") + "zones"
        return answer(secondary_json(secondary), 202, headers={"Location": place})


class SecondaryRotation(V2View):
    conditional = True

    @api_operation("rotateSecondaryKey", {201: SecondarySecretSerializer}, request=None)
    def post(self, request: Request, secondary_id: int) -> HttpResponse:
        """Replace the TSIG secret of a secondary.

        Returns the new secret, which is shown only once. The old secret works for another day, which gives you time to
        configure the server. Needs the permission `nodes` and the right `read` for all zones.
        """
        actor, secondary = _to_change(request, secondary_id)
        with _guard_write(request, actor, secondary_id):
            secret = set_up_secondaries.rotate_key(secondary=secondary, by=actor, now=timezone.now())
        return once({"secret": secret}, secret="secret")


class SecondaryZones(V2View):
    @api_operation(
        "listSecondaryZones",
        page_of(SecondaryZoneSerializer),
        query_parameter("behind", "true: only zones that are behind.", bool),
        *PAGED,
    )
    def get(self, request: Request, secondary_id: int) -> HttpResponse:
        """List the zones of a secondary.

        Each zone includes the serial on the secondary and the last transfer. Only zones that the token can read are
        listed. Needs the permission `fleet`.
        """
        secondary = access.secondary_for(self.actor, secondary_id)
        found = access.members_visible_to(self.actor, secondary).select_related("zone")
        if request.query_params.get("behind") == "true":
            found = found.filter(behind_since__isnull=False)
        return page_by_id(request, found, each_as(member_json))


def _to_change(request: Request, secondary_id: int) -> tuple[Actor, Secondary]:
    actor = access.require_set_up(actor_in(request))
    return actor, access.secondary_for(actor, secondary_id)


def _guard_write(request: Request, actor: Actor, secondary_id: int) -> AbstractContextManager[None]:
    return conditional_write(
        request, f"secondary/{secondary_id}", lambda: secondary_json(access.secondary_for(actor, secondary_id))
    )


def secondary_json(secondary: Secondary) -> dict[str, Any]:
    """Return the JSON form of a secondary, without its secret."""
    terms = asdict(set_up_secondaries.terms_of(secondary))
    return row_json(
        SecondarySerializer,
        secondary,
        **{name: list(value) if isinstance(value, tuple) else value for name, value in terms.items()},
        key_name=secondary.tsig_name,
        algorithm=secondary.tsig_algorithm,
        catalog=catalog_name(secondary),
    )


def member_json(member: Member) -> dict[str, Any]:
    """Return the JSON form of one of a secondary's zones."""
    return row_json(
        SecondaryZoneSerializer,
        member,
        zone=member.zone_name,
        serial=member.zone.serial if member.zone else 0,
        transferred_how=member.transferred_how.lower(),
    )


class NoticeSerializer(serializers.Serializer):
    """An address that receives NOTIFY."""

    address = serializers.CharField()
    set_by = ActorSerializer(allow_null=True)
    set_at = serializers.DateTimeField(allow_null=True)
    notified_at = serializers.DateTimeField(allow_null=True, help_text="Time of the last answer to NOTIFY.")
    error = serializers.CharField(help_text="Reason why the last NOTIFY failed; empty: none.")


class KeylessTransfersSerializer(Shape):
    """The networks that can transfer a zone without a TSIG key, and the addresses that receive NOTIFY."""

    networks = serializers.ListField(
        child=Text(max_length=49),
        max_length=MOST_NETWORKS,
        help_text="Networks or addresses that can transfer the zone without a key, as CIDR; empty: none.",
    )
    addresses = serializers.ListField(
        child=Text(max_length=47),
        max_length=MOST_ADDRESSES,
        help_text="Addresses that get unsigned NOTIFY in addition to secondaries; with a port if it is not 53.",
    )
    set_by = ActorSerializer(allow_null=True, help_text="Person who set the networks.")
    set_at = serializers.DateTimeField(read_only=True, allow_null=True)
    notices = NoticeSerializer(many=True, read_only=True, help_text="State of NOTIFY for each address.")


class KeylessTransfers(V2View):
    @api_operation("getKeylessTransfers", KeylessTransfersSerializer)
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """Read transfers without a key.

        Returns the networks that can transfer the zone without a TSIG key, and the addresses that receive NOTIFY. Needs
        the right `settings`.
        """
        return _answer_keyless(_zone(request, zone_name))

    @api_operation("setKeylessTransfers", {200: KeylessTransfersSerializer}, request=KeylessTransfersSerializer)
    def put(self, request: Request, zone_name: str) -> HttpResponse:
        """Set transfers without a key.

        Replaces the networks that can transfer the zone without a TSIG key, and the addresses that receive NOTIFY. API
        v1 shows them as the metadata `ALLOW-AXFR-FROM` and `ALSO-NOTIFY`. Needs the `settings` right, and a token that
        can read the whole zone.
        """
        zone = _zone(request, zone_name)
        values = read(KeylessTransfersSerializer, request.data)
        with conditional_write(request, f"keyless/{zone.pk}", lambda: _set(keyless.keyless_of(zone))):
            keyless.change(zone=zone, by=self.actor, now=timezone.now(), **values)
        return _answer_keyless(zone)


def _zone(request: Request, zone_name: str) -> Zone:
    return zone_for(actor_in(request), zone_name, Right.SETTINGS)


def _set(found: keyless.Keyless) -> dict[str, Any]:
    """Return the settings that the ETag covers. It doesn't cover NOTIFY results, which change without a request."""
    return {"networks": found.networks, "addresses": found.addresses}


def _answer_keyless(zone: Zone) -> HttpResponse:
    found = keyless.keyless_of(zone)
    notices = [
        {"address": each.address, **_who(each), "notified_at": stamp(each.notified_at), "error": each.notify_error}
        for each in found.notified
    ]
    body = {**_set(found), **_who(found.opened), "notices": notices}
    return answer(body, headers={"ETag": tag_of(_set(found))})


def _who(row: OpenZone | NoticeAddress | None) -> dict[str, Any]:
    if row is None:
        return {"set_by": None, "set_at": None}
    return {"set_by": person_form(row.set_by), "set_at": stamp(row.set_at)}
