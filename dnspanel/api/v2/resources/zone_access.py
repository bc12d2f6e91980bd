"""API resources for a zone's access: the people and tokens with rights in the zone, and the zone's locks.

The lists of people and tokens name the sources of these rights. Only the manager of a lock can change
the locked records.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Right, person_form, token_form
from dnspanel.accounts.actors.explain_rights import Subject
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import cut, each_as, page_answer, page_by_id, page_request
from dnspanel.api.v2.http.problems import bad_parameter, bad_value
from dnspanel.api.v2.http.view import V2View, api_operation, no_content, query_parameter
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer, TokenNameSerializer
from dnspanel.api.v2.schema.fields import (
    PAGED,
    OptionalText,
    RecordType,
    Shape,
    Text,
    page_of,
    read,
    stamp,
    text_parameter,
    type_number,
)
from dnspanel.zones.models import Lock, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.rights.lock_rules import lock_in
from dnspanel.zones.rights.locks import LONGEST_REASON, NO_MANAGER, add_lock, lift_lock, manager_of
from dnspanel.zones.rights.rights_here import RightsHere, people_here, subject_of, tokens_here
from replication.dns import names, rdata
from replication.errors import BadName, BadRdata

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


class NewLockSerializer(Shape):
    """A new lock on a zone, on a name in the zone, or on an RRset."""

    name = OptionalText(max_length=1100, help_text="Owner name, relative or absolute. Empty: the whole zone.")
    type = OptionalText(max_length=20, help_text="Record type. Empty: every type at the name.")
    reason = Text(max_length=LONGEST_REASON, help_text="Reason, shown to people whose change it refuses.")
    mine = serializers.BooleanField(
        default=False, help_text="true: only this token can change the records; false: no one can."
    )


class LockSerializer(Shape):
    """A lock on a zone, on a name in the zone, or on an RRset."""

    id = serializers.IntegerField()
    name = serializers.CharField(allow_null=True, help_text="Owner name; null: the whole zone.")
    type = serializers.CharField(allow_null=True, help_text="Record type; null: every type.")
    reason = serializers.CharField()
    manager = serializers.CharField(allow_null=True, help_text="Who can change the records, in words; null: no one.")
    placed_by = ActorSerializer(allow_null=True)
    placed_at = serializers.DateTimeField()


class ZoneLocks(V2View):
    @api_operation("listLocks", page_of(LockSerializer), *PAGED)
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """List the locks of a zone.

        Each lock has its name, type, reason and manager. Needs the `settings` right.
        """
        zone = access.zone_for(self.actor, zone_name, Right.SETTINGS)
        found = Lock.objects.filter(zone=zone).select_related("zone", "person", "token", "placed_by")
        return page_by_id(request, found, each_as(_lock_json))

    @api_operation("createLock", {201: LockSerializer}, request=NewLockSerializer)
    def post(self, request: Request, zone_name: str) -> HttpResponse:
        """Lock a zone, a name or an RRset.

        From then on, only the manager of the lock can change or delete the locked records, in every part of the panel.
        Needs the `settings` right. Anyone with this right can delete the lock.
        """
        zone = access.zone_for(self.actor, zone_name, Right.SETTINGS)
        values = read(NewLockSerializer, request.data)
        try:
            name = names.parse(values["name"], zone.name) if values["name"] else ""
            type_ = rdata.type_from_text(values["type"]) if values["type"] else None
        except BadName as exc:
            raise bad_value("/name", str(exc), "bad-name") from exc
        except BadRdata as exc:
            raise bad_value("/type", exc.reason, "bad-type") from exc
        lock = add_lock(
            zone=zone,
            name=name,
            type=type_,
            reason=values["reason"],
            manager=manager_of(self.actor) if values["mine"] else NO_MANAGER,
            author=self.actor,
            now=timezone.now(),
        )
        return answer_with_tag(_lock_json(lock), 201, Location=f"{request.path}/{lock.pk}")


class ZoneLock(V2View):
    @api_operation("getLock", LockSerializer)
    def get(self, request: Request, zone_name: str, lock_id: int) -> HttpResponse:
        """Read a lock.

        Returns the locked zone, name or RRset, and the lock's reason and manager. Needs the `settings` right.
        """
        zone = access.zone_for(self.actor, zone_name, Right.SETTINGS)
        return answer_with_tag(_lock_json(lock_in(zone, lock_id)))

    @api_operation("deleteLock", {204: None})
    def delete(self, request: Request, zone_name: str, lock_id: int) -> HttpResponse:
        """Delete a lock.

        The zone, name or RRset can be changed again at once. Needs the `settings` right.
        """
        zone = access.zone_for(self.actor, zone_name, Right.SETTINGS)
        with conditional_write(request, f"lock/{lock_id}", lambda: _lock_json(lock_in(zone, lock_id))):
            lift_lock(zone=zone, lock_id=lock_id, author=self.actor, now=timezone.now())
        return no_content()


def _lock_json(lock: Lock) -> dict[str, Any]:
    return {
        "id": lock.pk,
        "name": lock.name or None,
        "type": None if lock.type is None else rdata.type_to_text(lock.type),
        "reason": lock.reason,
        "manager": lock.manager or None,
        "placed_by": person_form(lock.placed_by),
        "placed_at": stamp(lock.placed_at),
    }
