"""The evaluation of a zone by a DNSSEC policy, without a database."""

from datetime import timedelta

import pytest

from dnspanel.zones.dnssec.policy import (
    Act,
    Attachment,
    Difference,
    Due,
    Terms,
    choose,
    describe_cds,
    differences,
    due,
    with_denial_and_cds,
)
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.dnssec.signing_state import KeyState, SigningState
from replication.codec.dnssec import Nsec3
from tests.people import NOW

CSK = SigningState((KeyState(1, 13, 257),))
SPLIT = SigningState((KeyState(1, 13, 257), KeyState(2, 13, 256)))
ATTACHMENTS = (
    Attachment(1, zone_id=7),
    Attachment(2, tag="b"),
    Attachment(3, tag="a"),
    Attachment(4, team_id=5, team_name="Web"),
)


def acts(terms: Terms, state: SigningState) -> list[tuple[Act, Kind | None]]:
    return [(each.act, each.kind) for each in differences(terms, state)]


def test_a_zone_that_is_as_its_policy_says_differs_in_nothing() -> None:
    assert differences(Terms(), CSK) == []
    assert differences(Terms(split=True), SPLIT) == []
    assert differences(Terms(nsec3=Nsec3(), cds="2"), SigningState(CSK.keys, Nsec3(), "2")) == []


def test_a_zone_without_keys_is_to_be_signed() -> None:
    [found] = differences(Terms(split=True, nsec3=Nsec3(opt_out=True), cdnskey=True), SigningState())
    assert found == Difference(Act.SIGN, "Sign: ECDSAP256SHA256, KSK and ZSK, NSEC3 with opt-out, with CDNSKEY.")


def test_the_first_ds_is_told_with_the_signing_and_while_it_is_awaited() -> None:
    terms = Terms(first_ds=True)
    assert differences(terms, SigningState())[0].message.endswith(
        "NSEC. The rollover to the first DS will start automatically."
    )
    assert differences(terms, CSK) == []
    assert [each.act for each in differences(terms, CSK, awaits_ds=True)] == [Act.FIRST_DS]
    assert [each.act for each in differences(terms, CSK, is_rolling=True, awaits_ds=True)] == [Act.REFUSED]


def test_another_denial_and_other_records_for_the_parent_are_set() -> None:
    terms = Terms(nsec3=Nsec3(narrow=True), cds="2,4")
    assert acts(terms, CSK) == [(Act.DENIAL, None), (Act.CDS, None)]
    assert differences(terms, with_denial_and_cds(terms, CSK)) == []
    assert with_denial_and_cds(terms, CSK).keys == CSK.keys


def test_keys_of_another_kind_need_a_rollover() -> None:
    assert acts(Terms(algorithm=15), CSK) == [(Act.ROLLOVER, Kind.ALGORITHM)]
    assert acts(Terms(split=True), CSK) == [(Act.ROLLOVER, None)]
    assert acts(Terms(algorithm=15), SPLIT) == [(Act.ROLLOVER, Kind.ALGORITHM), (Act.ROLLOVER, None)]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (SigningState((KeyState(1, 13, 257, active=False),)), "Check the keys first"),
        (SigningState((KeyState(1, 13, 257), KeyState(2, 13, 257, active=False))), "aren’t used for signing"),
        (SigningState((KeyState(1, 13, 257, published=False),)), "A key is used for signing but isn’t published"),
        (SigningState(CSK.keys, cds="0"), "delete the DS"),
    ],
    ids=["no key signs", "a key that does not sign", "a hidden key", "DNSSEC is being turned off"],
)
def test_what_somebody_has_to_look_at_first_stays_as_it_is(state: SigningState, reason: str) -> None:
    [found] = differences(Terms(algorithm=15, nsec3=Nsec3()), state)
    assert found.act is Act.REFUSED
    assert reason in found.message


def test_keys_are_due_when_they_have_outlived_their_lifetime() -> None:
    made = {1: NOW - timedelta(days=400), 2: NOW - timedelta(days=91)}
    terms = Terms(split=True, zsk_days=90, ksk_days=365)
    assert due(terms, SPLIT, made, NOW) == [
        Due(Kind.ZSK, (2,), NOW - timedelta(days=1)),
        Due(Kind.KSK, (1,), NOW - timedelta(days=35)),
    ]
    assert due(terms, SPLIT, made, NOW - timedelta(days=36)) == []
    assert due(Terms(split=True), SPLIT, made, NOW) == []
    assert [each.kind for each in due(Terms(ksk_days=365), CSK, made, NOW)] == [Kind.CSK]
    hidden = SigningState((KeyState(1, 13, 257, active=False),))
    assert due(Terms(ksk_days=365), hidden, made, NOW) == []


@pytest.mark.parametrize(
    ("zone_id", "tags", "team_id", "expected"),
    [
        (7, ["a"], 5, (1, "set for this zone")),
        (8, ["b", "a"], 5, (3, "from the tag a")),
        (8, ["other"], 5, (4, "from the team Web")),
        (8, [], 6, (9, "the panel’s default")),
        (8, [], None, (9, "the panel’s default")),
    ],
)
def test_the_nearest_policy_counts(
    zone_id: int, tags: list[str], team_id: int | None, expected: tuple[int, str]
) -> None:
    assert choose(zone_id=zone_id, tags=tags, team_id=team_id, attachments=ATTACHMENTS, default=9) == expected


def test_without_a_default_there_may_be_no_policy() -> None:
    assert choose(zone_id=8, tags=[], team_id=None, attachments=ATTACHMENTS, default=None) is None


def test_policies_are_described_in_a_line() -> None:
    assert Terms(algorithm=8, bits=3072).description == "RSASHA256 with 3072 bits, one key (CSK), NSEC"
    assert Terms(split=True, zsk_days=90, ksk_days=1).lifetimes == "ZSK 90 days, KSK 1 day"
    assert Terms(ksk_days=365).lifetimes == "CSK 365 days"
    assert Terms().lifetimes == "no expiry"
    assert describe_cds("2,4", cdnskey=True) == "CDS (SHA-256, SHA-384) and CDNSKEY"
