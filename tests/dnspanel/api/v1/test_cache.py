"""Tests of the cache flush, which has nothing to remove."""

import pytest

from dnspanel.accounts.models import User
from tests.dnspanel.api.v1.calls import caller

pytestmark = pytest.mark.django_db


def test_a_flush_succeeds_and_had_nothing_to_remove(bob: User) -> None:
    assert caller(bob).value("PUT", "/cache/flush?domain=a.test.") == {"count": 0, "result": "Flushed cache."}


@pytest.mark.parametrize("domain", ["", "a.test", "a..test."])
def test_a_name_that_is_none_is_refused(domain: str, bob: User) -> None:
    assert "DNS Name" in caller(bob).error("PUT", f"/cache/flush?domain={domain}")
