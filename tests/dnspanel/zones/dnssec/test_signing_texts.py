"""Changes to signing in plain language."""

import pytest

from dnspanel.zones.dnssec.signing_state import UNSIGNED, KeyState, SigningState
from dnspanel.zones.dnssec.signing_texts import describe_change, describe_denial, describe_polling, signing_algorithms
from replication.codec.dnssec import Nsec3

TAGS = {1: 111, 2: 222}
KEY, OFF = KeyState(1, 13, 257), KeyState(2, 8, 256, active=False, published=False)
SIGNED = SigningState((KEY,))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (UNSIGNED, SIGNED, ["signed with ECDSAP256SHA256", "key 111 added"]),
        (SIGNED, UNSIGNED, ["unsigned", "key 111 deleted"]),
        (SIGNED, SigningState((KEY, OFF)), ["key 222 added (does not sign, hidden)"]),
        (SigningState((OFF,)), SigningState((KeyState(2, 8, 256),)),
         ["signed with RSASHA256", "key 222 started signing", "key 222 published"]),
        (SIGNED, SigningState((KeyState(1, 13, 257, active=False),)),
         ["no signing key left", "key 111 stopped signing"]),
        (SIGNED, SigningState((KEY,), Nsec3(narrow=True)), ["NSEC3 on with narrow"]),
        (SigningState((KEY,), Nsec3()), SIGNED, ["NSEC3 off"]),
        (SigningState((KEY,), Nsec3()), SigningState((KEY,), Nsec3(1, b"\xab")), ["NSEC3 with 1 iteration, salt ab"]),
        (SIGNED, SigningState((KEY,), cds="2,4", cdnskey=True), ["CDS 2, 4", "CDNSKEY on"]),
        (SigningState((KEY,), cds="2,4", cdnskey=True), SIGNED, ["CDS off", "CDNSKEY off"]),
        (SigningState((KeyState(9, 13, 257),)), UNSIGNED, ["unsigned", "key no. 9 deleted"]),
        (SIGNED, SIGNED, []),
    ],
)  # fmt: skip
def test_each_part_of_a_change_is_told(before: SigningState, after: SigningState, expected: list[str]) -> None:
    assert describe_change(before, after, TAGS) == expected


def test_a_state_is_told_too() -> None:
    assert [describe_denial(each) for each in (None, Nsec3(), Nsec3(2, b"", True, True))] == [
        "NSEC",
        "NSEC3",
        "NSEC3 with opt-out, narrow, 2 iterations",
    ]
    assert signing_algorithms(SigningState((KEY, OFF))) == "ECDSAP256SHA256"


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (UNSIGNED, "The zone doesn’t have CDS or CDNSKEY records, so"),
        (SIGNED, "The zone doesn’t have CDS or CDNSKEY records, so"),
        (SigningState((KEY,), cds="2"), "checks CDS will replace its DS"),
        (SigningState((KEY,), cdnskey=True), "checks CDNSKEY will replace its DS"),
        (SigningState((KEY,), cds="0", cdnskey=True), "checks CDS or CDNSKEY will remove the DS"),
    ],
)
def test_what_a_parent_that_polls_will_do_is_a_sentence(state: SigningState, expected: str) -> None:
    assert expected in describe_polling(state)
