"""Run rollovers from beginning to end. `rollover` decides on each step, and this module stores it. Verbs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from dnspanel.accounts.actors.actors import Author, Right, user_of
from dnspanel.accounts.audit import audit
from dnspanel.database.field_copies import copy_fields, values_of
from dnspanel.texts import gettext
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, rollover, rollover_stages
from dnspanel.zones.dnssec.queries import other_keys_of
from dnspanel.zones.dnssec.rollover import Act, AskForDs, Done, Inputs, Outcome, Refused, Stuck, Wait
from dnspanel.zones.dnssec.rollover_stages import Goal, Kind, Step
from dnspanel.zones.dnssec.served_ttls import ServedTtls, served_ttls
from dnspanel.zones.dnssec.signing_state import KeyRole, KeyState, SigningState
from dnspanel.zones.errors import DnssecRefused, NotSigned, PublishingOnHold, ZoneError
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.log.signing_log import key_row
from dnspanel.zones.models import Channel, LogHead, Publication, Rollover, Zone, ZoneKey
from dnspanel.zones.rights import access
from dnspanel.zones.signing.guarded import change_guarded
from dnspanel.zones.signing.safety import parent_here, refuse_leaving
from replication.dns import rdtypes
from replication.dns.rrset import Change, RRset

# A DS that the parent had before the first check can only match the old keys or no key, so its age is unlimited.
_ALWAYS = timedelta(days=3650)
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Look:
    """The findings of a rollover check. Times except `looked_at` are on the rollover's clock (`rollover.steady`)."""

    clock: datetime
    looked_at: datetime
    epoch: UUID
    answered_since: datetime | None
    late: tuple[str, ...]
    secondaries_since: datetime | None
    late_secondaries: tuple[str, ...]
    secondaries_lack: str
    goals: Mapping[Goal, datetime]
    parent_at: datetime
    parent_silent: str
    ds_ttl: int | None
    ttls: ServedTtls
    signers_lack: str | None = None  # None: there are no other signers
    signers_at: datetime | None = None  # time of the last request to the name servers


# The findings that the row of a rollover and its inputs have under the same names.
_SINCE = ("answered_since", "secondaries_since", "parent_silent")


def begin(
    *,
    zone: Zone,
    kind: Kind,
    acting: Acting,
    algorithm: int | None = None,
    bits: int | None = None,
    emergency: bool = False,
) -> Rollover:
    """Begin and return a rollover. New keys use the old algorithm, or `algorithm` in an algorithm rollover.

    A rollover to a first DS uses the zone's signing keys. If the parent is in this panel, the DS is added there, and
    the author needs the right to add it.

    Raise RightMissing if the author isn't allowed to sign the zone, and NotSigned for an unsigned zone. Raise BadKey
    for invalid key parameters, and DnssecRefused if the rollover is impossible or another one is in progress.
    """
    access.require_right(acting.author, zone, Right.DNSSEC)
    ttls = served_ttls(zone, now=acting.now)
    begun: list[Rollover] = []

    def decide(zone: Zone, state: SigningState) -> SigningState:
        if Rollover.objects.filter(zone=zone, ended_at=None).exists():
            raise DnssecRefused(gettext("A rollover for {name} is already in progress.").format(name=zone.name))
        old = _keys_to_replace(zone, kind, state, acting.author, emergency=emergency)
        new = _new_keys(zone, kind, state, old, acting, algorithm, bits)
        act = rollover.first(kind=kind, state=state, old=[key.id for key in old], new=new, emergency=emergency)
        row = _row(zone, kind, state, old, new, acting, ttls)
        row.step, row.is_emergency = act.step, emergency
        row.step_revision = zone.revision + (1 if act.state != state else 0)
        row.save(force_insert=True)
        _forget_lost(zone, state, act.state, acting.now)
        audit.record(
            action="dnssec.rollover_begin",
            by=acting.author,
            now=acting.now,
            target=zone.name,
            kind=str(kind),
            emergency=emergency,
        )
        begun.append(row)
        return act.state

    change_guarded([zone], decide, acting, "dnssec.rollover_step", rollover=Rollover(is_emergency=emergency))
    # If the same form was sent before, it began the rollover.
    return begun[-1] if begun else Rollover.objects.filter(zone=zone).latest("pk")


def breakage(*, zone: Zone, kind: Kind, now: datetime) -> str:
    """Describe the outage that an emergency rollover of this kind would cause in the zone."""
    ttls = served_ttls(zone, now=now)
    return rollover.breakage(kind, rollover.Ttls(ttls.records, ttls.keys, None))


def take_step(*, rolled: Rollover, now: datetime) -> Publication | None:
    """Publish the rollover's due step. Return None if another worker was first or nothing changes.

    The panel is the author. Raise DnssecRefused if the zone would no longer validate, except in an emergency rollover,
    and PublishingOnHold while publishing is on hold.
    """

    def decide(zone: Zone, state: SigningState) -> SigningState:
        row = _lock_rollover(rolled)
        if row is None or row.looked_at != rolled.looked_at:
            return state
        outcome = rollover.advance(inputs_of(row, state))
        if not isinstance(outcome, Act):
            return state
        return _take_step(zone, row, state, outcome, now)

    acting = Acting(None, Channel.SYSTEM, now, panel_reasons.ROLLOVER_STEP.format(name=rolled.zone.name))
    published = change_guarded([rolled.zone], decide, acting, "dnssec.rollover_step", rollover=rolled)
    return published[-1] if published else None


def cancel(*, zone: Zone, acting: Acting, withdrawn: bool = False, rollover_id: int | None = None) -> Rollover:
    """Cancel the zone's rollover: the zone returns to the old keys. Return the rollover.

    If `rollover_id` is given, cancel only that rollover. Set `withdrawn` if a person confirms that no request for the
    new DS is on its way to the parent.

    Raise RightMissing if the author isn't allowed to sign the zone, and DnssecRefused if the rollover can't be canceled
    now.
    """
    access.require_right(acting.author, zone, Right.DNSSEC)
    rolled = Rollover.objects.select_related("zone").filter(zone=zone, ended_at=None).first()
    if rolled is None or rollover_id not in (None, rolled.pk):
        ended = gettext("No rollover for {name} is in progress.").format(name=zone.name)
        raise DnssecRefused(
            ended if rollover_id is None else gettext("This rollover for {name} has ended.").format(name=zone.name)
        )

    def decide(zone: Zone, state: SigningState) -> SigningState:
        row = _lock_rollover(rolled)
        if row is None:
            raise DnssecRefused(gettext("The rollover for {name} has ended in the meantime.").format(name=zone.name))
        act = rollover.cancel(inputs_of(row, state), withdrawn=withdrawn)
        if isinstance(act, Refused):
            raise DnssecRefused(act.message)
        audit.record(action="dnssec.rollover_cancel", by=acting.author, now=acting.now, target=zone.name, kind=row.kind)
        return _take_step(zone, row, state, act, acting.now)

    change_guarded([zone], decide, acting, "dnssec.rollover_step", rollover=rolled)
    return rolled


def record_look(*, rolled: Rollover, look: Look, outcome: Outcome) -> bool:
    """Store a check's findings, and end a finished rollover. Return False if another check or step was stored first."""
    now = look.looked_at
    values: dict[str, object] = {
        **values_of(look, (*_SINCE, "clock", "looked_at", "epoch", "parent_at", "ds_ttl", "signers_at")),
        "late": list(look.late),
        "late_secondaries": [] if rolled.is_emergency else list(look.late_secondaries),
        "goals": {goal: since.isoformat() for goal, since in look.goals.items()},
        "has_other_signers": look.signers_lack is not None,
        "signers_lack": look.signers_lack or "",
        "record_ttl": look.ttls.records,
        "key_ttl": look.ttls.keys,
        "ttls_revision": look.ttls.revision,
        **_displayed_columns(rolled, look, outcome),
    }
    if isinstance(outcome, Done):
        values |= {"ended_at": now, "is_cancelled": outcome.cancelled}
    expected = {"pk": rolled.pk, "step": rolled.step, "looked_at": rolled.looked_at, "ended_at": None}
    with transaction.atomic():
        moved = bool(Rollover.objects.filter(**expected).update(**values))
        if moved and isinstance(outcome, Done):
            audit.record(
                action="dnssec.rollover_end",
                by=None,
                now=now,
                target=rolled.zone.name,
                kind=rolled.kind,
                cancelled=outcome.cancelled,
            )
    if moved:
        for name, value in values.items():
            setattr(rolled, name, value)
    return moved


def record_refusal(*, rolled: Rollover, refusal: ZoneError, before: tuple[str, datetime]) -> None:
    """Store the reason why the due step was rejected. Mark the rollover as stuck, unless publishing is only on hold.

    `before` has the earlier reason to wait, and its time. A person must act on a stuck rollover.
    """
    message = gettext("The next step was refused: {refusal}").format(refusal=refusal)
    waits_for, since = before
    Rollover.objects.filter(pk=rolled.pk, step=rolled.step, looked_at=rolled.looked_at, ended_at=None).update(
        waits_for=message,
        waits_since=since if waits_for == message else rolled.looked_at,
        is_stuck=not isinstance(refusal, PublishingOnHold),
    )


def inputs_of(row: Rollover, state: SigningState) -> Inputs:
    """Return the stored findings about a rollover as inputs for its state machine."""
    return copy_fields(
        Inputs,
        row,
        kind=Kind(row.kind),
        step=Step(row.step),
        state=state,
        old=tuple(row.old_keys),
        new=tuple(row.new_keys),
        now=row.clock,
        ttls=rollover.Ttls(row.record_ttl, row.key_ttl, row.ds_ttl),
        goals={Goal(goal): datetime.fromisoformat(since) for goal, since in row.goals.items()},
        signers_lack=row.signers_lack if row.has_other_signers else None,
    )


def with_look(inputs: Inputs, look: Look) -> Inputs:
    """Return the inputs with the findings of a new check."""
    ttls = rollover.Ttls(look.ttls.records, look.ttls.keys, look.ds_ttl)
    found = values_of(look, (*_SINCE, "late", "secondaries_lack", "goals", "signers_lack"))
    return replace(inputs, now=look.clock, ttls=ttls, **found)


def _keys_to_replace(
    zone: Zone, kind: Kind, state: SigningState, author: Author, *, emergency: bool
) -> Sequence[KeyState]:
    if not state.is_signed:
        raise NotSigned(zone.name)
    if emergency and kind not in rollover_stages.EMERGENCY:
        raise DnssecRefused(gettext("This kind of rollover cannot be an emergency rollover."))
    if kind in {Kind.ALGORITHM, Kind.INSECURE}:
        is_other = kind is Kind.ALGORITHM
        refuse_leaving(
            zone, gettext("the algorithm changes") if is_other else gettext("the panel stops signing the zone")
        )
    if kind is Kind.SECURE:
        _refuse_trust(zone, author)
    old = rollover.keys_to_replace(kind, state)
    if isinstance(old, Refused):
        raise DnssecRefused(old.message)
    return old


def _refuse_trust(zone: Zone, author: Author) -> None:
    """Raise DnssecRefused if the zone has other signers, or already has a DS in a parent zone of this panel.

    A DS for only the panel's keys would break the answers of other signers. Raise RightMissing if the parent is in this
    panel and the author is not allowed to add the DS there.
    """
    if other_keys_of(zone):
        raise DnssecRefused(
            gettext(
                "{name} also has other signers. Add all signers’ DS records to the parent zone at the same time."
            ).format(name=zone.name)
        )
    parent = parent_here(zone.name)
    if parent is None:
        return
    if parent.ds:
        raise DnssecRefused(gettext("{name} already has a DS for {name2}.").format(name=parent.name, name2=zone.name))
    change = Change(zone.name, rdtypes.DS, None, RRset(zone.name, rdtypes.DS, 0, ()))
    access.refuse_changes(author, Zone.objects.get(pk=parent.zone_id), [change])


def _new_keys(  # noqa: PLR0913  # the state before a rollover, and the new terms
    zone: Zone,
    kind: Kind,
    state: SigningState,
    old: Sequence[KeyState],
    acting: Acting,
    algorithm: int | None,
    bits: int | None,
) -> list[KeyState]:
    if kind is Kind.INSECURE:
        return []
    if kind is Kind.SECURE and algorithm is None:
        return [key for key in state.keys if key.active]
    if kind is Kind.ALGORITHM and (algorithm is None or algorithm in {key.algorithm for key in state.keys}):
        raise DnssecRefused(gettext("Choose an algorithm that the zone doesn’t use yet."))
    if kind is not Kind.ALGORITHM and algorithm is not None:
        raise DnssecRefused(gettext("Only an algorithm rollover can change the algorithm."))
    known = dict(ZoneKey.objects.filter(pk__in=[key.id for key in state.keys]).values_list("pk", "bits"))
    tags = {*ZoneKey.objects.filter(zone=zone).values_list("tag", flat=True)}
    made = []
    for key in old:
        number = key.algorithm if algorithm is None else algorithm
        pair = _pair(number, known[key.id] if algorithm is None else bits, key.flags, tags)
        row = key_row(zone_id=zone.pk, flags=key.flags, pair=pair, author=acting.author, now=acting.now)
        row.save(force_insert=True)
        tags.add(row.tag)
        made.append(KeyState(row.pk, number, key.flags))
    return made


def _pair(algorithm: int, bits: int | None, flags: int, tags: set[int]) -> key_material.KeyPair:
    """Generate a key with a key tag that no other key of the zone has.

    Key tags distinguish the DS records at the parent. Raise DnssecRefused after _TRIES attempts.
    """
    for _ in range(_TRIES):
        pair = key_material.generate(algorithm, bits)
        if key_material.key_tag(flags, algorithm, pair.public) not in tags:
            return pair
    raise DnssecRefused(gettext("The panel couldn’t create a key with a unique key tag. Try again."))


def _row(  # noqa: PLR0913  # the fields of a rollover
    zone: Zone,
    kind: Kind,
    state: SigningState,
    old: Sequence[KeyState],
    new: Sequence[KeyState],
    acting: Acting,
    ttls: ServedTtls,
) -> Rollover:
    now = acting.now
    # Roles come from the old state: the new keys have the roles of the old keys.
    entry = {key.flags for key in old or new if state.role(key) is not KeyRole.ZSK}
    has_ds = kind is not Kind.ZSK
    return Rollover(
        zone=zone,
        kind=kind,
        old_keys=[key.id for key in old],
        new_keys=[key.id for key in new],
        old_ds=_ds(zone, [key for key in old if key.flags in entry]) if has_ds else [],
        new_ds=_ds(zone, [key for key in new if key.flags in entry]) if has_ds else [],
        started_at=now,
        started_by=user_of(acting.author),
        step_at=now,
        cds_before=state.cds,
        cdnskey_before=state.cdnskey,
        waits_for=gettext("Waiting for all nodes to serve this step."),
        waits_since=now,
        clock=now,
        looked_at=now,
        epoch=LogHead.objects.values_list("epoch", flat=True).get(),
        goals={Goal.HAS_OLD: (now - _ALWAYS).isoformat()} if has_ds else {},
        parent_at=now,
        parent_silent=gettext("not checked yet") if has_ds else "",
        record_ttl=ttls.records,
        key_ttl=ttls.keys,
        ttls_revision=ttls.revision,
    )


def _ds(zone: Zone, keys: Sequence[KeyState]) -> list[str]:
    public = {row.pk: bytes(row.public) for row in ZoneKey.objects.filter(pk__in=[key.id for key in keys])}
    return [
        key_material.ds_text(zone.name, key.flags, key.algorithm, public[key.id], digest)
        for key in keys
        for digest in key_material.DIGESTS
    ]


def _lock_rollover(rolled: Rollover) -> Rollover | None:
    return Rollover.objects.select_for_update().filter(pk=rolled.pk, ended_at=None, step=rolled.step).first()


def _take_step(zone: Zone, row: Rollover, state: SigningState, act: Act, now: datetime) -> SigningState:
    """Update the rollover's row in the transaction that publishes the step. Return the new signing state."""
    after = act.state
    if rollover.has_cds_again(Kind(row.kind), act.step):
        after = replace(after, cds=row.cds_before, cdnskey=row.cdnskey_before)
    _forget_lost(zone, state, after, now)
    row.step, row.step_at, row.waits_since = act.step, now, now
    if after != state:
        row.step_revision = zone.revision + 1
        row.answered_since = row.secondaries_since = None
    row.waits_for, row.earliest = gettext("Waiting for all nodes to serve this step."), None
    row.late, row.late_secondaries = [], []
    row.add_ds, row.remove_ds, row.is_stuck = [], [], False
    row.save()
    return after


def _forget_lost(zone: Zone, before: SigningState, after: SigningState, now: datetime) -> None:
    """Mark keys that the zone no longer has as deleted. `sign.forget_deleted_keys` erases their private parts later."""
    lost = {key.id for key in before.keys} - {key.id for key in after.keys}
    if lost:
        ZoneKey.objects.filter(zone=zone, pk__in=lost, deleted_at=None).update(deleted_at=now)


def _displayed_columns(rolled: Rollover, look: Look, outcome: Outcome) -> dict[str, object]:
    """Return the columns that pages display: why and since when the rollover waits, and the DS to add or remove."""
    displayed: dict[str, object] = {"earliest": None, "add_ds": [], "remove_ds": []}
    if isinstance(outcome, Act):
        return displayed  # keep the reason of an earlier rejection until the step is published
    displayed["is_stuck"] = False
    match outcome:
        case Wait(for_what, earliest):
            displayed["waits_for"] = for_what
            if earliest is not None:
                displayed["earliest"] = look.looked_at + (earliest - look.clock)
        case AskForDs(add, remove, for_what):
            displayed |= {"waits_for": for_what, "add_ds": list(add), "remove_ds": list(remove)}
        case Stuck(message):
            displayed |= {"waits_for": message, "is_stuck": True}
        case _:
            displayed["waits_for"] = ""
    if displayed["waits_for"] != rolled.waits_for:
        displayed["waits_since"] = look.looked_at
    return displayed
