"""Rollovers in all orders of events: no resolver gets a bogus answer, and each rollover can end."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dnspanel.zones.dnssec import rollover, rollover_stages
from dnspanel.zones.dnssec.rollover import Act, AskForDs, Done, Inputs, Refused, Stuck, Ttls, Wait
from dnspanel.zones.dnssec.rollover_stages import BACK, STAGES, Caches, Goal, Kind, Stage, Step
from dnspanel.zones.dnssec.signing_state import KeyState, SigningState
from tests.dnspanel.zones.dnssec import rollover_model
from tests.dnspanel.zones.dnssec.rollover_model import Bogus, Deadlock, Trouble, case, explore

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SPLIT = {Kind.CSK: False}
MUTATED = [Trouble.NODE, Trouble.PARENT, Trouble.CANCEL]  # the events that a mutant needs to fail
ABROAD = [Trouble.SECONDARY, Trouble.NODE, Trouble.PARENT, Trouble.CANCEL, Trouble.JUMP]
OLD, NEW = "1 13 2 aa", "11 13 2 bb"


# The tests below run each kind every day with other troubles.
@pytest.mark.turn(2, reason="kinds of rollovers in every order of all events")
@pytest.mark.sample(1, reason="kinds of rollovers in every order of all events")
@pytest.mark.parametrize("kind", list(Kind))
def test_no_order_of_events_makes_an_answer_bogus_and_each_rollover_ends(kind: Kind) -> None:
    assert explore(case(kind, split=SPLIT.get(kind, True))) > 1000


@pytest.mark.parametrize("kind", list(Kind))
def test_nor_does_a_secondary_that_is_later_than_any_node(kind: Kind) -> None:
    assert explore(case(kind, split=SPLIT.get(kind, True), troubles=ABROAD)) > 100


@pytest.mark.parametrize("kind", [Kind.ALGORITHM, Kind.INSECURE])
def test_zones_of_one_key_go_the_same_way(kind: Kind) -> None:
    assert explore(case(kind, split=False, troubles=MUTATED)) > 100


@pytest.mark.parametrize("kind", [Kind.KSK, Kind.KSK_DOUBLE_DS, Kind.CSK, Kind.ALGORITHM])
def test_a_zone_without_a_ds_needs_none_to_end(kind: Kind) -> None:
    explore(case(kind, split=SPLIT.get(kind, True), has_ds=False, troubles=[Trouble.NODE, Trouble.EDIT]))


def of_caches(paths: Mapping[Kind, tuple[Stage, ...]]) -> list[tuple[Kind, Step]]:
    return [(kind, stage.step) for kind, path in paths.items() for stage in path if stage.caches]


def of_parents(paths: Mapping[Kind, tuple[Stage, ...]]) -> list[tuple[Kind, Step]]:
    return [(kind, stage.step) for kind, path in paths.items() for stage in path if stage.ds_expires]


def long_ttls(monkeypatch: pytest.MonkeyPatch, *of: str) -> None:
    for name in of:
        monkeypatch.setattr(rollover_model, name, (12, 12))
    monkeypatch.setattr(rollover_model, "OLDEST", 14)


def mutate(monkeypatch: pytest.MonkeyPatch, kind: Kind, step: Step, **changes: object) -> None:
    for paths in (STAGES, BACK):
        path = tuple(replace(stage, **changes) if stage.step is step else stage for stage in paths[kind])  # type: ignore[arg-type]
        monkeypatch.setitem(paths, kind, path)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "step"), of_caches(STAGES) + of_caches(BACK))
def test_the_model_sees_a_wait_for_caches_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, kind: Kind, step: Step
) -> None:
    long_ttls(monkeypatch, "RECORDS", "KEYS")
    mutate(monkeypatch, kind, step, caches=Caches.NOTHING)
    with pytest.raises(Bogus):
        explore(case(kind, split=SPLIT.get(kind, True), troubles=MUTATED))


@pytest.mark.parametrize(
    ("kind", "step", "caches", "of"),
    [
        (Kind.ZSK, Step.PUBLISH, Caches.RECORDS, "KEYS"),
        (Kind.ZSK, Step.SIGN, Caches.KEYS, "RECORDS"),
        (Kind.KSK, Step.PUBLISH, Caches.RECORDS, "KEYS"),
        (Kind.CSK, Step.PUBLISH, Caches.RECORDS, "KEYS"),
        (Kind.CSK, Step.PUBLISH, Caches.KEYS, "RECORDS"),
        (Kind.ALGORITHM, Step.SIGN, Caches.KEYS, "RECORDS"),
        (Kind.ALGORITHM, Step.UNPUBLISH, Caches.RECORDS, "KEYS"),
    ],
)
def test_the_model_sees_a_wait_for_the_wrong_caches(
    monkeypatch: pytest.MonkeyPatch, kind: Kind, step: Step, caches: Caches, of: str
) -> None:
    """These are cases in which one TTL is much larger than the other."""
    long_ttls(monkeypatch, of)
    mutate(monkeypatch, kind, step, caches=caches)
    with pytest.raises(Bogus):
        explore(case(kind, split=SPLIT.get(kind, True), troubles=[Trouble.NODE]))


@pytest.mark.parametrize(("kind", "step"), [*of_parents(STAGES), (Kind.ALGORITHM, Step.WITHDRAW)])
def test_the_model_sees_a_wait_for_the_parents_caches_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, kind: Kind, step: Step
) -> None:
    mutate(monkeypatch, kind, step, ds_expires=False)
    with pytest.raises(Bogus):
        explore(case(kind, split=SPLIT.get(kind, True), troubles=MUTATED))


@pytest.mark.parametrize(("kind", "step"), of_parents(STAGES) + of_parents(BACK))
def test_the_model_sees_that_a_parent_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, kind: Kind, step: Step
) -> None:
    mutate(monkeypatch, kind, step, parent=frozenset())
    with pytest.raises(Bogus):
        explore(case(kind, split=SPLIT.get(kind, True), troubles=MUTATED))


def test_the_model_sees_a_parent_of_which_one_server_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    met = rollover.goals_met
    monkeypatch.setattr(rollover, "goals_met", lambda sets, *ds: met(list(sets)[-1:], *ds) | met(list(sets)[:1], *ds))
    with pytest.raises(Bogus):
        explore(case(Kind.KSK, split=True, troubles=MUTATED))


@pytest.mark.parametrize("kind", [Kind.ZSK, Kind.KSK, Kind.KSK_DOUBLE_DS])
def test_the_model_sees_a_margin_that_a_jump_of_the_clock_eats(monkeypatch: pytest.MonkeyPatch, kind: Kind) -> None:
    long_ttls(monkeypatch, "RECORDS", "KEYS", "DS")
    with pytest.raises(Bogus):
        explore(case(kind, split=True, troubles=[Trouble.NODE, Trouble.PARENT, Trouble.JUMP]), margin=timedelta())


@pytest.mark.parametrize("kind", [Kind.ZSK, Kind.KSK_DOUBLE_DS, Kind.ALGORITHM])
def test_the_model_sees_that_late_nodes_are_not_waited_for(monkeypatch: pytest.MonkeyPatch, kind: Kind) -> None:
    def at_once(inputs: Inputs, stage: Stage) -> Wait | None:
        return unmet(replace(inputs, answered_since=inputs.answered_since or NOW - timedelta(days=3650)), stage)

    unmet = rollover._servers_unmet
    monkeypatch.setattr(rollover, "_servers_unmet", at_once)
    with pytest.raises(Bogus):
        explore(case(kind, split=True, troubles=[Trouble.NODE]))


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.INSECURE])  # it removes the DS first
def test_the_model_sees_that_a_late_secondary_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, kind: Kind) -> None:
    def at_once(inputs: Inputs, stage: Stage) -> Wait | None:
        return unmet(replace(inputs, secondaries_since=inputs.answered_since), stage)

    unmet = rollover._servers_unmet
    monkeypatch.setattr(rollover, "_servers_unmet", at_once)
    with pytest.raises(Bogus):
        explore(case(kind, split=SPLIT.get(kind, True), troubles=[Trouble.SECONDARY, Trouble.PARENT]))


@pytest.mark.parametrize("trouble", [Trouble.EDIT, Trouble.DS_TTL])
def test_the_model_sees_that_a_raised_ttl_is_ignored(monkeypatch: pytest.MonkeyPatch, trouble: Trouble) -> None:
    def lowest(inputs: Inputs) -> object:
        return advance(replace(inputs, ttls=Ttls(2, 2, 2)))

    advance = rollover.advance
    monkeypatch.setattr(rollover, "advance", lowest)
    kind = Kind.ZSK if trouble is Trouble.EDIT else Kind.KSK_DOUBLE_DS
    with pytest.raises(Bogus):
        explore(case(kind, split=True, troubles=[Trouble.NODE, Trouble.PARENT, trouble]), margin=timedelta())


@pytest.mark.parametrize(
    ("kind", "step"), [(Kind.ZSK, Step.SIGN), (Kind.ALGORITHM, Step.PUBLISH), (Kind.KSK, Step.DS), (Kind.CSK, Step.DS)]
)
def test_the_model_sees_a_way_back_that_is_too_short(monkeypatch: pytest.MonkeyPatch, kind: Kind, step: Step) -> None:
    monkeypatch.setitem(rollover_stages._CANCELLED, (kind, step), Step.UNDONE)  # type: ignore[arg-type]
    with pytest.raises(Bogus):
        explore(case(kind, split=SPLIT.get(kind, True), troubles=MUTATED))


def test_the_model_sees_a_rollover_that_cannot_end(monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch, Kind.KSK, Step.CLEAN, parent=frozenset((Goal.EMPTY,)))
    with pytest.raises(Deadlock):
        explore(case(Kind.KSK, split=True, troubles=[]))


def inputs(kind: Kind = Kind.KSK, step: Step = Step.PUBLISH, **changes: object) -> Inputs:
    keys = KeyState(1, 13, 257), KeyState(2, 13, 256), KeyState(11, 13, 257)
    found = Inputs(
        kind=kind,
        step=step,
        state=SigningState(keys),
        old=(1,),
        new=(11,),
        now=NOW,
        ttls=Ttls(3600, 300, 86_400),
        answered_since=NOW - timedelta(days=9),
        secondaries_since=NOW - timedelta(days=9),
        goals={Goal.HAS_OLD: NOW - timedelta(days=9), Goal.NO_NEW: NOW - timedelta(days=9)},
        old_ds=(OLD,),
        new_ds=(NEW,),
    )
    return replace(found, **changes)  # type: ignore[arg-type]


def test_each_wait_says_what_for_and_until_when() -> None:
    waits = rollover.advance(inputs(answered_since=None, late=("ns2", "ns3")))
    assert waits == Wait("Waiting for these nodes to serve this step: ns2, ns3.")
    lacking = inputs(secondaries_since=None, secondaries_lack="bind answers with serial 1 instead of 2.")
    text = "Waiting for all of the zone’s secondaries to serve this step. bind answers with serial 1 instead of 2."
    assert rollover.advance(lacking) == Wait(text)
    assert rollover.advance(replace(lacking, answered_since=None)) == Wait("Waiting for all nodes to serve this step.")
    waits = rollover.advance(inputs(secondaries_since=NOW))
    assert isinstance(waits, Wait)
    assert waits.earliest == NOW + timedelta(seconds=360), "caches may have what the last of them answered"
    waits = rollover.advance(inputs(answered_since=NOW))
    text = "Caches can keep the old DNSKEY records for 5 minutes."
    assert waits == Wait(text, NOW + timedelta(seconds=360))
    assert rollover.advance(inputs()) == Act(inputs().state, Step.DS)
    assert rollover.advance(inputs(step=Step.DS)) == AskForDs(
        (NEW,), (OLD,), "All servers for the parent zone must have the DS records for this step."
    )
    waits = rollover.advance(inputs(step=Step.DS, goals={Goal.HAS_NEW: NOW - timedelta(hours=1)}))
    assert isinstance(waits, Wait)
    assert waits.earliest == NOW + timedelta(hours=23, seconds=60)
    waits = rollover.advance(inputs(step=Step.DS, parent_silent="ns1.test. does not answer."))
    assert waits == Wait("The parent’s DS records are unknown: ns1.test. does not answer.")
    waits = rollover.advance(
        inputs(step=Step.DS, goals={Goal.HAS_NEW: NOW - timedelta(days=99)}, ttls=Ttls(60, 60, None))
    )
    assert waits == Wait("The TTL of the parent’s DS records isn’t known yet.")


def test_who_changes_the_keys_meanwhile_makes_it_stuck() -> None:
    outcome = rollover.advance(inputs(state=inputs().state.without_key(11)))
    assert isinstance(outcome, Stuck)
    assert outcome.message.startswith("The zone’s signing was changed, so key 11 isn’t in the state")
    assert isinstance(rollover.advance(inputs(step=Step.SIGN)), Stuck)


def test_it_ends_when_the_parent_has_forgotten_the_old_key() -> None:
    last = inputs(step=Step.CLEAN, state=inputs().state.without_key(1))
    assert rollover.advance(last) == AskForDs(
        (), (OLD,), "All servers for the parent zone must have the DS records for this step."
    )
    assert rollover.advance(replace(last, goals={Goal.NO_OLD: NOW})) == Done()
    undone = inputs(step=Step.UNDONE, state=inputs().state.without_key(11))
    assert rollover.advance(undone) == Done(cancelled=True)


def test_it_is_cancelled_where_that_is_safe_and_otherwise_says_why_not() -> None:
    assert rollover.cancel(inputs()) == Act(inputs().state.without_key(11), Step.UNDONE)
    for refused, message in (
        (rollover.cancel(inputs(step=Step.DS)), "If the parent zone adds the new DS after the new"),
        (rollover.cancel(inputs(step=Step.REMOVE)), "can no longer be cancelled"),
        (rollover.cancel(inputs(step=Step.UNDONE)), "already been cancelled"),
        (rollover.cancel(inputs(is_emergency=True)), "the old key has already been deleted"),
        (rollover.cancel(inputs(goals={})), "so the new key must stay"),
        (rollover.cancel(inputs(goals={Goal.HAS_OLD: NOW})), "Try again later"),
        (rollover.cancel(inputs(parent_silent="Nobody answers.")), "Nobody answers."),
    ):
        assert isinstance(refused, Refused)
        assert message in refused.message
    assert rollover.cancel(inputs(step=Step.DS), withdrawn=True) == Act(inputs().state, Step.WITHDRAW)


@pytest.mark.parametrize("kind", list(rollover_stages.EMERGENCY))
def test_an_emergency_says_what_it_breaks_and_replaces_the_key_at_once(kind: Kind) -> None:
    text = rollover.breakage(kind, Ttls(7200, 300, 86_400))
    assert "SERVFAIL" in text
    assert ("2 hours" in text) is (kind is not Kind.KSK)
    assert ("1 day" in text) is (kind is not Kind.ZSK)
    state = SigningState((KeyState(1, 13, 257),))
    begun = rollover.first(kind=kind, state=state, old=[1], new=[KeyState(11, 13, 257)], emergency=True)
    assert begun == Act(SigningState((KeyState(11, 13, 257),)), Step.REMOVE)
    following = rollover.advance(
        inputs(kind, Step.REMOVE, state=begun.state, is_emergency=True, secondaries_since=None)
    )
    assert following == (Done() if kind is Kind.ZSK else Act(begun.state, Step.DS))


def test_only_keys_that_do_what_is_rolled_over_are_replaced() -> None:
    ksk, zsk, csk = KeyState(1, 13, 257), KeyState(2, 13, 256), KeyState(3, 15, 257)
    split, single = SigningState((ksk, zsk)), SigningState((csk,))
    assert rollover.keys_to_replace(Kind.ZSK, split) == (zsk,)
    assert rollover.keys_to_replace(Kind.KSK, split) == (ksk,)
    assert rollover.keys_to_replace(Kind.CSK, single) == (csk,)
    assert rollover.keys_to_replace(Kind.INSECURE, SigningState((ksk, zsk, csk))) == (ksk, zsk, csk)
    for kind, state, message in (
        (Kind.CSK, split, "The zone doesn’t have a signing CSK"),
        (Kind.ZSK, single, "have a signing ZSK"),
        (Kind.ZSK, SigningState(), "not signed"),
        (Kind.ALGORITHM, SigningState((ksk, zsk, csk)), "several algorithms"),
        (Kind.ALGORITHM, SigningState((ksk, replace(zsk, active=False))), "aren’t used for signing"),
        (Kind.CSK, SigningState((replace(ksk, published=False),)), "A key is used for signing but isn’t published"),
    ):
        refused = rollover.keys_to_replace(kind, state)
        assert isinstance(refused, Refused)
        assert message in refused.message


def test_a_ds_leads_to_a_key_only_in_the_digest_that_resolvers_prefer() -> None:
    sha1, sha384, new384 = "1 13 1 cc", "1 13 4 dd", "11 13 4 ee"
    assert rollover.goals_met([], [OLD], [NEW]) == frozenset()
    assert Goal.EMPTY in rollover.goals_met([[]], [OLD], [NEW])
    assert Goal.HAS_NEW in rollover.goals_met([[OLD, NEW]], [OLD], [NEW])
    assert Goal.HAS_NEW not in rollover.goals_met([[OLD, NEW], [OLD]], [OLD], [NEW])
    assert Goal.HAS_NEW not in rollover.goals_met([[OLD, sha384, NEW]], [OLD, sha384], [NEW, new384])
    assert Goal.HAS_NEW in rollover.goals_met([[OLD, sha384, NEW, new384]], [OLD, sha384], [NEW, new384])
    # A SHA-1 DS is ignored next to others, but still names the old key.
    met = rollover.goals_met([[sha1, NEW.upper()]], [OLD], [NEW])
    assert met == {Goal.HAS_NEW, Goal.NOT_EMPTY}
    # No DS with an old algorithm may remain, regardless of its author.
    assert Goal.NO_OLD not in rollover.goals_met([["77 13 2 ff"]], [OLD], ["11 15 2 bb"])
    assert Goal.NO_OLD in rollover.goals_met([["77 13 2 ff"]], [OLD], [NEW])


def test_a_clock_that_jumps_counts_for_little_and_goes_never_back() -> None:
    assert rollover.steady(NOW, NOW, NOW + timedelta(days=400)) == NOW + rollover.MOST_CREDIT
    assert rollover.steady(NOW, NOW, NOW - timedelta(days=400)) == NOW
    assert rollover.MARGIN >= rollover.MOST_CREDIT


def test_what_nobody_looked_at_for_long_is_not_known() -> None:
    earlier = {Goal.HAS_NEW: NOW - timedelta(days=1), Goal.NO_OLD: NOW - timedelta(days=1)}
    since = rollover.goals_since(earlier, {Goal.HAS_NEW, Goal.EMPTY}, NOW, NOW - timedelta(seconds=30))
    assert since == {Goal.HAS_NEW: NOW - timedelta(days=1), Goal.EMPTY: NOW}
    since = rollover.goals_since(earlier, {Goal.HAS_NEW}, NOW, NOW - timedelta(minutes=11))
    assert since == {Goal.HAS_NEW: NOW}
