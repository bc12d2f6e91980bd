"""Templates: creation, editing, versions, deletion, and the rights to see and change them."""

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import AuditEntry, GrantRow, Role, Team, User
from dnspanel.accounts.people import teams
from dnspanel.transfer.zone_templates import access, edit_template, use
from dnspanel.transfer.zone_templates.edit_template import Head, Text
from dnspanel.transfer.zone_templates.queries import text_diff
from dnspanel.transfer.zone_templates.template_content import variables_stored, version_of
from dnspanel.zones.errors import Forbidden, TemplateMoved, TemplateRefused, TemplateUnknown
from dnspanel.zones.models import TemplateKind, TemplateLink, TemplateVersion, Zone, ZoneTemplate
from dnspanel.zones.settings.template_text import Variable, VariableKind
from tests.dnspanel.transfer.zone_templates.conftest import IP, MX, WEB, MakeTemplate, template_maker
from tests.dnspanel.zones.publishing.test_zone_patches import token_actor
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)
V2 = Text(WEB.replace("300", "60"), (IP, MX), "shorter")


def refused(**fields: object) -> dict[str, list[str]]:
    with pytest.raises(TemplateRefused) as caught:
        edit_template.check_text(Text(**fields))  # type: ignore[arg-type]
    return caught.value.fields


def test_a_template_begins_with_version_one(template: ZoneTemplate, alice: User) -> None:
    version = version_of(template)
    assert (version.number, version.text, version.author) == (1, WEB, alice)
    assert variables_stored(version) == (IP, MX)
    assert AuditEntry.objects.get(action="template.create").target == "Web"


def test_versions_are_numbered_and_the_older_ones_stay(template: ZoneTemplate, alice: User) -> None:
    second = edit_template.publish_version(template=template, content=V2, seen=1, by=alice, now=NOW)
    template.refresh_from_db()
    assert (second.number, template.version, version_of(template, 1).text) == (2, 2, WEB)
    assert ("is-delete", "$TTL 300") in text_diff(version_of(template, 1), second)
    assert ("is-add", "$TTL 60") in text_diff(version_of(template, 1), second)
    assert ("is-same", "blog CNAME @") in text_diff(version_of(template, 1), second)
    assert edit_template.publish_version(template=template, content=V2, seen=1, by=alice, now=NOW).number == 2
    with pytest.raises(TemplateMoved, match="version 2"):
        edit_template.publish_version(template=template, content=Text(WEB, (IP, MX)), seen=1, by=alice, now=NOW)
    assert AuditEntry.objects.filter(action="template.publish").count() == 1


def test_what_no_zone_could_use_is_refused_with_its_places() -> None:
    assert refused(text="@ A nonsense")["text"][0].startswith("Line 1, column 5: ")
    assert refused(text="@ A {{ ip }}") == {"variables/ip": ["Choose a kind for the variable ip."]}
    assert refused(text="@ A {{ ip }}", variables=(IP, IP)).keys() == {"variables/ip"}
    assert refused(text="@ A {{ ip }}", variables=(Variable("ip", "", VariableKind.IPV4, "x"),)).keys() == {
        "variables/ip"
    }
    assert refused(text="@ TXT {{ zone }}", variables=(Variable("zone", "", VariableKind.TEXT),)).keys() == {
        "variables/zone"
    }
    assert refused(text="; nothing") == {"text": ["Enter at least one record."]}
    assert refused(text="@ A 192.0.2.1", note="x" * 501).keys() == {"note"}


def test_a_name_is_taken_once_in_the_panel_and_once_in_each_team(make_template: MakeTemplate, alice: User) -> None:
    team = teams.create_team(name="Web", by=alice, now=NOW)
    make_template(name="Mail")
    make_template(name="Mail", team=team)
    for where in (None, team):
        with pytest.raises(TemplateRefused, match="already"):
            make_template(name="mail", team=where)


def test_it_is_called_otherwise_or_given_to_a_team(template: ZoneTemplate, alice: User) -> None:
    team = teams.create_team(name="Web", by=alice, now=NOW)
    edit_template.change_template(template=template, head=Head(" Web  site ", team, "For shops"), by=alice, now=NOW)
    template.refresh_from_db()
    assert (template.name, template.team, template.description, template.version) == ("Web site", team, "For shops", 1)
    with pytest.raises(TemplateRefused):
        edit_template.change_template(template=template, head=Head(" "), by=alice, now=NOW)


def test_deleting_a_template_that_is_used_leaves_zones_as_they_are(
    template: ZoneTemplate, zone: Zone, alice: User
) -> None:
    using = use.using(template, {"ip": "192.0.2.1"})
    steps = use.propose(use=using, zone=zone, author=alice).steps
    use.draft_steps(use=using, zone=zone, steps=steps, author=alice, now=NOW, keep=True)
    before = zone.revision
    assert edit_template.delete_template(template=template, by=alice, now=NOW) == 1
    zone.refresh_from_db()
    assert (zone.revision, TemplateLink.objects.count(), TemplateVersion.objects.count()) == (before, 0, 0)
    assert AuditEntry.objects.get(action="template.delete").details["linked_zones"] == 1
    with pytest.raises(TemplateUnknown):
        edit_template.delete_template(template=template, by=alice, now=NOW)


@pytest.fixture
def web(alice: User) -> Team:
    return teams.create_team(name="Web", by=alice, now=NOW)


def test_who_sees_which_template(make_template: MakeTemplate, web: Team, alice: User, charlie: User) -> None:
    of_panel, of_team = make_template(), make_template(name="Team", team=web)
    mia, nora = make_person("mia", Role.MEMBER), make_person("nora", Role.MEMBER)
    teams.set_member(team=web, user=mia, role=Role.READER, by=alice, now=NOW)
    GrantRow.objects.create(
        user=nora, grant=Grant(frozenset({Right.READ}), tags=frozenset({"x"})).to_json(), created_at=NOW
    )
    for person in (alice, charlie, mia):
        assert set(access.templates_visible_to(person)) == {of_panel, of_team}
    assert list(access.templates_visible_to(nora)) == [of_panel]
    assert not access.templates_visible_to(make_person("olaf", Role.MEMBER))
    token = token_actor(alice, Grant(frozenset({Right.READ}), zones=frozenset({1})))
    assert list(access.templates_visible_to(token)) == [of_panel]
    with pytest.raises(TemplateUnknown):
        access.template_for(nora, of_team.pk)


def test_who_may_change_which_template(web: Team, alice: User, bob: User, charlie: User) -> None:
    mia, nora = make_person("mia", Role.MEMBER), make_person("nora", Role.MEMBER)
    teams.set_member(team=web, user=mia, role=Role.EDITOR, by=alice, now=NOW)
    limited = Grant(frozenset({Right.READ, Right.TEMPLATES}), everywhere=True, names=("www.*",))
    GrantRow.objects.create(user=nora, grant=limited.to_json(), created_at=NOW)
    may = {person.username: (access.may_change_in(person, None), access.may_change_in(person, web.pk))
           for person in (alice, bob, charlie, mia, nora)}  # fmt: skip
    assert may == {
        "alice": (True, True),
        "bob": (True, True),
        "charlie": (False, False),
        "mia": (False, True),
        "nora": (False, False),
    }
    assert not access.may_change_in(token_actor(alice, Grant(frozenset({Right.READ}), everywhere=True)), None)
    assert access.may_make_templates(mia)
    assert not access.may_make_templates(charlie)


def test_the_verbs_ask_themselves(template: ZoneTemplate, web: Team, alice: User) -> None:
    mia = make_person("mia", Role.MEMBER)
    teams.set_member(team=web, user=mia, role=Role.EDITOR, by=alice, now=NOW)
    make = template_maker(mia)
    own = make(name="Own", team=web)
    acts = (
        lambda: make(name="Other"),
        lambda: edit_template.publish_version(template=template, content=V2, seen=1, by=mia, now=NOW),
        lambda: edit_template.change_template(template=template, head=Head("X", web), by=mia, now=NOW),
        lambda: edit_template.change_template(template=own, head=Head("X"), by=mia, now=NOW),
        lambda: edit_template.delete_template(template=template, by=mia, now=NOW),
    )
    for act in acts:
        with pytest.raises(Forbidden, match="emplates"):
            act()
    assert edit_template.publish_version(template=own, content=V2, seen=1, by=mia, now=NOW).number == 2


def test_a_kind_that_there_is_not_is_refused(make_template: MakeTemplate) -> None:
    with pytest.raises(TemplateRefused, match="whole zones"):
        make_template(kind="both")
    assert make_template(kind=TemplateKind.SNIPPET).kind == "snippet"
