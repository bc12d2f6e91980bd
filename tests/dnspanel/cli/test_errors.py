"""Tests of the command line's messages about refusals."""

from typing import Any

import click

from dnspanel.cli.errors import Refused

ONE: dict[str, Any] = {"zone": "a.test.", "reasons": ["This deletes 20 of 22 RRsets."], "removed": 20, "rrsets": 22}
CONFIRMING = click.Command("undo", params=[click.Option(["--confirm"], is_flag=True)])


def lines_of(zones: list[dict[str, Any]], reasons: list[str], *, left_out: int = 0) -> list[str]:
    """Return the message lines of a command that has an option to confirm."""
    count = len(zones) + left_out
    totals = {"zones": count, "removed": 20 * count, "rrsets": 22 * count}
    detail = 'a.test.: This deletes 20 of 22 RRsets. To confirm, send it with "confirm": true.'
    problem = {"code": "needs-confirmation", "detail": detail, "reasons": reasons, "zones": zones, "errors": []}
    with click.Context(CONFIRMING):
        refused = Refused({**problem, "left_out": left_out, "totals": totals})
    return refused.format_message().splitlines()


def test_what_waits_for_confirmation_is_told_with_the_option_for_it() -> None:
    assert lines_of([ONE], ONE["reasons"]) == ["This deletes 20 of 22 RRsets.", "Add --confirm to go ahead."]


def test_all_zones_that_wait_are_told_with_what_they_lose() -> None:
    other = {**ONE, "zone": "b.test."}
    reasons = [f"{each['zone']}: This deletes 20 of 22 RRsets." for each in (ONE, other)]
    assert lines_of([ONE, other], reasons, left_out=3) == [
        *reasons,
        "And 3 more zones.",
        "100 of 110 RRsets of 5 zones would be deleted.",
        "Add --confirm to go ahead.",
    ]
