"""Webhooks with a complete panel: a publication triggers them, and they go only to allowed addresses."""

import pytest

from dnspanel.demo.stack import Stack
from tests.stack import make_person, run_inside, until

pytestmark = pytest.mark.flow


def test_beat_and_workers_tell_of_a_publication_and_refuse_a_name_that_leads_home(stack: Stack) -> None:
    make_person(stack, "wanda")
    run_inside(stack, "webhooks.subscribe_and_publish")

    def attempts() -> dict[str, str]:
        found = run_inside(stack, "webhooks.deliveries")
        return {kind: error for kind, _, error in found if error}

    until(lambda: len(attempts()) == 2, seconds=30, what="an attempt for each of the two events")
    for error in attempts().values():
        assert "a public address" in error
