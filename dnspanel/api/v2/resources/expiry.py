"""API resources for scheduled removals: of one RRset, and the list of all RRsets with one, earliest removal first."""

from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, actor_form
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write, fresh_enough, tag_of
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.view import V2View, actor_in, api_operation, no_content, query_parameter
from dnspanel.api.v2.resources.rrsets import at_path, require_published
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import PAGED, Moment, Shape, moment_parameter, page_of, read, stamp
from dnspanel.api.v2.schema.query_parameters import IF_CHANGED
from dnspanel.zones.models import Expiry, Zone
from dnspanel.zones.publishing.expiry import cancel_expiry, expiring, expiry_of, set_expiry
from dnspanel.zones.rights.access import may_know_author, visibility_of
from replication.dns import rdata
from replication.dns.rrset import Key

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = 2**57  # microseconds; limits the times in forged cursors


class RRsetExpiryContentSerializer(Shape):
    """The time at which the panel should remove an RRset."""

    remove_at = Moment(help_text="Time of the removal, within ten years.")


class RRsetExpirySerializer(Shape):
    """The time at which the panel removes an RRset."""

    remove_at = Moment(allow_null=True, help_text="Null: no removal.")
    set_at = Moment(allow_null=True)
    set_by = ActorSerializer(allow_null=True, help_text="Person in whose name the RRset is removed.")
    refusal = serializers.CharField(allow_null=True, help_text="Reason why the RRset was not removed in time.")


class RRsetExpiry(V2View):
    @api_operation("getRRsetExpiry", {200: RRsetExpirySerializer}, IF_CHANGED)
    def get(self, request: Request, zone_name: str, owner: str, type_name: str) -> HttpResponse:
        """Read the removal time of an RRset.

        `remove_at` is null if no time is set. Needs the `read` right.
        """
        zone, key = at_path(request, zone_name, owner, type_name)
        require_published(zone, key)
        found = _json(request, expiry_of(zone, key))
        return fresh_enough(request, tag_of(found)) or answer_with_tag(found)

    @api_operation("setRRsetExpiry", {200: RRsetExpirySerializer}, request=RRsetExpiryContentSerializer)
    def put(self, request: Request, zone_name: str, owner: str, type_name: str) -> HttpResponse:
        """Set the removal time of an RRset.

        At that time, the panel publishes the removal of the RRset in your name, even if the RRset has changed since.
        The RRset stays if you do not have the right `remove` at that time. Needs the `remove` right. Other changes to
        the RRset do not change the removal time. Deleting the RRset also deletes its removal time.
        """
        zone, key = at_path(request, zone_name, owner, type_name, to_change=True)
        require_published(zone, key)
        remove_at = read(RRsetExpiryContentSerializer, request.data)["remove_at"]
        author = self.actor
        with _conditional(request, zone, key):
            expiry = set_expiry(zone=zone, key=key, remove_at=remove_at, author=author, now=timezone.now())
        return answer_with_tag(_json(request, expiry))

    @api_operation("deleteRRsetExpiry", {204: None})
    def delete(self, request: Request, zone_name: str, owner: str, type_name: str) -> HttpResponse:
        """Cancel the removal of an RRset.

        The RRset stays. Needs the `remove` right.
        """
        zone, key = at_path(request, zone_name, owner, type_name, to_change=True)
        require_published(zone, key)
        with _conditional(request, zone, key):
            cancel_expiry(zone=zone, key=key, author=self.actor, now=timezone.now())
        return no_content()


def _conditional(request: Request, zone: Zone, key: Key) -> AbstractContextManager[None]:
    resource = f"expiry {zone.pk} {key[0]} {key[1]}"
    return conditional_write(request, resource, lambda: _json(request, expiry_of(zone, key)))


def _json(request: Request, expiry: Expiry | None) -> dict[str, Any]:
    if expiry is None:
        return {"remove_at": None, "set_at": None, "set_by": None, "refusal": None}
    knows = may_know_author(actor_in(request), expiry.token_id)
    return {
        "remove_at": stamp(expiry.remove_at),
        "set_at": stamp(expiry.set_at),
        "set_by": actor_form(expiry.set_by.username, expiry.token) if expiry.set_by and knows else None,
        "refusal": expiry.refusal if expiry.refusal and knows else None,
    }


class ExpirySerializer(Shape):
    """An RRset with a scheduled removal."""

    zone = serializers.CharField()
    name = serializers.CharField()
    type = serializers.CharField()
    remove_at = Moment(help_text="Time of the removal.")
    set_at = Moment()
    set_by = ActorSerializer(allow_null=True, help_text="Person in whose name the RRset is removed.")
    refusal = serializers.CharField(allow_null=True, help_text="Reason why the RRset was not removed in time.")


class Expiries(V2View):
    @api_operation(
        "listExpiries",
        page_of(ExpirySerializer),
        query_parameter(
            "before",
            "Only RRsets whose time of removal is this time or earlier.",
            {"type": "string", "format": "date-time"},
        ),
        *PAGED,
    )
    def get(self, request: Request) -> HttpResponse:
        """List RRsets that will be removed.

        Lists the RRsets that have a removal time, in all zones, earliest first. If the panel couldn't remove an RRset
        in time, `refusal` gives the reason. A page can have fewer items than `limit` even if more follow, so read pages
        until `next` is null.
        """
        page = page_request(request, int, int)
        after = None
        if page.after:
            after = (_EPOCH + timedelta(microseconds=max(0, min(page.after[0], _LAST))), page.after[1])
        until = moment_parameter(request.query_params, "before")
        rows, more = cut(expiring(self.actor, until=until, limit=page.limit + 1, after=after), page.limit)
        items = [_expiring_json(row, self.actor) for row in rows if _is_seen(row, self.actor)]
        key = ((rows[-1].remove_at - _EPOCH) // timedelta(microseconds=1), rows[-1].pk) if more else None
        return page_answer(request, items, key)


def _is_seen(expiry: Expiry, actor: Actor) -> bool:
    sees = visibility_of(actor, expiry.zone)
    return sees is None or sees(expiry.name, expiry.type)


def _expiring_json(expiry: Expiry, actor: Actor) -> dict[str, Any]:
    knows = may_know_author(actor, expiry.token_id)
    return {
        "zone": expiry.zone.name,
        "name": expiry.name,
        "type": rdata.type_to_text(expiry.type),
        "remove_at": stamp(expiry.remove_at),
        "set_at": stamp(expiry.set_at),
        "set_by": actor_form(expiry.set_by.username, expiry.token) if expiry.set_by and knows else None,
        "refusal": expiry.refusal if expiry.refusal and knows else None,
    }
