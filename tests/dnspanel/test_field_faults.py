"""Tests of field faults: errors that name the faulty fields."""

import pytest

from dnspanel.accounts.errors import AccountError, AccountRefused
from dnspanel.field_faults import FieldsRefused, code_of_message, message_of, not_found

FAULTS = {"name": ["Give a name.", "Enter at most 40 characters."], "tag": ["No tag."]}


def test_the_message_is_every_fault_in_the_order_of_the_fields() -> None:
    refused = FieldsRefused(FAULTS)
    assert refused.fields == FAULTS
    assert str(refused) == "Give a name. Enter at most 40 characters. No tag."


def test_an_app_s_error_of_fields_is_caught_as_either() -> None:
    for kind in (FieldsRefused, AccountError):
        with pytest.raises(kind) as caught:
            raise AccountRefused(FAULTS)
        assert caught.value.fields == FAULTS  # type: ignore[attr-defined]


def test_a_message_keeps_its_code_and_is_a_text_like_others() -> None:
    message = not_found("Team not found.")
    assert (message, code_of_message(message)) == ("Team not found.", "not-found")
    assert code_of_message("Give a name.") == "invalid"
    assert message_of(ValueError(message)) is message
    assert message_of(ValueError()) == ""
    assert code_of_message(message_of(KeyError("x"))) == "invalid"
