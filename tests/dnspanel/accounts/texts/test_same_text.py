"""Tests of the comparison of names, which ignores case only for ASCII letters."""

import pytest

from dnspanel.accounts.models import Team
from dnspanel.accounts.texts.same_text import same_but_for_ascii_case
from tests.people import NOW


@pytest.mark.parametrize(("text", "is_found"), [("Test", True), ("TEST", True), ("te\u017ft", False), ("a\0", False)])
def test_only_ascii_is_folded(db: None, text: str, is_found: bool) -> None:
    Team.objects.create(name="test", created_at=NOW)
    assert Team.objects.filter(same_but_for_ascii_case("name", text)).exists() == is_found
