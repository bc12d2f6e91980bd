"""Policies on a team's page: those that apply to the team's zones, with links to their settings."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.models import Role, SecondFactorRule, Team
from dnspanel.transfer.zone_templates import edit_template
from dnspanel.transfer.zone_templates.edit_template import Head, Text
from dnspanel.web.access.team_policies import policies_of_team
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import ApprovalTerms, FreezeTimes, Scope
from dnspanel.zones.models import TemplateKind
from dnspanel.zones.signing.policies import Target, attach, create_policy
from tests.dnspanel.transfer.zone_templates.test_server_set_text import HOUSE, OTHER, make_set, make_team
from tests.dnspanel.web.conftest import Browser
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def team() -> Team:
    return make_team("Web")


def test_nothing_holds_for_a_team_of_a_new_panel(team: Team, browser: Browser) -> None:
    page = browser(make_person("ada", Role.ADMINISTRATOR)).get(f"/teams/{team.pk}/")
    found = page.context["policies"]
    assert (found.signing, found.sets, found.templates, found.approvals, found.freezes, found.hooks) == (
        None, (), (), (), (), (),
    )  # fmt: skip
    assert "New zones start with the name servers from the settings" in page.content.decode()


def test_what_holds_for_all_zones_and_for_those_of_the_team_is_shown_and_no_other_team_s(
    team: Team, browser: Browser
) -> None:
    ada, other = make_person("ada", Role.ADMINISTRATOR), make_team("Mail")
    panel, ours = make_set("House", HOUSE), make_set("Ours", OTHER, team, is_default=False)
    make_set("Theirs", OTHER, other)
    head = Head("Shop", team)
    edit_template.create_template(head=head, kind=TemplateKind.ZONE, content=Text("@ A 192.0.2.1"), by=ada, now=NOW)
    policy = create_policy(name="Standard", terms=Terms(), is_default=True, by=ada, now=NOW)
    now = timezone.now()
    for scope, reason in ((Scope(team=team), "Ours"), (Scope(team=other), "Theirs"), (Scope(), "All")):
        publish_rules.add_approval_rule(scope=scope, terms=ApprovalTerms(), reason=reason, author=ada, now=now)
        times = FreezeTimes(now, now + timedelta(hours=1))
        publish_rules.add_freeze(scope=scope, times=times, reason=reason, author=ada, now=now)
    SecondFactorRule.objects.create(team=team, since=now, grace_days=7)
    found = policies_of_team(team, ada, now)
    assert (found.signing, found.is_signing_own, found.may_govern) == (policy, False, True)
    assert set(found.sets) == {panel, ours}
    assert [template.name for template in found.templates] == ["Shop"]
    assert [rule.reason for rule in found.approvals] == [freeze.reason for freeze in found.freezes] == ["Ours", "All"]
    assert policies_of_team(team, ada, now + timedelta(hours=2)).freezes == ()
    page = browser(ada).get(f"/teams/{team.pk}/").content.decode()
    assert f'href="/settings/templates/{ours.pk}/"' in page
    assert "Members must set up a second factor within 7" in page
    edit_template.set_default(template=ours, is_default=True, by=ada, now=NOW)
    attach(policy=policy, to=Target(team=team), by=ada, now=NOW)
    found = policies_of_team(team, ada, now)
    assert found.is_signing_own
    assert [each.name for each in found.sets] == ["Ours"]


def test_the_policies_of_a_team_take_a_fixed_number_of_queries(team: Team, django_assert_num_queries: object) -> None:
    ada = make_person("ada", Role.ADMINISTRATOR)
    make_set("Ours", HOUSE, team)
    with django_assert_num_queries(7):  # type: ignore[operator]
        policies_of_team(team, ada, NOW)
