"""A model that runs a rollover through all orders of events in nodes, a secondary, parent servers, caches and a person.

Each tick is a second: caches age; nodes, the secondary and parent servers move or are late; caches fetch old and new
answers; the rollover's step runs, or a person cancels. A cache may contain anything that some server answered within
its TTL, and a resolver may have any combination of caches. The resolver is strict: each algorithm in a DS must sign the
DNSKEY RRset, and each algorithm of that RRset must sign all other RRsets.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import product
from typing import TypeVar

from dnspanel.zones.dnssec import rollover, rollover_stages
from dnspanel.zones.dnssec.rollover import Act, AskForDs, Done, Inputs, Ttls
from dnspanel.zones.dnssec.rollover_stages import Goal, Kind, Step
from dnspanel.zones.dnssec.signing_state import KeyRole, KeyState, SigningState

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
RECORDS, KEYS, DS = (2, 4), (2, 4), (2, 4)  # TTLs before and after an increase
OLDEST = 6  # higher ages make no difference

Ids = frozenset[int]
T = TypeVar("T")
Cache = frozenset[tuple[T, int]]  # contents, and their remaining TTLs


@dataclass(frozen=True, slots=True)
class Answers:
    """A node's answers: published keys, keys that sign DNSKEYs, keys that sign other records, and raised TTLs."""

    published: Ids
    sign_keys: Ids
    sign_records: Ids
    raised: bool


@dataclass(frozen=True, slots=True)
class World:
    """The state at one moment. Ages and remaining TTLs are in ticks, so worlds with equal futures are equal."""

    step: Step
    keys: tuple[KeyState, ...]
    log: tuple[Answers, ...]  # from the oldest entry that a node still serves
    nodes: tuple[int, ...]  # positions in `log`
    secondary: int | None  # its position, or None if there is none
    step_at: int  # the log position of the step
    servers: tuple[Ids, ...]  # of the parent: keys that their DS name
    target: Ids  # the DS that the parent was asked for
    ds_raised: bool = False
    jumped: bool = False  # if the clock has jumped since the step began
    cancelled: bool = False
    over: bool = False
    answered: int | None = None  # how long all nodes have been at the step
    transferred: int | None = None  # how long the secondary has been there, as far as known
    goals: tuple[tuple[Goal, int], ...] = ()
    cached_ds: Cache[Ids] = frozenset()
    cached_keys: Cache[Answers] = frozenset()
    cached_records: Cache[Answers] = frozenset()


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of rollover in a zone: old and new keys by id, and the algorithm of each."""

    kind: Kind
    old: tuple[int, ...]
    new: tuple[int, ...]
    algorithms: Mapping[int, int]
    first: World
    troubles: frozenset["Trouble"]


class Trouble(StrEnum):
    """The kinds of delays and failures that a case allows."""

    NODE = "a node is late"
    SECONDARY = "there is a secondary, and it is late"
    PARENT = "a server of the parent is late, or partly updated"
    EDIT = "an edit raises the TTLs of the zone"
    DS_TTL = "the parent raises the TTL of the DS"
    JUMP = "the clock jumps forward"
    CANCEL = "somebody cancels it, or asks to"


# Without a secondary.
ALONE = tuple(trouble for trouble in Trouble if trouble is not Trouble.SECONDARY)


class Bogus(AssertionError):
    """A resolver exists that cannot validate."""


class Deadlock(AssertionError):
    """The rollover cannot end, although everything that it waits for has happened."""


def case(kind: Kind, *, split: bool, has_ds: bool = True, troubles: Collection[Trouble] = ALONE) -> Case:
    """Return a rollover of this kind in its first state."""
    keys = [KeyState(1, 13, 257), KeyState(2, 13, 256)] if split else [KeyState(1, 13, 257)]
    state = SigningState(tuple(keys))
    replaced = rollover.keys_to_replace(kind, state)
    assert not isinstance(replaced, rollover.Refused)
    algorithm = 15 if kind is Kind.ALGORITHM else 13
    new = [KeyState(key.id + 10, algorithm, key.flags) for key in replaced] if kind is not Kind.INSECURE else []
    if kind is Kind.SECURE:
        new, has_ds = keys, False
    begun = rollover.first(kind=kind, state=state, old=[key.id for key in replaced], new=new, emergency=False)
    was = SigningState() if kind is Kind.SECURE else state  # the zone was signed a moment ago
    before, after = answers(was, raised=False), answers(begun.state, raised=False)
    ds = frozenset({1}) if has_ds else frozenset()
    log = (before, after) if begun.state != was else (before,)
    met = _met((ds,), [*dict.fromkeys([*keys, *new])], _ids(replaced), _ids(new)) & _goals_of(kind)
    always = tuple((goal, OLDEST) for goal in sorted(met))
    world = World(
        begun.step,
        begun.state.keys,
        log,
        (0, 0),
        0 if Trouble.SECONDARY in troubles else None,
        len(log) - 1,
        (ds, ds),
        ds,
        goals=always,
        cached_ds=frozenset({(ds, DS[0])}),
        cached_keys=frozenset({(before, KEYS[0])}),
        cached_records=frozenset({(before, RECORDS[0])}),
    )
    algorithms = {key.id: key.algorithm for key in [*keys, *new]}
    return Case(kind, _ids(replaced), _ids(new), algorithms, world, frozenset(troubles))


def answers(state: SigningState, *, raised: bool) -> Answers:
    """Return a node's answers for a signing state."""
    active = [(key.id, state.role(key)) for key in state.keys if key.active]
    return Answers(
        frozenset(key.id for key in state.keys if key.published),
        frozenset(id for id, role in active if role is not KeyRole.ZSK),
        frozenset(id for id, role in active if role is not KeyRole.KSK),
        raised,
    )


def explore(of: Case, *, margin: timedelta = 2 * SECOND, most: int = 2_000_000) -> int:
    """Visit the worlds of all orders of events, and return their number. Raise Bogus if a resolver cannot validate in a
    world, and Deadlock if a world cannot reach the end of the rollover.
    """
    seen = {of.first}
    after: dict[World, list[World]] = {}
    waiting = [of.first]
    while waiting:
        world = waiting.pop()
        after[world] = [] if world.over and _is_calm(world) else list(dict.fromkeys(following(of, world, margin)))
        for each in after[world]:
            if each not in seen:
                seen.add(each)
                waiting.append(each)
        assert len(seen) <= most, "too many worlds"
    _refuse_deadlock(after)
    return len(seen)


def following(of: Case, world: World, margin: timedelta) -> Iterator[World]:
    """Yield the worlds that the next tick can lead to."""
    caches = _older(world.cached_ds), _older(world.cached_keys), _older(world.cached_records)
    passed = _fetch(replace(world, **dict(zip(("cached_ds", "cached_keys", "cached_records"), caches, strict=True))))
    _check(of, passed)
    for moved in _moves(of, passed):
        fetched = _fetch(moved)
        _check(of, fetched)
        for jump in (False, True) if _may(of, Trouble.JUMP, world) and not world.jumped else (False,):
            yield from map(_short, _looks(of, fetched, margin, jump=jump))


def _older(cached: Cache[T]) -> Cache[T]:
    """Return the cache one tick later, without entries whose TTL has ended."""
    return frozenset((content, left - 1) for content, left in cached if left > 1)


def _may(of: Case, trouble: Trouble, world: World) -> bool:
    return trouble in of.troubles and not world.over


def _moves(of: Case, world: World) -> Iterator[World]:
    """Yield the worlds after servers of the zone and of the parent move or are late, and after TTLs are raised."""
    head = len(world.log) - 1
    ways = [range(at if Trouble.NODE in of.troubles else head, head + 1) for at in world.nodes]
    nodes = {tuple(sorted(each)) for each in product(*ways)}
    transferred = [None] if world.secondary is None else range(world.secondary, head + 1)
    late = Trouble.PARENT in of.troubles
    choices = [{each, world.target, each | world.target} if late else {world.target} for each in world.servers]
    servers = {tuple(sorted(each, key=sorted)) for each in product(*choices)}
    for positions, at, sets in product(
        sorted(nodes), transferred, sorted(servers, key=lambda each: list(map(sorted, each)))
    ):
        moved = replace(world, nodes=positions, secondary=at, servers=sets)
        yield moved
        if _may(of, Trouble.EDIT, world) and not world.log[-1].raised:
            raised = replace(world.log[-1], raised=True)
            yield replace(moved, log=(*world.log, raised))
        if _may(of, Trouble.DS_TTL, world) and not world.ds_raised:
            yield replace(moved, ds_raised=True)


def _fetch(world: World) -> World:
    answered = {world.log[at] for at in _positions(world)}
    return replace(
        world,
        cached_ds=_with(world.cached_ds, dict.fromkeys(world.servers, DS[world.ds_raised])),
        cached_keys=_with(world.cached_keys, {each: KEYS[each.raised] for each in answered}),
        cached_records=_with(world.cached_records, {each: RECORDS[each.raised] for each in answered}),
    )


def _positions(world: World) -> tuple[int, ...]:
    """Return the log position of each name server of the zone."""
    return world.nodes if world.secondary is None else (*world.nodes, world.secondary)


def _with(cached: Cache[T], fresh: Mapping[T, int]) -> Cache[T]:
    left = dict(cached)
    for content, ttl in fresh.items():
        left[content] = max(ttl, left.get(content, 0))
    return frozenset(left.items())


def _looks(of: Case, world: World, margin: timedelta, *, jump: bool) -> Iterator[World]:
    """Yield the worlds after the rollover's step has run, or after a person has canceled the rollover."""
    if world.over:
        yield world
        return
    # One tick has passed. A clock that jumps shows more, but only MOST_CREDIT of it counts.
    clock = rollover.steady(EPOCH, EPOCH, EPOCH + (1000 if jump else 1) * SECOND, most=3 * SECOND)
    elapsed = int((clock - EPOCH).total_seconds())
    answered = _age(world.answered, elapsed) if min(world.nodes) >= world.step_at else None
    has_step = world.secondary is None or world.secondary >= world.step_at
    transferred = _age(world.transferred, elapsed) if has_step else None
    before = {goal: EPOCH - age * SECOND for goal, age in world.goals}
    met = _met(world.servers, _all_keys(of), of.old, of.new) & _goals_of(of.kind)
    since = rollover.goals_since(before, met, clock, EPOCH)
    goals = tuple((goal, min(int((clock - at) / SECOND), OLDEST)) for goal, at in sorted(since.items()))
    world = replace(world, answered=answered, transferred=transferred, goals=goals, jumped=world.jumped or jump)
    inputs = Inputs(
        kind=of.kind,
        step=world.step,
        state=SigningState(world.keys),
        old=of.old,
        new=of.new,
        now=clock,
        ttls=Ttls(
            RECORDS[any(each.raised for each in world.log)],
            KEYS[any(each.raised for each in world.log)],
            DS[world.ds_raised],
        ),
        answered_since=None if answered is None else clock - answered * SECOND,
        secondaries_since=None if transferred is None else clock - transferred * SECOND,
        goals={goal: clock - age * SECOND for goal, age in goals},
        old_ds=tuple(_text(of, id) for id in of.old if _is_entry(of, id)),
        new_ds=tuple(_text(of, id) for id in of.new if _is_entry(of, id)),
        margin=margin,
    )
    outcome = rollover.advance(inputs)
    match outcome:
        case Act():
            yield _acted(world, outcome)
        case AskForDs(add, remove):
            ids = {_text(of, id): id for id in (*of.old, *of.new)}
            target = (
                world.target
                if not any(world.servers) and not world.target and of.kind is not Kind.SECURE
                else (world.target | {ids[text] for text in add}) - {ids[text] for text in remove}
            )
            yield replace(world, target=target)
        case Done():
            yield replace(world, over=True)
        case rollover.Wait():
            yield world
        case rollover.Stuck(message):
            raise Deadlock(message)
    if _may(of, Trouble.CANCEL, world) and not world.cancelled:
        withdrawn = rollover.cancel(inputs, withdrawn=True)
        if isinstance(withdrawn, Act):
            # A person who reports the request as withdrawn has withdrawn it.
            target = (
                frozenset(of.old) & _entries(of) if world.step is Step.DS and withdrawn.step is Step.WITHDRAW else None
            )
            back = world if target is None or not world.target else replace(world, target=target)
            yield replace(_acted(back, withdrawn), cancelled=True)
        if isinstance(act := rollover.cancel(inputs), Act) and act != withdrawn:
            yield replace(_acted(world, act), cancelled=True)


def _acted(world: World, act: Act) -> World:
    world = replace(world, step=act.step, jumped=False)
    if act.state.keys == world.keys:
        return world
    made = answers(act.state, raised=world.log[-1].raised)
    world = replace(world, keys=act.state.keys, log=(*world.log, made), step_at=len(world.log))
    return replace(world, answered=None, transferred=None)


def _age(before: int | None, elapsed: int) -> int:
    return 0 if before is None else min(before + elapsed, OLDEST)


def _short(world: World) -> World:
    """Return the world without the oldest part of the log, which no server answers with."""
    drop = min(_positions(world))
    if not drop:
        return world
    return replace(
        world,
        log=world.log[drop:],
        nodes=tuple(at - drop for at in world.nodes),
        secondary=None if world.secondary is None else world.secondary - drop,
        step_at=max(world.step_at - drop, 0),
    )


def _check(of: Case, world: World) -> None:
    """Raise Bogus if a resolver with some combination of these caches cannot validate."""
    secure = [ids for ids, _ in world.cached_ds if ids]
    if not secure:
        return
    algorithm = of.algorithms
    for keys, _ in world.cached_keys:
        for ids in secure:
            for each in {algorithm[id] for id in ids}:
                if not any(algorithm[id] == each for id in ids & keys.published & keys.sign_keys):
                    raise Bogus(f"{world.step}: DS {set(ids)} with DNSKEY {keys}")
        for records, _ in world.cached_records:
            for each in {algorithm[id] for id in keys.published}:
                if not any(algorithm[id] == each for id in keys.published & records.sign_records):
                    raise Bogus(f"{world.step}: DNSKEY {keys} with records of {records}")


def _refuse_deadlock(after: Mapping[World, list[World]]) -> None:
    """Raise Deadlock if a world has no path to a world where the rollover is over."""
    before: dict[World, list[World]] = {}
    for world, nexts in after.items():
        for each in nexts:
            before.setdefault(each, []).append(world)
    good = {world for world in after if world.over}
    waiting = list(good)
    while waiting:
        for each in before.get(waiting.pop(), ()):
            if each not in good:
                good.add(each)
                waiting.append(each)
    if bad := next((world for world in after if world not in good), None):
        raise Deadlock(str(bad))


def _is_calm(world: World) -> bool:
    """Return True if all servers and caches have only the newest state."""
    return (
        len(world.log) == 1
        and all(ids == world.target for ids in world.servers)
        and len(world.cached_ds) == len(world.cached_keys) == len(world.cached_records) == 1
    )


def _met(
    servers: tuple[Ids, ...], keys: Collection[KeyState], old: Collection[int], new: Collection[int]
) -> frozenset[Goal]:
    texts = {key.id: f"{key.id} {key.algorithm} 2 aa" for key in keys}
    entries = {key.id for key in keys if key.is_sep}
    of_old, of_new = ([texts[id] for id in ids if id in entries] for ids in (old, new))
    return rollover.goals_met([[texts[id] for id in ids] for ids in servers], of_old, of_new)


def _goals_of(kind: Kind) -> frozenset[Goal]:
    """Return the goals, which are conditions for the parent's DS, that matter to this kind of rollover."""
    stages = (*rollover_stages.STAGES[kind], *rollover_stages.BACK[kind])
    return frozenset({Goal.HAS_OLD}).union(*(stage.parent for stage in stages)) if kind is not Kind.ZSK else frozenset()


def _all_keys(of: Case) -> list[KeyState]:
    return [KeyState(id, algorithm, 257 if _is_entry(of, id) else 256) for id, algorithm in of.algorithms.items()]


def _is_entry(of: Case, id: int) -> bool:
    return id % 10 == 1


def _entries(of: Case) -> Ids:
    return frozenset(id for id in of.algorithms if _is_entry(of, id))


def _text(of: Case, id: int) -> str:
    return f"{id} {of.algorithms[id]} 2 aa"


def _ids(keys: Collection[KeyState]) -> tuple[int, ...]:
    return tuple(key.id for key in keys)
