"""Tests of `dnspanel teams`."""

from dnspanel.accounts.models import Membership, Team
from tests.dnspanel.cli.conftest import Run
from tests.people import NOW


def test_a_team_s_quotas_are_shown_and_set_by_who_may(run: Run, erin: object) -> None:
    assert run("teams", "list").err == "No teams.\n"
    team = Team.objects.create(name="Web", created_at=NOW)
    Membership.objects.create(team=team, user=erin, role="editor")
    assert "erin" in run("teams", "list").out
    found = run("teams", "quotas", "Web", "--output", "json")
    assert {each["kind"]: each["limit"] for each in found.json}["zones"] == 5000
    assert "zones" in run("teams", "quotas", str(team.pk)).out
    assert run("teams", "quotas", "Web", "zones").code == 2
    assert run("teams", "quotas", "Nobody").code == 2
    refused = run("teams", "quotas", "Web", "zones=7")
    assert (refused.code, Team.objects.get().quotas) == (1, {}), refused
