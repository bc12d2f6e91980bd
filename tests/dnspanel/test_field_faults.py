"""Tests of why something cannot be as its fields say."""

import pytest

from dnspanel.accounts.errors import AccountError, AccountRefused
from dnspanel.field_faults import FieldsRefused

FAULTS = {"name": ["Give a name.", "At most 40 characters."], "tag": ["No tag."]}


def test_the_message_is_every_fault_in_the_order_of_the_fields() -> None:
    refused = FieldsRefused(FAULTS)
    assert refused.fields == FAULTS
    assert str(refused) == "Give a name. At most 40 characters. No tag."


def test_an_app_s_error_of_fields_is_caught_as_either() -> None:
    for kind in (FieldsRefused, AccountError):
        with pytest.raises(kind) as caught:
            raise AccountRefused(FAULTS)
        assert caught.value.fields == FAULTS  # type: ignore[attr-defined]
