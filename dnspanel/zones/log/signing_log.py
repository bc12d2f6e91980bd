"""Publish and log changes to the signing of zones, like changes to RRsets. Verbs.

Each change is a separate revision with a new serial, so nodes and secondaries receive it. A change that isn't possible
in one step (from one NSEC3 chain to another) becomes several consecutive publications.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol
from uuid import UUID

from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Author, Right, SystemRight, user_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.database.sql import fetch_all
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.key_material import KeyPair, key_tag
from dnspanel.zones.dnssec.other_keys import changes_in_step
from dnspanel.zones.dnssec.queries import signing_of_zones
from dnspanel.zones.dnssec.signing_state import UNSIGNED, SigningState, steps_between
from dnspanel.zones.errors import DnssecRefused, Unknown
from dnspanel.zones.log.sequence_log import (
    InTransaction,
    NewRevision,
    append_publication,
    join_parts,
    nothing,
    publication_of_form,
)
from dnspanel.zones.models import Publication, RevisionKind, Signing, SigningChange, Zone, ZoneKey
from dnspanel.zones.rights import access
from dnspanel.zones.store import find_zones, store_rrsets
from dnspanel.zones.values import soa
from replication.dns import rdtypes
from replication.dns.rrset import Change, Key, RRset

Decide = Callable[[Zone, SigningState], SigningState]  # if it raises DnssecRefused, nothing is published

_ROW_IDS = "SELECT nextval('zones_signing_row_id') FROM generate_series(1, %s)"


class Decided(Protocol):
    """A callback that runs in the transaction of each publication. `is_last` is True for the last publication."""

    def __call__(self, *, is_last: bool) -> object: ...


def no_more(*, is_last: bool) -> None:
    """Do nothing. The default for `Decided`."""


def change_signing(
    *,
    zones: Sequence[Zone],
    decide: Decide,
    acting: Acting,
    action: str,
    in_transaction: InTransaction = nothing,
    decided: Decided = no_more,
) -> list[Publication]:
    """Change the signing of zones: call `decide` for each locked zone, then publish and audit the results.

    `decide` receives the zone and its current signing state. It can be called more than once, and can create and delete
    keys.

    Return the publications, or an empty list if nothing changes. If the same form was already submitted, return only
    the last publication of that submission. Several publications are parts of one write. `in_transaction` runs in the
    first publication's transaction, even if nothing changes. `decided` runs in each publication's transaction, after
    `decide` was called for all zones.

    Raise Unknown for a deleted zone, RightMissing if the author lacks the right DNSSEC, and the errors of `decide`.
    """
    published: list[Publication] = []
    is_last = False
    while not is_last:
        try:
            with transaction.atomic(durable=True):
                if not published:
                    in_transaction()
                step = _Step(zones, decide, acting)
                is_last = step.is_last
                decided(is_last=is_last)
                # The last publication gets the form's id, so an unfinished form continues when it is sent again.
                publication = step.publish("" if published else action, acting.form_id if is_last else None)
                if publication is None:
                    return published
                if published or not is_last:
                    join_parts([*published, publication])
                published.append(publication)
        except (IntegrityError, DnssecRefused) as refusal:
            return [publication_of_form(acting.form_id, otherwise=refusal)]
    return published


def sign_within(*, zone: Zone, decide: Decide, acting: Acting, action: str) -> Publication | None:
    """Change one zone's signing as the last step of the caller's transaction. Return None if nothing changes.

    Raise the errors of `change_signing`. A change between two NSEC3 chains stops halfway, at NSEC. A form that is
    submitted twice isn't detected.
    """
    return _Step([zone], decide, acting).publish(action)


class _Step:
    """The next publication of a signing change: one step of locked zones toward the states that `decide` returns."""

    def __init__(self, zones: Sequence[Zone], decide: Decide, acting: Acting) -> None:
        self._acting = acting
        self._locked = find_zones.lock_zones([zone.pk for zone in zones])
        if missing := {zone.pk for zone in zones} - {zone.pk for zone in self._locked}:
            raise Unknown(next(zone.name for zone in zones if zone.pk in missing))
        for zone in self._locked:
            access.require_right(acting.author, zone, Right.DNSSEC)
        self._before = signing_of_zones([zone.pk for zone in self._locked])
        self._result = {zone.pk: decide(zone, self._before.get(zone.pk, UNSIGNED)) for zone in self._locked}
        self._after = {
            pk: next(steps_between(self._before.get(pk, UNSIGNED), state)) for pk, state in self._result.items()
        }

    @property
    def is_last(self) -> bool:
        """True if all zones have their final state after this publication."""
        return self._after == self._result

    def publish(self, action: str, form_id: UUID | None = None) -> Publication | None:
        """Publish the differences, and audit them if `action` isn't empty. Return None if there are none."""
        changed = [zone for zone in self._locked if self._after[zone.pk] != self._before.get(zone.pk, UNSIGNED)]
        if not changed:
            return None
        if action:
            targets = {zone.name: _act(self._before.get(zone.pk, UNSIGNED), self._result[zone.pk]) for zone in changed}
            audit.record_each(action=action, by=self._acting.author, now=self._acting.now, targets=targets)
        return _publish(changed, self._before, self._after, replace(self._acting, form_id=form_id))


def _publish(
    zones: Sequence[Zone], before: Mapping[int, SigningState], after: Mapping[int, SigningState], acting: Acting
) -> Publication:
    now = acting.now
    states = with_row_ids({zone.pk: after[zone.pk] for zone in zones})
    found = store_rrsets.rrsets_at_names({zone.pk: (zone.name, [zone.name]) for zone in zones})
    revisions = [_revision(zone, found[zone.pk], states[zone.pk], now) for zone in zones]
    store_rrsets.write_changes((each.zone_id, each.zone_name, each.changes) for each in revisions)
    record_states([(zone.pk, zone.revision + 1, before.get(zone.pk), states[zone.pk]) for zone in zones], now=now)
    return append_publication(revisions=revisions, acting=acting, under=SystemRight.SIGNING)


def _revision(zone: Zone, apex: Mapping[Key, RRset], state: SigningState, now: datetime) -> NewRevision:
    key = zone.name, rdtypes.SOA
    old = apex.get(key)
    new = soa.next_soa(old, old, zone.soa_edits, now)
    serial = soa.serial_of(new).value if new is not None else zone.serial
    dnskey = apex.get((zone.name, rdtypes.DNSKEY))
    # CDS and CDNSKEY of other signers' keys change together with those of the panel's keys.
    changes = changes_in_step(zone.name, apex, state, dnskey=dnskey, ttl=dnskey.ttl) if dnskey else []
    added = sum(change.before is None for change in changes)
    removed = sum(change.after is None for change in changes)
    return NewRevision(
        zone_id=zone.pk,
        zone_name=zone.name,
        kind=RevisionKind.CHANGE,
        number=zone.revision + 1,
        serial=serial,
        rrset_count=zone.rrset_count + added - removed,
        added=added,
        removed=removed,
        changed=len(changes) - added - removed,
        changes=[*([Change(*key, before=old, after=new)] if new is not None else []), *changes],
    )


def with_row_ids(states: Mapping[int, SigningState]) -> dict[int, SigningState]:
    """Return the signing states with a row id for each kind of metadata. New ids are allocated if necessary."""
    lacking = {pk: [kind for kind in state.metadata if kind not in state.row_ids] for pk, state in states.items()}
    count = sum(map(len, lacking.values()))
    ids: list[int] = []
    if count:
        ids = [row[0] for row in fetch_all(_ROW_IDS, [count])]
    return {
        pk: replace(state, row_ids={**state.row_ids, **{kind: ids.pop() for kind in lacking[pk]}})
        if lacking[pk]
        else state
        for pk, state in states.items()
    }


def record_states(changes: Sequence[tuple[int, int, SigningState | None, SigningState]], *, now: datetime) -> None:
    """Store zones' new signing states, and record the change in each zone's revision.

    Each change is (zone id, revision number, state before, state after). None before: the zone was never signed.
    """
    SigningChange.objects.bulk_create(
        SigningChange(
            zone_id=zone_id,
            revision_number=number,
            before=None if before is None else before.to_json(),
            after=after.to_json(),
        )
        for zone_id, number, before, after in changes
    )
    Signing.objects.bulk_create(
        [
            Signing(zone_id=zone_id, state=after.to_json(), is_signed=after.is_signed, changed_at=now)
            for zone_id, _, _, after in changes
        ],
        update_conflicts=True,
        unique_fields=["zone"],
        update_fields=["state", "is_signed", "changed_at"],
    )


def record_ends(ends: Mapping[int, datetime | None]) -> None:
    """Store when zones' first imported signatures expire. `ends` is {zone id: time} (None: no imported signatures)."""
    rows = [Signing(zone_id=zone_id, signatures_end=end) for zone_id, end in ends.items()]
    Signing.objects.bulk_update(rows, ["signatures_end"], batch_size=1_000)


def key_row(*, zone_id: int, flags: int, pair: KeyPair, author: Author, now: datetime) -> ZoneKey:
    """Return an unsaved row for a zone's key, with the private part encrypted."""
    return ZoneKey(
        zone_id=zone_id,
        algorithm=pair.algorithm,
        bits=pair.bits,
        flags=flags,
        tag=key_tag(flags, pair.algorithm, pair.public),
        public=pair.public,
        private_encrypted=encrypt_secret(pair.private_text.encode()),
        created_at=now,
        created_by=user_of(author),
    )


def _act(before: SigningState, after: SigningState) -> dict[str, object]:
    """Return a signing change's details for the audit log, without secrets."""
    return {
        "keys": [key.id for key in after.keys],
        "keys_before": [key.id for key in before.keys],
        "active": [key.id for key in after.keys if key.active],
        "active_before": [key.id for key in before.keys if key.active],
        "metadata": after.metadata,
        "metadata_before": before.metadata,
    }
