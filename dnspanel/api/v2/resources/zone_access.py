"""API resources that list the people and tokens with rights in a zone, and the sources of these rights."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import person_form, token_form
from dnspanel.accounts.actors.explain_rights import Subject
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.problems import bad_parameter
from dnspanel.api.v2.http.view import V2View, api_operation, query_parameter
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer, TokenNameSerializer
from dnspanel.api.v2.schema.fields import PAGED, RecordType, Shape, page_of, text_parameter, type_number
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from dnspanel.zones.rights.rights_here import RightsHere, people_here, subject_of, tokens_here
from replication.dns import names
from replication.errors import BadName

ABOUT_RRSET = [
    query_parameter("name", "Owner name in the zone; requires `type`."),
    query_parameter("type", "Record type; requires `name`."),
]


class RightsHereSerializer(Shape):
    """Rights over the zone from one source.

    The rights can be limited to owner names and record types.
    """

    rights = serializers.ListField(child=serializers.CharField())
    source = serializers.ChoiceField(choices=["role", "team", "grant", "scope"])
    because = serializers.CharField(help_text="Source of the rights, in words.")
    id = serializers.IntegerField(allow_null=True, help_text="Id of the team or the grant; else null.")
    names = serializers.ListField(child=serializers.CharField(), help_text="Name patterns. Empty: every name.")
    types = serializers.ListField(child=serializers.CharField(), help_text="Empty: every type.")


class PersonHereSerializer(Shape):
    """A person with rights over the zone."""

    user = serializers.IntegerField()
    username = serializers.CharField()
    by = RightsHereSerializer(many=True)


class TokenHereSerializer(Shape):
    """A token with rights over the zone.

    The listed rights are in the token's scope, and the token's owner has them too.
    """

    token = TokenNameSerializer()
    owned_by = ActorSerializer()
    by = RightsHereSerializer(many=True)


class ZonePeople(V2View):
    conditional = False

    @api_operation("listZonePeople", page_of(PersonHereSerializer), *PAGED, *ABOUT_RRSET)
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """List the people with rights in a zone.

        Lists each person's rights, with the role, team or grant that gives each right. Without the permission `people`,
        a token sees only its owner. With `name` and `type`, lists only rights over this RRset, and omits people without
        such rights. Needs the `read` right.
        """
        page = page_request(request, str)
        zone = access.zone_for_reading(self.actor, zone_name)
        after, subject = page.after[0] if page.after else "", subject_in(request.query_params, zone)
        found = people_here(self.actor, zone, after=after, limit=page.limit + 1, name=subject.name, type=subject.type)
        listed, more = cut(found, page.limit)
        rows = [{"user": e.person.pk, "username": e.person.username, "by": _by_json(e.by)} for e in listed if e.by]
        return page_answer(request, rows, (listed[-1].person.username,) if more else None)


class ZoneTokens(V2View):
    conditional = False

    @api_operation("listZoneTokens", page_of(TokenHereSerializer), *PAGED)
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """List the tokens with rights in a zone.

        Omits tokens whose owners no longer have rights in the zone. Without the permission `people`, a token sees only
        itself. Needs the `read` right.
        """
        page = page_request(request, int)
        zone = access.zone_for_reading(self.actor, zone_name)
        before = page.after[0] if page.after else None
        found = tokens_here(self.actor, zone, now=timezone.now(), before=before, limit=page.limit + 1)
        listed, more = cut(found, page.limit)
        rows = [
            {"token": token_form(e.token), "owned_by": person_form(e.token.owner), "by": _by_json(e.by)}
            for e in listed
            if e.by
        ]
        return page_answer(request, rows, (listed[-1].token.pk,) if more else None)


def subject_in(query: Mapping[str, str], zone: Zone) -> Subject:
    """Return the subject of a query: the RRset given by `name` and `type`, or else the zone.

    Raise Problem if only one of the two parameters is given, or if one is invalid.
    """
    name, type_ = text_parameter(query, "name", longest=1100), text_parameter(query, "type")
    if bool(name) != bool(type_):
        raise bad_parameter("type" if name else "name", "Send both `name` and `type`, or neither.", "required")
    if not name:
        return subject_of(zone)
    try:
        return subject_of(zone, names.parse(name, zone.name), type_number(type_))
    except BadName as exc:
        raise bad_parameter("name", str(exc), "bad-name") from exc
    except serializers.ValidationError as exc:
        raise bad_parameter("type", str(exc.args[0] if exc.args else exc), "bad-type") from exc


def _by_json(by: Iterable[RightsHere]) -> list[dict[str, Any]]:
    mnemonic = RecordType().to_representation
    return [
        {
            "rights": sorted(each.rights),
            "source": each.reason.source,
            "because": each.reason.description,
            "id": each.reason.id,
            "names": list(each.reason.grant.names),
            "types": [mnemonic(type_) for type_ in sorted(each.reason.grant.types)],
        }
        for each in by
    ]
