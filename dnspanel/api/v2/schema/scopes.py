"""JSON forms of grants: zones by name, types by mnemonic. Zones hidden from the actor are only counted."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from dnspanel.accounts.actors.actors import Actor, Grant, Right
from dnspanel.api.v2.schema.fields import Choice, Flag, Id, RecordType, Shape, Text, ZoneName
from dnspanel.zones.rights import access

MOST = 1_000
RIGHTS = [(str(right), str(right)) for right in Right]


class ScopeSerializer(Shape):
    """Rights over all zones, or over zones by name, tag or team, optionally limited to owner names and types."""

    rights = serializers.ListField(child=Choice(choices=RIGHTS), min_length=1, max_length=len(RIGHTS))
    everywhere = Flag(default=False, help_text="All zones.")
    zones = serializers.ListField(child=ZoneName(), default=list, max_length=MOST)
    zones_hidden = serializers.IntegerField(
        read_only=True, help_text="Number of further zones that the token cannot see."
    )
    tags = serializers.ListField(child=Text(max_length=64), default=list, max_length=MOST)
    teams = serializers.ListField(child=Id(), default=list, max_length=MOST, help_text="Ids of teams.")
    names = serializers.ListField(
        child=Text(max_length=255),
        default=list,
        max_length=MOST,
        help_text="Patterns of owner names; `*` stands for anything, `\\*` for a star. Absolute with a final dot,"
        " else relative to the zone (`@` is the apex). Empty: every name.",
    )
    types = serializers.ListField(child=RecordType(), default=list, max_length=MOST, help_text="Empty: every type.")


def grants_of(actor: Actor, scopes: Sequence[Mapping[str, Any]]) -> tuple[Grant, ...]:
    """Return the grants for validated members of `scope`. Raise the same errors as `grant_of`."""
    found, faults = [], {}
    for place, scope in enumerate(scopes):
        try:
            found.append(grant_of(actor, scope))
        except serializers.ValidationError as exc:
            faults[place] = exc.detail
    if faults:
        raise serializers.ValidationError({"scope": faults})
    return tuple(found)


def grant_of(actor: Actor, data: Mapping[str, Any]) -> Grant:
    """Return the grant for a validated scope.

    Raise ValidationError for zones that the actor isn't allowed to see.
    """
    ids = dict(access.zones_visible_to(actor).filter(name__in=data["zones"]).values_list("name", "pk"))
    missing = {place: name for place, name in enumerate(data["zones"]) if name not in ids}
    if missing:
        texts = {place: [ErrorDetail(f"Zone not found: {name}", "not-found")] for place, name in missing.items()}
        raise serializers.ValidationError({"zones": texts})
    return Grant(
        rights=frozenset(map(Right, data["rights"])),
        everywhere=data["everywhere"],
        zones=frozenset(ids.values()),
        tags=frozenset(tag.strip().lower() for tag in data["tags"]),
        teams=frozenset(data["teams"]),
        names=tuple(dict.fromkeys(data["names"])),
        types=frozenset(data["types"]),
    )


def scopes_json(actor: Actor, grants: Iterable[Grant]) -> list[dict[str, Any]]:
    """Return the JSON form of grants. One query reads the names of all their zones."""
    grants = list(grants)
    ids = {zone_id for grant in grants for zone_id in grant.zones}
    known = dict(access.zones_visible_to(actor).filter(pk__in=ids).values_list("pk", "name")) if ids else {}
    return [_json(grant, known) for grant in grants]


def _json(grant: Grant, known: Mapping[int, str]) -> dict[str, Any]:
    field = RecordType()
    return {
        "rights": sorted(grant.rights),
        "everywhere": grant.everywhere,
        "zones": sorted(known[zone_id] for zone_id in grant.zones if zone_id in known),
        "zones_hidden": sum(zone_id not in known for zone_id in grant.zones),
        "tags": sorted(grant.tags),
        "teams": sorted(grant.teams),
        "names": list(grant.names),
        "types": [field.to_representation(type_) for type_ in sorted(grant.types)],
    }
