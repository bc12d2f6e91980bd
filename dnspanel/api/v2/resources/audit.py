"""The audit log resource, newest entry first.

Without the permission `audit`, users see only their own actions, and a token only its owner's actions.
"""

from typing import Any

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.api.v2.http.pages import page_answer, page_request
from dnspanel.api.v2.http.view import V2View, api_operation, query_parameter
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import PAGED, moment_parameter, page_of, text_parameter
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.zones.audit.audit_trail import Act, Filters, Place, acts_page

_DATE_TIME = {"type": "string", "format": "date-time"}


class ActSerializer(serializers.Serializer):
    """An entry in the audit log: an action, its author, its time and its origin."""

    kind = serializers.ChoiceField(choices=[("entry", "an act"), ("publication", "a publication")])
    id = serializers.IntegerField(help_text="Id of the entry; for a publication, its sequence.")
    at = serializers.DateTimeField()
    actor = ActorSerializer()
    action = serializers.CharField(help_text="Code such as `token.create`; `publish` for a publication.")
    target = serializers.CharField(help_text="Changed object, in words.")
    address = serializers.CharField(allow_null=True)
    request_id = serializers.CharField(allow_null=True, help_text="Id of the request, from the X-Request-ID header.")
    session = serializers.CharField(allow_null=True, help_text="Id of the browser session; null for tokens.")
    details = serializers.DictField(help_text="More data about the act; the names depend on `action`.")
    number = serializers.IntegerField(
        allow_null=True, help_text="Position in the hash chain; null for the first seconds."
    )
    hash = serializers.CharField(allow_null=True, help_text="SHA-256 of the chain up to this act, hexadecimal.")


class Audit(V2View):
    @api_operation(
        "listAuditEntries",
        page_of(ActSerializer),
        query_parameter("action", "Action: `token.create`, or `token.` for all token actions."),
        query_parameter("user", "User name of the author."),
        query_parameter("session", "Id of the browser session, or its beginning."),
        query_parameter("q", "Part of the entry's text, a zone name, or a request id."),
        query_parameter("since", "Only entries at or after this time.", _DATE_TIME),
        query_parameter("until", "Only entries before this time.", _DATE_TIME),
        *PAGED,
    )
    def get(self, request: Request) -> HttpResponse:
        """List audit entries.

        Each entry records an action, its author, its time and its origin. The list includes publications, and the
        newest entry comes first. Without the permission `audit`, a token sees only its owner's actions.
        """
        query, page = request.query_params, page_request(request, int, int)
        filters = Filters(
            action=text_parameter(query, "action"),
            user=text_parameter(query, "user"),
            session=text_parameter(query, "session"),
            since=moment_parameter(query, "since"),
            until=moment_parameter(query, "until"),
            texts=(text,) if (text := text_parameter(query, "q")) else (),
        )
        # Cursors cannot contain null. A number above every id means that no entry of the kind was listed yet.
        after = Place(*(None if key >= _NONE_YET else key for key in page.after)) if page.after else Place()
        acts, place = acts_page(self.actor, filters=filters, after=after, limit=page.limit)
        key = None if place is None else tuple(_NONE_YET if part is None else part for part in place)
        return page_answer(request, [_json(act) for act in acts], key)


_NONE_YET = 2**62


def _json(act: Act) -> dict[str, Any]:
    nullable = ("address", "request_id", "session", "hash")
    return row_json(ActSerializer, act, **{name: getattr(act, name) or None for name in nullable})
