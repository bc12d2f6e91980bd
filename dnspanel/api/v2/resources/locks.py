"""API resources for a zone's locks. Only the manager of a lock can change the locked records."""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Right, person_form
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.problems import bad_value
from dnspanel.api.v2.http.view import V2View, api_operation, no_content
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import PAGED, OptionalText, Shape, Text, page_of, read, stamp
from dnspanel.zones.models import Lock
from dnspanel.zones.rights import access
from dnspanel.zones.rights.lock_rules import lock_in
from dnspanel.zones.rights.locks import LONGEST_REASON, NO_MANAGER, add_lock, lift_lock, manager_of
from replication.dns import names, rdata
from replication.errors import BadName, BadRdata


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
        return page_by_id(request, found, each_as(_json))

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
        return answer_with_tag(_json(lock), 201, Location=f"{request.path}/{lock.pk}")


class ZoneLock(V2View):
    @api_operation("getLock", LockSerializer)
    def get(self, request: Request, zone_name: str, lock_id: int) -> HttpResponse:
        """Read a lock.

        Returns the locked zone, name or RRset, and the lock's reason and manager. Needs the `settings` right.
        """
        zone = access.zone_for(self.actor, zone_name, Right.SETTINGS)
        return answer_with_tag(_json(lock_in(zone, lock_id)))

    @api_operation("deleteLock", {204: None})
    def delete(self, request: Request, zone_name: str, lock_id: int) -> HttpResponse:
        """Delete a lock.

        The zone, name or RRset can be changed again at once. Needs the `settings` right.
        """
        zone = access.zone_for(self.actor, zone_name, Right.SETTINGS)
        with conditional_write(request, f"lock/{lock_id}", lambda: _json(lock_in(zone, lock_id))):
            lift_lock(zone=zone, lock_id=lock_id, author=self.actor, now=timezone.now())
        return no_content()


def _json(lock: Lock) -> dict[str, Any]:
    return {
        "id": lock.pk,
        "name": lock.name or None,
        "type": None if lock.type is None else rdata.type_to_text(lock.type),
        "reason": lock.reason,
        "manager": lock.manager or None,
        "placed_by": person_form(lock.placed_by),
        "placed_at": stamp(lock.placed_at),
    }
