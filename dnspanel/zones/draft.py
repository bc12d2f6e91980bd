"""A person's draft: unpublished operations on RRsets, over any number of zones. Verbs.

A verb that writes an operation locks the draft, so that one person's tabs take
turns, and so that publishing never drops an operation that it has not read.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from django.db import transaction

from dnspanel.accounts.actors import Actor
from dnspanel.accounts.models import User
from dnspanel.zones import access, store_rrsets
from dnspanel.zones.errors import CannotResolve, CannotUndo, Unknown
from dnspanel.zones.merge import Edit, Key, is_already_so
from dnspanel.zones.models import Change, Draft, Operation, Zone
from replication.codec.keys import relative_key
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset, make
from replication.errors import BadName, BadRRset

Choice = Literal["theirs", "mine", "both"]
# Whose draft it is; a token works in the draft of its owner, as far as its scope goes.
Drafter = User | Actor


def replace_rrset(
    *,
    author: Drafter,
    zone: Zone,
    rrset: RRset,
    now: datetime,
    replaces: Key | None = None,
    base_revision: int | None = None,
) -> Operation | None:
    """The author's draft wants this RRset in the zone; None when the zone has it like this already.

    `replaces` names the RRset that this one takes the place of, when its name
    or type was edited. `base_revision` is the revision that the author was
    looking at; a change that others published since then will be a conflict,
    not overwritten. Editing again keeps the base of the first edit. Raises
    BadName for a name outside of the zone, Unknown when the zone is gone, and
    RightMissing for an RRset that the author may not change.
    """
    key = rrset.name, rrset.type
    wanted: dict[Key, RRset | None] = {key: rrset}
    if replaces is not None and replaces != key:
        wanted[replaces] = None
    return _want(author, zone, wanted, now, base_revision).get(key)


def delete_rrset(
    *, author: Drafter, zone: Zone, name: str, type: int, now: datetime, base_revision: int | None = None
) -> Operation | None:
    """The author's draft wants this RRset gone; None when the zone does not have it (an added one is forgotten)."""
    return _want(author, zone, {(name, type): None}, now, base_revision).get((name, type))


def drop_operation(*, author: Drafter, zone: Zone, name: str, type: int) -> bool:
    """The author's draft has no operation on this RRset any more; returns whether it had one."""
    dropped, _ = Operation.objects.filter(draft__author=person(author), zone=zone, name=name, type=type).delete()
    return dropped > 0


def discard(*, author: Drafter, zone: Zone | None = None) -> int:
    """The author's draft (of this zone) is empty; returns how many operations it had."""
    operations = Operation.objects.filter(draft__author=person(author))
    if zone is not None:
        operations = operations.filter(zone=zone)
    dropped, _ = operations.delete()
    return dropped


def resolve(*, author: Drafter, operation_id: int, choice: Choice, now: datetime) -> Operation | None:
    """The conflict of this operation is settled; None when the operation is thereby gone, or was.

    theirs: drop mine. mine: put mine over theirs. both: the records of both, with my TTL.
    Raises CannotResolve.
    """
    with transaction.atomic(durable=True):
        open_draft(author, now)
        mine = Operation.objects.select_related("zone").filter(draft__author=person(author), pk=operation_id).first()
        if mine is None:
            return None
        zone = mine.zone
        published = store_rrsets.rrsets_at_names({zone.pk: (zone.name, {mine.name})})[zone.pk]
        theirs = published.get((mine.name, mine.type))
        wanted = _settled(edit_of(mine), theirs, choice)
        if is_already_so(theirs, wanted):
            Operation.objects.filter(pk=mine.pk).delete()
            return None
        mine.base, mine.wanted = _json(theirs), _json(wanted)
        mine.base_revision, mine.at = zone.revision, now
        mine.save(update_fields=["base", "wanted", "base_revision", "at"])
        return mine


def hold_edits(*, author: Drafter, zone: Zone, edits: Sequence[Edit], base_revision: int, now: datetime) -> Draft:
    """The author's draft holds these edits besides what it held; raises CannotUndo if it holds one of them already."""
    with transaction.atomic(durable=True):
        draft = open_draft(author, now)
        held = set(Operation.objects.filter(draft=draft, zone=zone).values_list("name", "type"))
        clash = next((edit for edit in edits if edit.key in held), None)
        if clash is not None:
            what = f"{rdata.type_to_text(clash.type)} {clash.name}"
            raise CannotUndo(f"Your draft changes {what} already. Publish or discard that first.")
        Operation.objects.bulk_create(
            [_operation(draft, zone, edit, base_revision, now) for edit in edits], batch_size=2000
        )
    return draft


def open_draft(author: Drafter, now: datetime) -> Draft:
    """The author's draft, made if there was none, and locked until the transaction ends."""
    return Draft.objects.bulk_create(
        [Draft(author=person(author), changed_at=now)],
        update_conflicts=True,
        unique_fields=["author"],
        update_fields=["changed_at"],
    )[0]


def person(drafter: Drafter) -> User:
    """The person whose draft this is."""
    return drafter.user if isinstance(drafter, Actor) else drafter


def edit_of(operation: Operation) -> Edit:
    """The operation as a frozen value."""
    name, type_ = operation.name, operation.type
    base = RRset.from_json(name, type_, operation.base) if operation.base else None
    wanted = RRset.from_json(name, type_, operation.wanted) if operation.wanted else None
    return Edit(operation.pk, name, type_, base, wanted)


def _want(
    author: Drafter, zone: Zone, wanted: Mapping[Key, RRset | None], now: datetime, base_revision: int | None
) -> dict[Key, Operation]:
    """The operations with which the author's draft now wants these RRsets; those that would do nothing are gone."""
    owners = {name for name, _ in wanted}
    for name in owners:
        if not names.is_within(name, zone.name):
            raise BadName(text=name, reason=f"it is not inside the zone {zone.name}")
    with transaction.atomic(durable=True):
        draft = open_draft(author, now)
        revision = Zone.objects.filter(pk=zone.pk, deleted_at=None).values_list("revision", flat=True).first()
        if revision is None:
            raise Unknown(zone.name)
        published = store_rrsets.rrsets_at_names({zone.pk: (zone.name, owners)})[zone.pk]
        access.refuse_changes(author, zone, ((*key, published.get(key), rrset) for key, rrset in wanted.items()))
        held = {(o.name, o.type): o for o in Operation.objects.filter(draft=draft, zone=zone, name__in=owners)}
        seen_revision = revision if base_revision is None else min(base_revision, revision)
        seen = published if seen_revision == revision else published | _changed_since(zone, seen_revision, wanted)
        operations: dict[Key, Operation] = {}
        for key, rrset in wanted.items():
            before = held.get(key)
            base = edit_of(before).base if before else seen.get(key)
            if is_already_so(published.get(key), rrset) or is_already_so(base, rrset):
                continue
            base_number = before.base_revision if before else seen_revision
            operations[key] = _operation(draft, zone, Edit(None, *key, base=base, wanted=rrset), base_number, now)
        _store(operations, [held[key].pk for key in wanted if key in held and key not in operations])
    return operations


def _store(operations: Mapping[Key, Operation], dropped: Sequence[int]) -> None:
    if dropped:
        Operation.objects.filter(pk__in=dropped).delete()
    if operations:
        Operation.objects.bulk_create(
            operations.values(),
            update_conflicts=True,
            unique_fields=["draft", "zone", "owner_key", "type"],
            update_fields=["wanted", "at"],
        )


def _changed_since(zone: Zone, number: int, keys: Mapping[Key, object]) -> dict[Key, RRset | None]:
    """What these RRsets were at an older revision, for those that changed since."""
    first: dict[Key, RRset | None] = {}
    since = Change.objects.filter(revision__zone=zone, revision__number__gt=number, name__in={n for n, _ in keys})
    for change in since.order_by("revision__number"):
        before = RRset.from_json(change.name, change.type, change.before) if change.before else None
        first.setdefault((change.name, change.type), before)
    return first


def _settled(mine: Edit, theirs: RRset | None, choice: Choice) -> RRset | None:
    if choice == "theirs":
        return theirs
    if choice == "mine":
        return mine.wanted
    if mine.wanted is None or theirs is None:
        raise CannotResolve("One side deletes the RRset, so there are no records of both to keep.")
    if mine.type == rdtypes.SOA:
        raise CannotResolve("A zone has one SOA record; choose one of the two.")
    union = (*mine.wanted.rdata, *theirs.rdata)
    disabled = (*mine.wanted.disabled, *(text for text in theirs.disabled if text not in mine.wanted.rdata))
    comment = mine.wanted.comment or theirs.comment
    try:
        return make(mine.name, mine.type, mine.wanted.ttl, union, disabled, comment)
    except BadRRset as exc:
        raise CannotResolve(f"The records of both do not fit together: {exc}.") from exc


def _operation(draft: Draft, zone: Zone, edit: Edit, base_revision: int, now: datetime) -> Operation:
    return Operation(
        draft=draft,
        zone=zone,
        name=edit.name,
        owner_key=relative_key(edit.name, zone.name),
        type=edit.type,
        base=_json(edit.base),
        wanted=_json(edit.wanted),
        base_revision=base_revision,
        at=now,
    )


def _json(rrset: RRset | None) -> dict[str, object] | None:
    return rrset.to_json() if rrset is not None else None
