"""Record when a key's DS appears in the parent's answers and when it disappears. Verbs."""

from collections.abc import Collection, Mapping
from datetime import datetime

from django.db.models import Q

from dnspanel.zones.dnssec import key_material
from dnspanel.zones.models import Zone, ZoneKey


def note_ds(*, found: Mapping[int, Collection[Collection[str]]], now: datetime) -> int:
    """Store when a key's DS appears on all of the parent's servers, and when it has disappeared from all of them.

    Return the number of changed keys. `found` maps a zone id to the DS RRsets of the servers that answered. Other
    servers are ignored. A DS on only some servers changes nothing, because the servers aren't in sync yet. Makes two
    queries if nothing changes.
    """
    looks = {zone_id: sets for zone_id, sets in found.items() if sets}
    names = dict(Zone.objects.filter(pk__in=list(looks)).values_list("pk", "name"))
    of_use = Q(deleted_at=None) | Q(ds_seen_at__isnull=False, ds_gone_at=None)
    changed = 0
    for row in ZoneKey.objects.filter(of_use, zone__in=list(looks)).defer("private_encrypted"):
        key = (names[row.zone_id], row.flags, row.algorithm, bytes(row.public))
        has_it = [key_material.is_named_by(*key, ds) for ds in looks[row.zone_id]]
        stored, is_seen = ZoneKey.objects.filter(pk=row.pk), row.ds_seen_at is not None and row.ds_gone_at is None
        if all(has_it) and not is_seen:
            changed += stored.update(ds_seen_at=now, ds_gone_at=None)
        elif is_seen and not any(has_it):
            changed += stored.update(ds_gone_at=now)
    return changed
