"""A person's draft: unpublished operations on RRsets in any number of zones. Verbs.

Functions that store or drop operations lock the draft. Therefore one person's edits in several tabs happen one after
another, and publishing never drops an operation that it hasn't read.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from json.encoder import encode_basestring as quoted
from typing import Any, Literal, NamedTuple

from django.db import transaction
from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.models import User
from dnspanel.database.sql import fetch_all
from dnspanel.texts import gettext
from dnspanel.zones.errors import CannotResolve, CannotUndo, Unknown
from dnspanel.zones.models import Change as StoredChange
from dnspanel.zones.models import Draft, Operation, Zone
from dnspanel.zones.plan import zone_quotas
from dnspanel.zones.plan.merge import Edit, is_already_so
from dnspanel.zones.rights import access
from dnspanel.zones.store import store_rrsets
from replication.codec.keys import relative_key
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import Change, Key, RRset, json_text, make
from replication.errors import BadRRset, NameOutside

Choice = Literal["theirs", "mine", "both"]
# The owner of a draft. A token works in its owner's draft, within its scope.
Drafter = User | Actor
KeyInZone = tuple[int, str, int]  # id of the zone, owner name, type


class ZoneChanges(NamedTuple):
    """Changes to RRsets of a zone, and the revision that they are based on."""

    zone: Zone
    changes: Sequence[Change]
    base_revision: int


# One JSON parameter: thousands of separate parameters take Python and PostgreSQL twice as long.
_STORE = """
INSERT INTO zones_operation (draft_id, zone_id, name, owner_key, type, base, wanted, base_revision, at)
SELECT %s, zone, name, decode(key, 'hex'), type, base, wanted, base_revision, %s
FROM jsonb_to_recordset(%s::jsonb)
    AS o (zone int, name text, key text, type int, base jsonb, wanted jsonb, base_revision int)
ON CONFLICT (draft_id, zone_id, owner_key, type) DO UPDATE SET wanted = excluded.wanted, at = excluded.at
RETURNING zone_id, name, type, id"""


def replace_rrset(
    *,
    author: Drafter,
    zone: Zone,
    rrset: RRset,
    now: datetime,
    replaces: Key | None = None,
    base_revision: int | None = None,
) -> Operation | None:
    """Put an RRset into the author's draft. Return the operation, or None if it would change nothing.

    `replaces` is the old RRset's key if its name or type was edited; the old RRset is deleted. `base_revision` is the
    revision that the author saw. Later changes by other people aren't overwritten, but cause a conflict. A second edit
    of the same RRset keeps the base of the first edit. An RRset that equals its base or the published RRset isn't
    stored.

    Raise NameOutside for a name outside the zone, Unknown for a deleted zone, and QuotaExceeded if the draft would be
    too large. Raise RightMissing if the author isn't allowed to change the RRset.
    """
    key = rrset.name, rrset.type
    afters: dict[Key, RRset | None] = {key: rrset}
    if replaces is not None and replaces != key:
        afters[replaces] = None
    return _draft_rrsets(author, {zone: afters}, now, base_revision).get((zone.pk, *key))


def replace_rrsets(*, author: Drafter, zone: Zone, rrsets: Collection[RRset], now: datetime) -> Sequence[Operation]:
    """Put RRsets into the author's draft. Return the operations for RRsets that differ from the zone.

    Raise the errors of `replace_rrset`. After an error, the draft is unchanged.
    """
    afters = {(rrset.name, rrset.type): rrset for rrset in rrsets}
    return list(change_rrsets(author=author, zone=zone, afters=afters, now=now).values())


def change_rrsets(
    *, author: Drafter, zone: Zone, afters: Mapping[Key, RRset | None], now: datetime, base_revision: int | None = None
) -> Mapping[Key, Operation]:
    """Put RRsets into the author's draft, either all or none. The value None deletes an RRset.

    Return the operations, keyed by the RRset's name and type. `base_revision` and the errors are those of
    `replace_rrset`. After an error, the draft is unchanged.
    """
    if not afters:
        return {}
    drafted = _draft_rrsets(author, {zone: afters}, now, base_revision)
    return {(name, type): operation for (_, name, type), operation in drafted.items()}


def change_rrsets_of_zones(*, author: Drafter, afters: Mapping[Zone, Mapping[Key, RRset | None]], now: datetime) -> int:
    """Put RRsets of several zones into the author's draft, either all or none. The value None deletes an RRset.

    Return the number of operations. Raise the errors of `replace_rrset`. After an error, the draft is unchanged. The
    number of queries doesn't depend on the number of zones.
    """
    changed = {zone: of_zone for zone, of_zone in afters.items() if of_zone}
    return len(_write_rrsets(author, changed, now, None)[1]) if changed else 0


def delete_rrset(
    *, author: Drafter, zone: Zone, name: str, type: int, now: datetime, base_revision: int | None = None
) -> Operation | None:
    """Delete an RRset in the author's draft. Return the operation, or None if the zone doesn't have the RRset.

    If the draft added the RRset, its operation is removed.
    """
    return _draft_rrsets(author, {zone: {(name, type): None}}, now, base_revision).get((zone.pk, name, type))


def operations_of(author: Drafter) -> "QuerySet[Operation]":
    """Select the operations in the author's draft.

    The query has no join, because PostgreSQL would sometimes compare all pairs of rows when it deletes the selected
    rows. This takes a minute and a half for 10,000 operations.
    """
    return Operation.objects.filter(draft__in=Draft.objects.filter(author=person(author)))


def drop_operation(*, author: Drafter, zone: Zone, name: str, type: int) -> bool:
    """Remove the operation on this RRset from the author's draft. Return False if it doesn't exist."""
    with transaction.atomic():
        Draft.objects.select_for_update(no_key=True).filter(author=person(author)).first()
        dropped, _ = operations_of(author).filter(zone=zone, name=name, type=type).delete()
    return dropped > 0


def resolve(*, author: Drafter, operation_id: int, choice: Choice, now: datetime) -> Operation | None:
    """Resolve an operation's conflict. Return the operation, or None if it was deleted or is no longer needed.

    `choice` is `theirs` (drop the author's change), `mine` (overwrite the published change) or `both` (keep the records
    of both, with the author's TTL). Raise CannotResolve if the records can't be combined.
    """
    with transaction.atomic(durable=True):
        open_draft(author, now)
        mine = Operation.objects.select_related("zone").filter(draft__author=person(author), pk=operation_id).first()
        if mine is None:
            return None
        zone = mine.zone
        published = store_rrsets.rrsets_at_names({zone.pk: (zone.name, {mine.name})})[zone.pk]
        theirs = published.get((mine.name, mine.type))
        result = _resolve_conflict(edit_of(mine).change, theirs, choice)
        if is_already_so(theirs, result):
            Operation.objects.filter(pk=mine.pk).delete()
            return None
        mine.base, mine.wanted = _json(theirs), _json(result)
        mine.base_revision, mine.at = zone.revision, now
        mine.save(update_fields=["base", "wanted", "base_revision", "at"])
        return mine


def draft_changes(*, author: Drafter, zones: Sequence[ZoneChanges], now: datetime) -> Draft:
    """Add changes to the author's draft, either all or none. Return the draft.

    Raise CannotUndo if the draft already changes one of the RRsets, and QuotaExceeded if the draft would be too large.
    Raise Unknown or RightMissing if the author isn't allowed to see or change one of the RRsets.
    """
    with transaction.atomic(durable=True):
        draft = open_draft(author, now)
        add_operations(author, draft, zones, now)
    return draft


def add_operations(author: Drafter, draft: Draft, zones: Sequence[ZoneChanges], now: datetime) -> None:
    """Add changes to this draft, which the caller has locked or created. Raise the errors of `draft_changes`."""
    found = Operation.objects.filter(draft=draft, zone__in=[each.zone.pk for each in zones])
    drafted = set(found.values_list("zone_id", "name", "type"))
    new: list[Operation] = []
    for zone, changes, base_revision in zones:
        access.refuse_unseen(author, zone, changes)
        access.refuse_changes(author, zone, changes)
        for change in changes:
            if (zone.pk, *change.key) in drafted:
                what = f"{rdata.type_to_text(change.type)} {change.name}"
                text = gettext("Your draft already changes {what}. Publish or discard that change first.")
                raise CannotUndo(text.format(what=what))
            drafted.add((zone.pk, *change.key))
            new.append(_operation(draft, zone, change, base_revision, now))
    used = zone_quotas.operation_count(person(author).pk, zone_quotas.operations_to_count(author))
    zone_quotas.refuse_operations(author, used=used, added=len(new))
    Operation.objects.bulk_create(new, batch_size=2000)


def open_draft(author: Drafter, now: datetime) -> Draft:
    """Return the author's draft, or create it. The draft is locked until the transaction ends."""
    return Draft.objects.bulk_create(
        [Draft(author=person(author), changed_at=now)],
        update_conflicts=True,
        unique_fields=["author"],
        update_fields=["changed_at"],
    )[0]


def person(drafter: Drafter) -> User:
    """Return the owner of the draft: the user itself, or the user of an actor."""
    return drafter.user if isinstance(drafter, Actor) else drafter


def edit_of(operation: Operation) -> Edit:
    """Convert an operation to an immutable Edit."""
    return _edit(operation.pk, operation.name, operation.type, operation.base, operation.wanted)


def edits_of(operations: "QuerySet[Operation]") -> dict[int, list[Edit]]:
    """Return operations as immutable Edits, keyed by zone id. Model instances would take twice as long."""
    found: dict[int, list[Edit]] = {}
    for zone_id, *operation in operations.values_list("zone_id", "pk", "name", "type", "base", "wanted"):
        found.setdefault(zone_id, []).append(_edit(*operation))
    return found


def _edit(pk: int, name: str, type: int, base: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Edit:
    before = RRset.from_json(name, type, base) if base else None
    return Edit(Change(name, type, before, RRset.from_json(name, type, after) if after else None), pk)


class _New(NamedTuple):
    """A new operation: the change to an RRset, and the revision it is based on."""

    zone: Zone
    change: Change
    base_revision: int


def _draft_rrsets(
    author: Drafter, afters: Mapping[Zone, Mapping[Key, RRset | None]], now: datetime, base_revision: int | None
) -> dict[KeyInZone, Operation]:
    """Write RRsets into the draft, like `_write_rrsets`. Return the stored operations."""
    draft, new, ids = _write_rrsets(author, afters, now, base_revision)
    found = {place: _operation(draft, *each, now) for place, each in new.items()}
    for place, operation in found.items():
        operation.pk = ids[place]
    return found


def _write_rrsets(
    author: Drafter, afters: Mapping[Zone, Mapping[Key, RRset | None]], now: datetime, base_revision: int | None
) -> tuple[Draft, dict[KeyInZone, _New], dict[KeyInZone, int]]:
    """Write RRsets into the author's draft (None deletes an RRset), and remove operations without effect.

    Return the draft, and the new operations with their ids. Raise the errors of `replace_rrset`. `base_revision` can be
    used only with a single zone.
    """
    owners = {zone.pk: (zone.name, {name for name, _ in of_zone}) for zone, of_zone in afters.items()}
    for zone_name, owner_names in owners.values():
        for name in owner_names:
            if not names.is_within(name, zone_name):
                raise NameOutside(text=name, zone_name=zone_name)
    with transaction.atomic(durable=True):
        draft = open_draft(author, now)
        counted = zone_quotas.operations_in(draft, zone_quotas.operations_to_count(author))
        alive = Zone.objects.filter(pk__in=list(owners), deleted_at=None).values_list("pk", "revision", counted)
        revisions = {pk: (revision, used) for pk, revision, used in alive}
        if gone := next((zone for zone in afters if zone.pk not in revisions), None):
            raise Unknown(gone.name)
        published = store_rrsets.rrsets_at_names(owners)
        drafted = _drafted_at(draft, owners)
        operations: dict[KeyInZone, _New] = {}
        dropped = []
        for zone, of_zone in afters.items():
            found = published[zone.pk]
            access.refuse_changes(author, zone, (Change(*key, found.get(key), r) for key, r in of_zone.items()))
            revision, _ = revisions[zone.pk]
            seen_revision = revision if base_revision is None else min(base_revision, revision)
            seen = found if seen_revision == revision else found | _changed_since(zone, seen_revision, of_zone)
            for key, rrset in of_zone.items():
                place = (zone.pk, *key)
                before = drafted.get(place)
                base = edit_of(before).change.before if before else seen.get(key)
                if not (is_already_so(found.get(key), rrset) or is_already_so(base, rrset)):
                    base_number = before.base_revision if before else seen_revision
                    operations[place] = _New(zone, Change(*key, base, rrset), base_number)
                elif before:
                    dropped.append(before.pk)
        added = len(operations.keys() - drafted.keys()) - len(dropped)
        zone_quotas.refuse_operations(author, used=next(iter(revisions.values()))[1], added=added)
        ids = _store(draft, operations, dropped, now)
    return draft, operations, ids


def _drafted_at(draft: Draft, owners: Mapping[int, tuple[str, Collection[str]]]) -> dict[KeyInZone, Operation]:
    """Return the draft's operations at these owner names, keyed by zone id, name and type."""
    owner_names = set().union(*(of_zone for _, of_zone in owners.values()))
    found = Operation.objects.filter(draft=draft, zone__in=list(owners), name__in=owner_names)
    return {(o.zone_id, o.name, o.type): o for o in found}


def _store(
    draft: Draft, operations: Mapping[KeyInZone, _New], dropped: Sequence[int], now: datetime
) -> dict[KeyInZone, int]:
    """Store operations in the draft, and delete the dropped ones. Return the stored operations' ids."""
    if dropped:
        Operation.objects.filter(pk__in=dropped).delete()
    if not operations:
        return {}
    rows = [
        f'{{"zone": {zone.pk}, "name": {quoted(change.name)}, "key": "{relative_key(change.name, zone.name).hex()}", '
        f'"type": {change.type}, "base": {json_text(change.before)}, "wanted": {json_text(change.after)}, '
        f'"base_revision": {base_revision}}}'
        for zone, change, base_revision in operations.values()
    ]
    return {
        (zone_id, name, type_): pk
        for zone_id, name, type_, pk in fetch_all(_STORE, [draft.pk, now, f"[{','.join(rows)}]"])
    }


def _changed_since(zone: Zone, number: int, keys: Mapping[Key, object]) -> dict[Key, RRset | None]:
    """Return the RRsets in `keys` that changed after revision `number`, as of that revision (None: absent)."""
    first: dict[Key, RRset | None] = {}
    since = StoredChange.objects.filter(revision__zone=zone, revision__number__gt=number, name__in={n for n, _ in keys})
    for change in since.order_by("revision__number"):
        before = RRset.from_json(change.name, change.type, change.before) if change.before else None
        first.setdefault((change.name, change.type), before)
    return first


def _resolve_conflict(change: Change, theirs: RRset | None, choice: Choice) -> RRset | None:
    if choice == "theirs":
        return theirs
    if choice == "mine":
        return change.after
    mine = change.after
    if mine is None or theirs is None:
        raise CannotResolve(gettext("One of the two changes deletes the records, so they cannot be merged."))
    if mine.type == rdtypes.SOA:
        raise CannotResolve(gettext("A zone can only have one SOA record. Choose one of the two versions."))
    union = (*theirs.rdata, *mine.rdata)  # if a value is in both, its capitals are those of `mine`
    disabled = (*mine.disabled, *rdata.not_among(mine.type, theirs.disabled, mine.rdata))
    comment = mine.comment or theirs.comment
    try:
        return make(mine.name, mine.type, mine.ttl, union, disabled, comment, notes=mine.notes.merge_with(theirs.notes))
    except BadRRset as exc:
        raise CannotResolve(gettext("The records in the two versions can’t be merged: {exc}.").format(exc=exc)) from exc


def _operation(draft: Draft, zone: Zone, change: Change, base_revision: int, now: datetime) -> Operation:
    return Operation(
        draft=draft,
        zone=zone,
        name=change.name,
        owner_key=relative_key(change.name, zone.name),
        type=change.type,
        base=_json(change.before),
        wanted=_json(change.after),
        base_revision=base_revision,
        at=now,
    )


def _json(rrset: RRset | None) -> dict[str, object] | None:
    return rrset.to_json() if rrset is not None else None
