"""The state machine of key rollovers: compute the next action and its time from the rollover's state. Pure.

A rollover goes through the stages of its kind (RFC 7583, RFC 6781 section 4.1). A stage defines how the old and new
keys are used. It ends when all of these conditions are met:

1. Every node, and every secondary that transfers the zone from here, serves the publication that began the stage, and
   older answers have expired from caches. An emergency rollover doesn't wait for secondaries.
2. Every server of the parent has the required DS records, and other DS records have expired from caches.
3. In a zone with other signers, before old keys become unused: every name server of the zone has the new keys in its
   DNSKEY RRset. Other DNSKEY RRsets have expired from caches (RFC 8901 section 6.1).

All times here are times of the rollover's own clock (`steady`), which moves only a little if the system clock jumps
forward.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.dnssec.rollover_stages import (
    _CANCELLED,
    BACK,
    CDS_AGAIN,
    EMERGENCY,
    NEEDS_OLD_DS,
    STAGES,
    WITHOUT_CDS,
    Caches,
    Goal,
    Kind,
    Stage,
    Step,
    Use,
)
from dnspanel.zones.dnssec.signing_state import DELETE, KeyRole, KeyState, SigningState

# The most that the clock can advance between two checks, which are 30 seconds apart. Each wait is longer by this time,
# so that a jump of the system clock does no harm.
MOST_CREDIT = timedelta(seconds=60)
MARGIN = timedelta(seconds=60)
# If some of the parent's servers couldn't be queried for longer than this, their state in between is unknown.
LONGEST_GAP = timedelta(minutes=10)
_DIGESTS_THAT_COUNT = frozenset((2, 4))  # SHA-1 doesn't count (RFC 4509 section 3)


@dataclass(frozen=True, slots=True)
class Ttls:
    """The largest TTLs, in seconds, of served answers that caches can still contain. `ds` is None if it is unknown."""

    records: int
    keys: int
    ds: int | None


@dataclass(frozen=True, slots=True)
class Inputs:
    """The current state of a rollover. `advance` uses it to compute the next action."""

    kind: Kind
    step: Step
    state: SigningState
    old: tuple[int, ...]
    new: tuple[int, ...]
    now: datetime
    ttls: Ttls
    # The time since every node serves the step's publication, or None if some nodes (named in `late`) don't serve it.
    answered_since: datetime | None
    late: tuple[str, ...] = ()
    # The same for secondaries. If the time is None, the sentence in `secondaries_lack` names the late secondaries.
    secondaries_since: datetime | None = None
    secondaries_lack: str = ""
    # The times when goals began to be met at all of the parent's servers. Goals not known to be met are missing.
    goals: Mapping[Goal, datetime] | None = None
    # The reason why the parent's DS RRset is currently unknown, or "".
    parent_silent: str = ""
    # A sentence about the name servers that lack the new keys, or why this is unknown. None: no other signers.
    signers_lack: str | None = None
    old_ds: tuple[str, ...] = ()
    new_ds: tuple[str, ...] = ()
    is_emergency: bool = False
    margin: timedelta = MARGIN


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait until `earliest`, or for other parties if `earliest` is None."""

    for_what: str
    earliest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """A transition to `step`. The caller publishes `state`, unless the zone is already in this state."""

    state: SigningState
    step: Step


@dataclass(frozen=True, slots=True)
class AskForDs:
    """A change needed at the parent: every server must have the DS records in `add` and none of those in `remove`."""

    add: tuple[str, ...]
    remove: tuple[str, ...]
    for_what: str


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a rollover. If `cancelled` is set, the zone is signed as before the rollover."""

    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Stuck:
    """A rollover that can't continue without a person, with the reason."""

    message: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal to start or cancel a rollover, with the reason."""

    message: str


Outcome = Wait | Act | AskForDs | Done | Stuck


def advance(inputs: Inputs) -> Outcome:
    """Return a rollover's next action: a step, a wait, a request to the parent, the end, or Stuck with a reason."""
    path, at = _place(inputs)
    if path is None:
        return Stuck(
            gettext("A {kind} rollover doesn’t have a step {step}.").format(kind=inputs.kind, step=inputs.step)
        )
    stage = path[at]
    if differing := _differing(inputs, stage):
        return Stuck(
            gettext(
                "The zone’s signing was changed, so key {keys} isn’t in the state that this step needs. Check the "
                "zone’s keys, then cancel the rollover or correct the key."
            ).format(keys=differing)
        )
    unmet = _servers_unmet(inputs, stage) or _parent_unmet(inputs, stage) or _signers_unmet(inputs, stage)
    if unmet is not None:
        return unmet
    if at + 1 == len(path):
        return Done(cancelled=stage.step is Step.UNDONE)
    following = path[at + 1]
    return Act(_state_in_stage(inputs, following), following.step)


def cancel(inputs: Inputs, *, withdrawn: bool = False) -> Act | Refused:
    """Return the first step of a cancellation, or Refused with the reason. `advance` continues the cancellation.

    `withdrawn` is True if a person confirms that no request for the new DS is on its way to the parent.
    """
    if inputs.is_emergency:
        return Refused(
            gettext("An emergency rollover can’t be cancelled because the old key has already been deleted.")
        )
    place = inputs.kind, inputs.step
    if inputs.step in {Step.WITHDRAW, Step.BACK, Step.UNDONE}:
        return Refused(gettext("This rollover has already been cancelled."))
    if place not in _CANCELLED:
        return Refused(
            gettext(
                "This rollover can no longer be cancelled because nodes and caches already use the new state. "
                "Wait until it ends, then start another one."
            )
        )
    step = _CANCELLED[place]
    path = BACK[inputs.kind]
    stage = next(each for each in path if each.step is step)
    if step is Step.WITHDRAW and not withdrawn:
        return Refused(
            gettext(
                "If the parent zone adds the new DS after the new key is deleted, the zone will become bogus. "
                "Withdraw the request at the parent first, then confirm the withdrawal here."
            )
        )
    if place in NEEDS_OLD_DS and (refusal := _old_ds_unmet(inputs)):
        return refusal
    return Act(_state_in_stage(inputs, stage), step)


def first(*, kind: Kind, state: SigningState, old: Sequence[int], new: Sequence[KeyState], emergency: bool) -> Act:
    """Return a rollover's first step. `new` are keys to add, or keys that the parent's DS must name.

    INSECURE also publishes CDS and CDNSKEY records that delete the DS. Kinds in WITHOUT_CDS publish neither.
    """
    stage = (EMERGENCY if emergency else STAGES)[kind][0]
    if kind is Kind.INSECURE:
        state = replace(state, cds=DELETE, cdnskey=True)  # for parents that follow CDS, CDNSKEY or both
    if kind in WITHOUT_CDS:
        state = replace(state, cds="", cdnskey=False)  # without these records, parents change nothing
    for key in new:
        state = state.with_key(key)
    return Act(_with_uses(state, old, [key.id for key in new], stage), stage.step)


def has_cds_again(kind: Kind, step: Step) -> bool:
    """Return True if the zone has its CDS and CDNSKEY settings from before the rollover in this step and later ones."""
    return (kind is Kind.INSECURE and step is Step.UNDONE) or (kind in WITHOUT_CDS and step in CDS_AGAIN)


def keys_to_replace(kind: Kind, state: SigningState) -> tuple[KeyState, ...] | Refused:
    """Return the keys that a rollover of this kind replaces, or Refused with the reason."""
    active = [key for key in state.keys if key.active]
    if not active:
        return Refused(gettext("The zone is not signed."))
    if any(not key.published for key in active):
        return Refused(gettext("A key is used for signing but isn’t published. Finish this manual rollover first."))
    if kind is Kind.SECURE:
        return ()
    if kind in {Kind.INSECURE, Kind.ALGORITHM} and len(active) < len(state.keys):
        return Refused(gettext("The zone has keys that aren’t used for signing. Delete them first."))
    if kind is Kind.INSECURE:
        return tuple(active)
    if len({key.algorithm for key in active}) > 1:
        return Refused(
            gettext("The zone is signed with several algorithms. Delete the keys for all but one of them first.")
        )
    if kind is Kind.ALGORITHM:
        return tuple(active)
    role = {Kind.ZSK: KeyRole.ZSK, Kind.CSK: KeyRole.CSK}.get(kind, KeyRole.KSK)
    keys = tuple(key for key in active if state.role(key) is role)
    if not keys:
        others = ", ".join(sorted({state.role(key).upper() for key in active}))
        return Refused(
            gettext("The zone doesn’t have a signing {role}. Signing keys: {others}.").format(
                role=role.upper(), others=others
            )
        )
    if len({key.flags for key in keys}) > 1:
        return Refused(gettext("The signing keys have different flags. Delete all but one of them first."))
    return keys


def breakage(kind: Kind, ttls: Ttls) -> str:
    """Describe the outage that an emergency rollover of this kind causes, for the person who starts the rollover."""
    records, keys = (_span(timedelta(seconds=seconds)) for seconds in (ttls.records, ttls.keys))
    ds = _span(timedelta(seconds=ttls.ds)) if ttls.ds is not None else gettext("the DS TTL")
    if kind is Kind.ZSK:
        longest = _span(timedelta(seconds=max(ttls.records, ttls.keys)))
        return gettext(
            "The old key will be deleted immediately. Validating resolvers with old signatures or DNSKEY "
            "records in their caches will answer SERVFAIL. This can last up to {longest} after the last node "
            "has the new key."
        ).format(longest=longest)
    if kind is Kind.CSK:
        message = gettext(
            "The old key will be deleted immediately, but the parent’s DS will still point to it. Validating "
            "resolvers will answer SERVFAIL until all servers for the parent have the new DS. Caches can "
            "extend this outage by up to {ds} (DS), {keys} (DNSKEY records) and {records} (old signatures)."
        )
    else:
        message = gettext(
            "The old key will be deleted immediately, but the parent’s DS will still point to it. Validating "
            "resolvers will answer SERVFAIL until all servers for the parent have the new DS. Caches can "
            "extend this outage by up to {ds} (DS) and {keys} (DNSKEY records)."
        )
    return message.format(ds=ds, keys=keys, records=records)


def goals_met(sets: Collection[Collection[str]], old_ds: Sequence[str], new_ds: Sequence[str]) -> frozenset[Goal]:
    """Return the goals that every server of the parent meets. `sets` has each server's DS RRset in canonical text."""
    if not sets:
        return frozenset()
    old, new = _marks(old_ds), _marks(new_ds)
    is_algorithm = bool(old and new) and not {mark[1] for mark in old} & {mark[1] for mark in new}
    tests: Mapping[Goal, Callable[[Collection[str]], bool]] = {
        Goal.HAS_OLD: lambda found: _leads(found, old_ds),
        Goal.HAS_NEW: lambda found: _leads(found, new_ds),
        Goal.NO_OLD: lambda found: not _names_any(found, old, by_algorithm=is_algorithm),
        Goal.NO_NEW: lambda found: not _names_any(found, new, by_algorithm=is_algorithm),
        Goal.EMPTY: lambda found: not found,
        Goal.NOT_EMPTY: bool,
    }
    return frozenset(goal for goal, is_met in tests.items() if all(map(is_met, sets)))


def goals_since(
    before: Mapping[Goal, datetime], met: Collection[Goal], now: datetime, last: datetime | None
) -> dict[Goal, datetime]:
    """Return the time when each goal in `met` began to be met. This check was at `now`, and the previous one at `last`.

    A goal keeps its earlier time unless the two checks were more than LONGEST_GAP apart.
    """
    known = last is not None and now - last <= LONGEST_GAP
    return {goal: before[goal] if known and goal in before else now for goal in met}


def steady(clock: datetime, looked: datetime, now: datetime, most: timedelta = MOST_CREDIT) -> datetime:
    """Return the new time of the rollover's own clock, which showed `clock` at the previous check (`looked`).

    The clock never moves back, and moves forward by at most `most`.
    """
    return clock + min(max(now - looked, timedelta()), most)


def _place(inputs: Inputs) -> tuple[tuple[Stage, ...] | None, int]:
    paths = (EMERGENCY.get(inputs.kind, ()),) if inputs.is_emergency else (STAGES[inputs.kind], BACK[inputs.kind])
    for path in paths:
        for at, stage in enumerate(path):
            if stage.step is inputs.step:
                return path, at
    return None, 0


def _use(key: KeyState | None) -> Use:
    if key is None:
        return Use.GONE
    if key.active:
        return Use.FULL if key.published else Use.SIGNS
    return Use.PUBLISHED if key.published else Use.HIDDEN


def _differing(inputs: Inputs, stage: Stage) -> str:
    """Return the comma-separated ids of keys whose use differs from the stage, or "" if none differs."""
    expected = [*((id, stage.old) for id in inputs.old), *((id, stage.new) for id in inputs.new)]
    found = [id for id, use in expected if _use(inputs.state.key(id)) is not use]
    return ", ".join(map(str, found))


def _state_in_stage(inputs: Inputs, stage: Stage) -> SigningState:
    return _with_uses(inputs.state, inputs.old, inputs.new, stage)


def _with_uses(state: SigningState, old: Sequence[int], new: Sequence[int], stage: Stage) -> SigningState:
    for ids, use in ((old, stage.old), (new, stage.new)):
        for id in ids:
            key = state.key(id)
            if use is Use.GONE:
                state = state.without_key(id)
            elif key is not None:
                changed = replace(key, active=use in {Use.FULL, Use.SIGNS}, published=use in {Use.FULL, Use.PUBLISHED})
                state = state.with_key(changed)
    return state if state.keys else SigningState(row_ids=state.row_ids)


def _servers_unmet(inputs: Inputs, stage: Stage) -> Wait | None:
    """Return a wait if a server doesn't serve this step yet or caches can have older answers. Otherwise return None."""
    seconds = {
        Caches.NOTHING: 0,
        Caches.KEYS: inputs.ttls.keys,
        Caches.RECORDS: inputs.ttls.records,
        Caches.ALL: max(inputs.ttls.keys, inputs.ttls.records),
    }[stage.caches]
    since = inputs.answered_since
    if since is None:
        if not inputs.late:
            return Wait(gettext("Waiting for all nodes to serve this step."))
        return Wait(
            gettext("Waiting for these nodes to serve this step: {nodes}.").format(nodes=", ".join(inputs.late))
        )
    if not inputs.is_emergency:
        if inputs.secondaries_since is None:
            message = gettext("Waiting for all of the zone’s secondaries to serve this step. {reason}")
            return Wait(message.format(reason=inputs.secondaries_lack))
        since = max(since, inputs.secondaries_since)
    if stage.caches is Caches.NOTHING:
        return None
    earliest = since + timedelta(seconds=seconds) + inputs.margin
    if inputs.now >= earliest:
        return None
    if stage.caches is Caches.KEYS:
        message = gettext("Caches can keep the old DNSKEY records for {time}.")
    elif stage.caches is Caches.RECORDS:
        message = gettext("Caches can keep old records and signatures for {time}.")
    else:
        message = gettext("Caches can keep old records and DNSKEY records for {time}.")
    return Wait(message.format(time=_span(timedelta(seconds=seconds))), earliest)


def _parent_unmet(inputs: Inputs, stage: Stage) -> Wait | AskForDs | None:
    if not stage.parent:
        return None
    if inputs.parent_silent or inputs.goals is None:
        return Wait(_unknown_ds(inputs))
    if not all(goal in inputs.goals for goal in stage.parent):
        return _request(inputs, stage)
    if not stage.ds_expires:
        return None
    if inputs.ttls.ds is None:
        return Wait(gettext("The TTL of the parent’s DS records isn’t known yet."))
    since = max(inputs.goals[goal] for goal in stage.parent)
    earliest = since + timedelta(seconds=inputs.ttls.ds) + inputs.margin
    if inputs.now >= earliest:
        return None
    span = _span(timedelta(seconds=inputs.ttls.ds))
    return Wait(gettext("Caches can keep the parent’s old DS records for {span}.").format(span=span), earliest)


def _signers_unmet(inputs: Inputs, stage: Stage) -> Wait | None:
    if not stage.signers or inputs.signers_lack is None:
        return None
    since = (inputs.goals or {}).get(Goal.SIGNERS)
    if since is None or inputs.signers_lack:
        return Wait(
            gettext("The zone’s other signers must add the new key to their DNSKEY records. {reason}").format(
                reason=inputs.signers_lack or gettext("The zone’s name servers haven’t been checked yet.")
            )
        )
    earliest = since + timedelta(seconds=inputs.ttls.keys) + inputs.margin
    if inputs.now >= earliest:
        return None
    span = _span(timedelta(seconds=inputs.ttls.keys))
    return Wait(
        gettext("Caches can keep other signers’ DNSKEY records without the new key for {span}.").format(span=span),
        earliest,
    )


def _request(inputs: Inputs, stage: Stage) -> AskForDs:
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    if Goal.HAS_NEW in stage.parent:
        add += inputs.new_ds
    if Goal.HAS_OLD in stage.parent:
        add += inputs.old_ds
    elif stage.parent & {Goal.HAS_NEW, Goal.NO_OLD, Goal.EMPTY}:
        remove += inputs.old_ds
    if Goal.NO_NEW in stage.parent:
        remove += inputs.new_ds
    return AskForDs(add, remove, gettext("All servers for the parent zone must have the DS records for this step."))


def _old_ds_unmet(inputs: Inputs) -> Refused | None:
    since = (inputs.goals or {}).get(Goal.HAS_OLD)
    if inputs.parent_silent or inputs.goals is None:
        return Refused(_unknown_ds(inputs))
    if since is None:
        return Refused(gettext("The parent zone only has a DS for the new key, so the new key must stay."))
    if inputs.ttls.ds is not None and inputs.now < since + timedelta(seconds=inputs.ttls.ds) + inputs.margin:
        return Refused(gettext("Caches can still have DS records without the old key. Try again later."))
    return None


def _unknown_ds(inputs: Inputs) -> str:
    return gettext("The parent’s DS records are unknown: {reason}").format(
        reason=inputs.parent_silent or gettext("not checked yet")
    )


def _marks(ds: Sequence[str]) -> frozenset[tuple[str, str]]:
    """Return the key tags and algorithms of DS records."""
    return frozenset((text.split()[0], text.split()[1]) for text in ds)


def _names_any(found: Collection[str], marks: Collection[tuple[str, str]], *, by_algorithm: bool) -> bool:
    algorithms = {algorithm for _, algorithm in marks}
    return any(
        algorithm in algorithms if by_algorithm else (tag, algorithm) in marks for tag, algorithm in _marks(list(found))
    )


def _leads(found: Collection[str], ds: Sequence[str]) -> bool:
    """Return True if validating resolvers can validate a key in `ds` through the DS records `found`.

    Resolvers can ignore a digest type. Therefore `found` must have a DS of the key with each digest type (SHA-256,
    SHA-384) that occurs in `found`, and at least one of them. If `found` is empty, return True, because the zone is
    then insecure, not bogus.
    """
    if not found:
        return True
    texts = {text.lower() for text in found}
    types = {int(text.split()[2]) for text in texts} & _DIGESTS_THAT_COUNT
    keys: dict[tuple[str, str], set[int]] = {}
    for text in ds:
        if text.lower() in texts:
            tag, algorithm, digest = text.split()[:3]
            keys.setdefault((tag, algorithm), set()).add(int(digest))
    return any(types <= digests for digests in keys.values()) if types else False


def _span(time: timedelta) -> str:
    seconds = int(time.total_seconds())
    for size, one, many in (
        (86_400, gettext_noop("{count} day"), gettext_noop("{count} days")),
        (3600, gettext_noop("{count} hour"), gettext_noop("{count} hours")),
        (60, gettext_noop("{count} minute"), gettext_noop("{count} minutes")),
    ):
        if seconds >= 2 * size or (seconds >= size and seconds % size == 0):
            count = seconds / size
            text = f"{count:.0f}" if count == int(count) else f"{count:.1f}"
            message = one if text == "1" else many
            return gettext(message).format(count=text)
    return gettext("{count} seconds").format(count=seconds)
