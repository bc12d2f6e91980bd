"""Fixtures of the tests of secondaries: one that Alice set up, and its key."""

from collections.abc import Callable
from typing import Any

import dns.tsig
import pytest

from dnspanel.accounts.models import User
from dnspanel.secondaries import secondary_keys, set_up_secondaries
from dnspanel.secondaries.models import Secondary
from dnspanel.secondaries.set_up_secondaries import Terms
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import NOW
from tests.people import alice as alice
from tests.people import bob as bob
from tests.people import charlie as charlie

ADDRESS = "9.9.9.9"

MakeSecondary = Callable[..., Secondary]


@pytest.fixture
def make_secondary(alice: User) -> MakeSecondary:
    """Return a function that sets up a secondary, by default for every zone and at ADDRESS."""

    def make(name: str = "partner", **terms: Any) -> Secondary:
        made_of = Terms(**{"name": name, "addresses": [ADDRESS], **terms})
        return set_up_secondaries.create_secondary(terms=made_of, by=alice, now=NOW).secondary

    return make


@pytest.fixture
def secondary(make_secondary: MakeSecondary) -> Secondary:
    return make_secondary()


def key_of(secondary: Secondary) -> dns.tsig.Key:
    """Return the key that the secondary signs with."""
    return secondary_keys.key_of(secondary)
