"""A zone's signing state: roles, metadata, JSON, and the allowed transitions between states."""

import itertools

import pytest

from dnspanel.zones.dnssec.signing_state import (
    UNSIGNED,
    KeyRole,
    KeyState,
    SigningState,
    chains_differ,
    nsec3param_text,
    read_nsec3param,
    steps_between,
)
from replication.codec.dnssec import Nsec3

KSK, ZSK = KeyState(1, 13, 257), KeyState(2, 13, 256)
OTHER = KeyState(3, 8, 257)
CHAINS = [None, Nsec3(), Nsec3(opt_out=True), Nsec3(narrow=True), Nsec3(5, b"\xab"), Nsec3(5, b"\xab", narrow=True)]


def test_roles_are_those_that_powerdns_works_out() -> None:
    assert SigningState((KSK,)).role(KSK) == KeyRole.CSK
    both = SigningState((KSK, ZSK, OTHER))
    assert [both.role(key) for key in both.keys] == [KeyRole.KSK, KeyRole.ZSK, KeyRole.CSK]
    inactive = KeyState(2, 13, 256, active=False)
    assert SigningState((KSK, inactive)).role(KSK) == KeyRole.CSK


def test_metadata_is_there_only_with_keys() -> None:
    state = SigningState((KSK,), Nsec3(1, b"\xab", True, True), "2,4", True)
    assert state.metadata == {
        "NSEC3PARAM": "1 1 1 ab",
        "NSEC3NARROW": "1",
        "PUBLISH-CDS": "2,4",
        "PUBLISH-CDNSKEY": "1",
    }
    assert SigningState((), Nsec3(), "2", True).metadata == {}
    assert SigningState((), Nsec3()).denial is None
    assert nsec3param_text(Nsec3()) == "1 0 0 -"
    for nsec3 in (each for each in CHAINS if each is not None):
        assert read_nsec3param(nsec3param_text(nsec3), narrow=nsec3.narrow) == nsec3
    for text in ("2 0 0 -", "1 2 0 -", "1 0 x -", "1 0 0 xy", "1 0 0"):
        with pytest.raises(ValueError):  # noqa: PT011
            read_nsec3param(text, narrow=False)


@pytest.mark.parametrize("nsec3", CHAINS)
def test_a_state_survives_being_stored(nsec3: Nsec3 | None) -> None:
    state = SigningState(
        (KSK, KeyState(9, 15, 256, active=False, published=False)), nsec3, "0", True, {"NSEC3PARAM": 7}
    )
    assert SigningState.from_json(state.to_json()) == state
    of_others = SigningState((), nsec3, presigned=True, other_nsec3=tuple(filter(None, CHAINS[:2])))
    assert SigningState.from_json(of_others.to_json()) == of_others
    assert SigningState.from_json(None) == SigningState.from_json({}) == UNSIGNED


def test_keys_are_put_replaced_and_taken_out_in_the_order_of_their_ids() -> None:
    state = UNSIGNED.with_key(ZSK).with_key(KSK)
    assert state.keys == (KSK, ZSK)
    changed = state.with_key(KeyState(1, 13, 257, active=False))
    assert changed.key(1) == KeyState(1, 13, 257, active=False)
    assert changed.without_key(1).keys == (ZSK,)
    assert changed.key(4) is None
    assert state.is_signed
    assert not UNSIGNED.is_signed


@pytest.mark.parametrize(("before", "after"), list(itertools.product(CHAINS, CHAINS)))
def test_no_step_leads_from_one_stored_chain_to_another_with_other_hashes(
    before: Nsec3 | None, after: Nsec3 | None
) -> None:
    states = [SigningState((KSK,), before), *steps_between(SigningState((KSK,), before), SigningState((KSK,), after))]
    assert states[-1].nsec3 == after
    for one, other in itertools.pairwise(states):
        stored = [chain for chain in (one.denial, other.denial) if chain is not None and not chain.narrow]
        assert len({(chain.iterations, chain.salt) for chain in stored}) < 2
    assert len(states) == (3 if chains_differ(before, after) else 2)


def test_a_zone_that_nobody_validates_goes_at_once() -> None:
    unsigned = SigningState((KeyState(1, 13, 257, active=False),), Nsec3())
    assert len(list(steps_between(unsigned, SigningState((KSK,), Nsec3(5, b"\xab"))))) == 1
