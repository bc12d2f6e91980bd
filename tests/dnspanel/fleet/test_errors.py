"""Tests of error messages."""

import pytest

from dnspanel.fleet import errors


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (errors.UnknownNode("ns9"), "ns9"),
        (errors.NameTaken("ns1"), "ns1"),
        (errors.BadNode("agent_port", "A port is a number."), "port"),
        (errors.WrongState("ns1", "is not drained"), "ns1 is not drained."),
        (errors.CodeRefused(), "Generate a new code"),
        (errors.BadRequest("the signature is invalid"), "signature"),
    ],
)
def test_every_message_says_what_is_wrong(error: errors.FleetError, words: str) -> None:
    assert words in str(error)
