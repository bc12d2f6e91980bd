"""Store the TSIG keys that are allowed to update or transfer a zone, as in PowerDNS's metadata. Verbs.

A key created through PowerDNS's API has no rights until a zone's metadata names it (TSIG-ALLOW-DNSUPDATE,
TSIG-ALLOW-AXFR). Even then, it can only do what its creator is allowed to do. A name in metadata doesn't grant rights
of its own, because anyone can create a key with that name.
"""

from collections.abc import Collection
from dataclasses import replace

from django.db import transaction

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Actor, Grant, Right
from dnspanel.zones.models import TsigAct, TsigPermission, Zone

_RIGHTS = {TsigAct.UPDATE: RECORD_RIGHTS | {Right.READ}, TsigAct.TRANSFER: frozenset({Right.READ})}


def replace_key_names(*, zone: Zone, act: TsigAct, key_names: Collection[str]) -> None:
    """Set the keys (canonical names) that are allowed to perform `act` on the zone."""
    with transaction.atomic():
        named = TsigPermission.objects.filter(zone=zone, act=act)
        named.exclude(key_name__in=key_names).delete()
        rows = [TsigPermission(zone=zone, act=act, key_name=name) for name in sorted(set(key_names))]
        TsigPermission.objects.bulk_create(rows, ignore_conflicts=True)


def key_names(zone: Zone, act: TsigAct) -> list[str]:
    """Return the names of the keys that are allowed to perform `act` on the zone."""
    return list(
        TsigPermission.objects.filter(zone=zone, act=act).order_by("key_name").values_list("key_name", flat=True)
    )


def rights_by_key(zone: Zone) -> dict[str, frozenset[Right]]:
    """Return the rights that the zone grants to keys, keyed by key name. A key's scope limits them further."""
    found: dict[str, frozenset[Right]] = {}
    for key_name, act in TsigPermission.objects.filter(zone=zone).values_list("key_name", "act"):
        found[key_name] = found.get(key_name, frozenset()) | _RIGHTS[TsigAct(act)]
    return found


def actor_for(actor: Actor, zone_name: str, act: TsigAct) -> Actor:
    """Return the actor of a TSIG key, limited to this action on the zone with this canonical name.

    A key with `needs_permission` keeps its scope's rights only over a zone that names it. The actor of another key is
    returned unchanged.
    """
    token = actor.token
    if token is None or not token.needs_permission:
        return actor
    named = TsigPermission.objects.filter(zone__name=zone_name, zone__deleted_at=None, act=act)
    permission = named.filter(key_name=token.tsig_name).select_related("zone").first()
    if permission is None:
        return replace(actor, scope=())
    zone = permission.zone
    giving = [grant for grant in actor.scope or () if grant.covers_zone(zone.pk, zone.tags, zone.team_id)]
    scope = tuple(
        Grant(grant.rights & _RIGHTS[act], zones=frozenset({zone.pk}), names=grant.names, types=grant.types)
        for grant in giving
        if grant.rights & _RIGHTS[act]
    )
    return replace(actor, scope=scope)
