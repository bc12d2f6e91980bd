"""API resource that lists RRsets with a scheduled removal in all zones, earliest removal first."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, actor_form
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.view import V2View, api_operation, query_parameter
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import PAGED, Moment, Shape, moment_parameter, page_of, stamp
from dnspanel.zones.models import Expiry
from dnspanel.zones.publishing.expiry import expiring
from dnspanel.zones.rights.access import may_know_author, visibility_of
from replication.dns import rdata

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = 2**57  # microseconds; limits the times in forged cursors


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
        items = [_json(row, self.actor) for row in rows if _is_seen(row, self.actor)]
        key = ((rows[-1].remove_at - _EPOCH) // timedelta(microseconds=1), rows[-1].pk) if more else None
        return page_answer(request, items, key)


def _is_seen(expiry: Expiry, actor: Actor) -> bool:
    sees = visibility_of(actor, expiry.zone)
    return sees is None or sees(expiry.name, expiry.type)


def _json(expiry: Expiry, actor: Actor) -> dict[str, Any]:
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
