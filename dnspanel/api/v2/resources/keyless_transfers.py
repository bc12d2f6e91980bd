"""API resources for zone transfers without a TSIG key, and for additional addresses that receive NOTIFY."""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Right, person_form
from dnspanel.api.v2.http.etag import conditional_write, tag_of
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import Shape, Text, read, stamp
from dnspanel.secondaries import keyless
from dnspanel.secondaries.models import NoticeAddress, OpenZone
from dnspanel.secondaries.set_up_secondaries import MOST_ADDRESSES, MOST_NETWORKS
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access


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
    return access.zone_for(actor_in(request), zone_name, Right.SETTINGS)


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
