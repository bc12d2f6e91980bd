"""List, create, read, change and delete zones through API v1. `zone_calls` has other requests about a zone."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Right
from dnspanel.api.v1 import primaries, view
from dnspanel.api.v1.attributes import keep_attributes, keep_comments, take_in_named
from dnspanel.api.v1.changes import PatchAndComments, named_violations, read_content_of_zone, read_patch
from dnspanel.api.v1.creation import NewZone, read_attributes, read_new_zone
from dnspanel.api.v1.kept_metadata import act_on_kept
from dnspanel.api.v1.signing import not_secured, read_signing, will_be_signed
from dnspanel.api.v1.waiting import Wait, requested_wait, wait_for_all
from dnspanel.api.v1.zone_objects import zone_list, zone_object
from dnspanel.catalogs import producer
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import loaded_signing_of
from dnspanel.zones.errors import NotSigned
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.zone_patches import publish_patches
from dnspanel.zones.rights import access
from dnspanel.zones.signing import sign
from dnspanel.zones.signing.presigned import drop_signatures
from replication.dns import rdata
from replication.errors import BadRdata

NO_TYPE = 0  # matches no RRset


class Zones(view.PowerdnsView):
    def get(self, request: Request, server_id: str) -> HttpResponse:
        """List the zones, or only the zone given by the parameter `zone`."""
        name = view.canonical(request.GET["zone"]) if "zone" in request.GET else None
        with_dnssec = view.flag_in(request, "dnssec", default=True)
        return view.answer_text(zone_list(view.actor_in(request), name=name, with_dnssec=with_dnssec))

    def post(self, request: Request, server_id: str) -> HttpResponse:
        """Create a zone. Return 409 if a zone with this name already exists."""
        body, wait = view.json_object(request), requested_wait(request)
        with_rrsets = view.flag_in(request, "rrsets", default=True)
        name = view.canonical(view.text_in(body, "name"))
        if access.zones_visible_to(view.actor_in(request)).filter(name=name).exists():
            raise view.Refusal(409)
        wait_for_all(request, _create(request, read_new_zone(body, timezone.now())), wait)
        made = view.zone_by_id(request, name)
        return view.answer_text(zone_object(view.actor_in(request), made, with_rrsets=with_rrsets), 201)


def _create(request: Request, new: NewZone) -> Publication:
    actor, now = view.actor_in(request), timezone.now()
    if new.attributes.get("kind") in primaries.ELSEWHERE:
        made = primaries.create(name=new.name, attributes=new.attributes, actor=actor, now=now)
        zone = Zone.objects.get(name=new.name, deleted_at=None)
        keep_attributes(zone=zone, attributes=new.attributes, by=actor, now=now)
        return made
    primaries.refuse_keys_without_primaries(new.attributes, new.name)

    def keep_the_rest() -> None:
        if not (new.attributes or new.comments):
            return
        made = Zone.objects.get(name=new.name, deleted_at=None)
        if new.attributes:
            keep_attributes(zone=made, attributes=new.attributes, by=actor, now=now)
        if made.is_producer:
            take_in_named(catalog=made, by=actor, now=now)
        if new.comments:
            keep_comments(zone=made, comments=new.comments)

    def sign_it() -> Publication:
        acting = Acting(actor, Channel.API, now)
        return sign.sign_new_zone(name=new.name, nsec3=new.signing.nsec3, acting=acting)

    if new.attributes.get("kind") == primaries.PRODUCER:
        with primaries.named_refusals(), named_violations("another"):
            return producer.create_producer(
                zone=edit.NewZone(new.name, new.rrsets),
                apex=edit.Apex(nameservers=new.nameservers or None, soa_is_made=new.soa_is_made, soa_edit=new.soa_edit),
                acting=Acting(actor, Channel.API, now),
                in_transaction=keep_the_rest,
            )
    with primaries.named_refusals(), named_violations("another"):
        return edit.create_zone(
            zone=edit.NewZone(new.name, new.rrsets),
            apex=edit.Apex(nameservers=new.nameservers or None, soa_is_made=new.soa_is_made, soa_edit=new.soa_edit),
            acting=Acting(actor, Channel.API, now),
            in_transaction=keep_the_rest,
            then=sign_it if new.signing.signed else None,
        )


class OneZone(view.PowerdnsView):
    def get(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        """Return the zone and its RRsets: none for `rrsets=false`, some for `rrset_name` and `rrset_type`."""
        with_rrsets, (name, type_) = view.flag_in(request, "rrsets", default=True), _requested_rrset(request)
        actor, zone = view.actor_in(request), view.zone_by_id(request, zone_id)
        return view.answer_text(zone_object(actor, zone, with_rrsets=with_rrsets, name=name, type=type_))

    def patch(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        """Change RRsets in one revision, either all or none. Return 204, with both serials as headers."""
        wait, body = requested_wait(request), view.json_object(request)
        zone = access.zone_alone(view.actor_in(request), view.name_of_id(zone_id))
        serials = _publish(request, zone, read_patch(body, zone, timezone.now()), wait, {})
        return view.no_content(serials)

    def put(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        """Change the zone's attributes, primaries and signing. Return 204.

        With `rrsets`, replace the zone's content. The signing then changes in a separate, later publication.
        """
        wait, body, now = requested_wait(request), view.json_object(request), timezone.now()
        zone = view.zone_by_id(request, zone_id)
        attributes, signing = read_attributes(body), read_signing(body, zone.name)
        changes_signing = not signing.is_met_by(loaded_signing_of(zone))
        _refuse_settings(request, zone, attributes, changes_signing=changes_signing, has_content="rrsets" in body)
        if changes_signing and signing.nsec3 is not None and not will_be_signed(signing, loaded_signing_of(zone)):
            raise not_secured(zone.name)
        primaries.follow_kind(zone=zone, attributes=attributes, actor=view.actor_in(request), now=now)
        serials = {}
        with primaries.named_refusals():
            if "rrsets" in body:
                content = read_content_of_zone(view.list_in(body, "rrsets"), zone, now)
                serials, attributes = _publish(request, zone, content, wait, attributes), {}
            if changes_signing:
                _settle(request, zone, signing, wait, attributes)
            elif attributes:
                keep_attributes(zone=zone, attributes=attributes, by=view.actor_in(request), now=now)
        return view.no_content(serials)

    def delete(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        """Move the zone to the trash. Return 204.

        Return 422 if too many zones are deleted within minutes, unless the request has `?confirm=true` or the token
        allows it.
        """
        wait, zone = requested_wait(request), view.zone_by_id(request, zone_id)
        publication = edit.delete_zone(
            zone=zone,
            acting=Acting(view.actor_in(request), Channel.API, timezone.now()),
            confirmed=request.GET.get("confirm") == "true",
        )
        wait_for_all(request, publication, wait)
        return view.no_content()


def _publish(
    request: Request, zone: Zone, content: PatchAndComments, wait: Wait | None, attributes: Mapping[str, Any]
) -> dict[str, str]:
    """Publish changes, and store attributes and comments with them. Wait if requested. Return the serial headers."""
    actor, now = view.actor_in(request), timezone.now()

    def keep_the_rest() -> None:
        if attributes:
            keep_attributes(zone=zone, attributes=attributes, by=actor, now=now)
        if content.comments:
            keep_comments(zone=zone, comments=content.comments)

    with named_violations():
        outcome = publish_patches(
            patches=[content.patch], acting=Acting(actor, Channel.API, now), in_transaction=keep_the_rest
        )
    wait_for_all(request, outcome.publication, wait)
    plan = outcome.plans[0]
    new = plan.serial if outcome.publication is not None else plan.zone.serial
    return {"X-PDNS-Old-Serial": str(plan.zone.serial), "X-PDNS-New-Serial": str(new)}


def _refuse_settings(
    request: Request, zone: Zone, attributes: Mapping[str, Any], *, changes_signing: bool, has_content: bool
) -> None:
    """Raise RightMissing if the actor lacks a right that this PUT needs.

    Changed signing needs `dnssec`. Attributes, and a PUT without content, need `settings`. Clients send back everything
    that they have read, so unchanged signing settings need no right.
    """
    if changes_signing:
        access.require_right(view.actor_in(request), zone, Right.DNSSEC)
    if attributes or not (has_content or changes_signing):
        access.require_right(view.actor_in(request), zone, Right.SETTINGS)


def _settle(
    request: Request, zone: Zone, signing: sign.RequestedSigning, wait: Wait | None, attributes: Mapping[str, Any]
) -> None:
    """Apply signing and attributes in one transaction, then stored CDS settings. Wait if requested.

    If a zone with signatures of another signer must become unsigned, drop these signatures. Raise Refusal (422) if an
    unsigned zone would get NSEC3.
    """
    acting, before = Acting(view.actor_in(request), Channel.API, timezone.now()), loaded_signing_of(zone)

    def keep_the_rest() -> None:
        if attributes:
            keep_attributes(zone=zone, attributes=attributes, by=acting.author, now=acting.now)

    if before.presigned and signing == sign.RequestedSigning(signed=False):
        wait_for_all(request, drop_signatures(zones=[zone], acting=acting, in_transaction=keep_the_rest), wait)
        return
    try:
        publications = sign.settle(zone=zone, requested=signing, acting=acting, in_transaction=keep_the_rest)
    except NotSigned as exc:
        raise not_secured(zone.name) from exc
    for publication in (*publications, *act_on_kept(zone=zone, before=before, acting=acting)):
        wait_for_all(request, publication, wait)


def _requested_rrset(request: Request) -> tuple[str | None, int | None]:
    """Return `rrset_name` and `rrset_type`, or None if missing. Without a name, the type is ignored, as in PowerDNS.

    For an unknown type, return NO_TYPE.
    """
    name, word = request.GET.get("rrset_name", ""), request.GET.get("rrset_type", "")
    if not name:
        return None, None
    try:
        return view.canonical(name if name.endswith(".") else name + "."), rdata.type_from_text(word) if word else None
    except BadRdata:
        return view.canonical(name), NO_TYPE
