"""Name server sets: their records, the zones that follow them, and runs that apply a set to zones."""

from collections.abc import Sequence
from typing import Any

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import AuditEntry, GrantRow, Membership, Role, Team, User
from dnspanel.transfer.zone_templates import edit_template, runs, server_set_text, use
from dnspanel.transfer.zone_templates.edit_template import Head, Text
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import Forbidden, TemplateRefused
from dnspanel.zones.models import Channel, TemplateKind, TemplateLink, TemplateRunZone, Zone, ZoneTemplate
from dnspanel.zones.publishing.edit import Apex, NewZone, create_zone, create_zones
from dnspanel.zones.publishing.zone_patches import patch_of_steps, publish_patches, replace_with
from dnspanel.zones.settings.server_sets import Host, Servers, default_set, newest_set
from dnspanel.zones.store.store_rrsets import rrsets_at_names
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)
HOUSE = Servers((Host("ns1.house.test."), Host("ns2.house.test.", ("192.0.2.7",))))
OTHER = Servers((Host("a.other.test."), Host("b.other.test.")), "a.other.test.", "dns.other.test.", 600)


@pytest.fixture
def admin() -> User:
    return make_person("ada", Role.ADMINISTRATOR)


def make_set(name: str, says: Servers, team: Team | None = None, *, is_default: bool = True) -> ZoneTemplate:
    made = edit_template.create_template(
        head=Head(name, team), kind=TemplateKind.SERVERS, content=server_set_text.content_of(says), by=None, now=NOW
    )
    if is_default:
        edit_template.set_default(template=made, is_default=True, by=None, now=NOW)
    return made


def make_team(name: str) -> Team:
    return Team.objects.create(name=name, created_at=NOW)


def apex(name: str) -> tuple[tuple[str, ...], str, str]:
    """Return a zone's name servers, and the primary and mailbox of its SOA."""
    zone = Zone.objects.get(name=name, deleted_at=None)
    found = rrsets_at_names({zone.pk: (name, {name})})[zone.pk]
    primary, mailbox, *_ = found[name, rdtypes.SOA].rdata[0].split(" ")
    return found[name, rdtypes.NS].rdata, primary, mailbox


def new(
    name: str,
    author: User | None = None,
    team: Team | None = None,
    rrsets: Sequence[RRset] | None = None,
    **of_apex: Any,
) -> None:
    acting = Acting(author, Channel.API, NOW)
    create_zone(zone=NewZone(name, rrsets), acting=acting, apex=Apex(**of_apex), team=team)


def carry_out(
    template: ZoneTemplate, by: User, *, search: str | None = None, overwrite: bool = False
) -> dict[str, str]:
    """Run a dry run and then the run. Return the run's result for each zone."""
    dry = runs.create_run(template=template, by=by, now=NOW, search=search, keep=True)
    runs.work_on_run(dry.pk)
    dry.refresh_from_db()
    run = runs.start_run(dry_run=dry, by=by, now=NOW, overwrite=overwrite)
    runs.work_on_run(run.pk)
    run.refresh_from_db()
    assert run.state == "done", run.failure
    return dict(TemplateRunZone.objects.filter(run=run).values_list("zone_name", "outcome"))


def test_a_new_zone_begins_with_the_set_of_its_team_else_of_the_panel_and_follows_it() -> None:
    web, mail = make_team("Web"), make_team("Mail")
    new("before.test.")
    panel, ours = make_set("House", HOUSE), make_set("Ours", OTHER, web)
    new("web.test.", team=web)
    new("mail.test.", team=mail)
    new("own.test.", team=web, nameservers=["ns.elsewhere.test."])
    new("given.test.", rrsets=[rr("@ 60 NS ns.elsewhere.test.", origin="given.test.")])
    assert apex("before.test.")[0] == ("ns1.example.net.", "ns2.example.net.")
    assert apex("web.test.") == (("a.other.test.", "b.other.test."), "a.other.test.", "dns.other.test.")
    assert apex("mail.test.") == (("ns1.house.test.", "ns2.house.test."), "ns1.house.test.", "hostmaster.example.net.")
    assert apex("own.test.")[0] == apex("given.test.")[0] == ("ns.elsewhere.test.",)
    links = dict(TemplateLink.objects.values_list("zone__name", "template"))
    assert links == {"web.test.": ours.pk, "mail.test.": panel.pk}


def test_zones_created_together_follow_the_set_as_far_as_they_have_its_name_servers() -> None:
    make_set("House", HOUSE)
    own = rr("@ 60 NS ns.elsewhere.test.", origin="two.test.")
    zones = [NewZone("one.test."), NewZone("two.test.", [own])]
    create_zones(zones=zones, acting=Acting(None, Channel.WEB, NOW))
    assert apex("one.test.")[0] == HOUSE.names
    assert [link.zone.name for link in TemplateLink.objects.select_related("zone")] == ["one.test."]


def test_who_chooses_a_set_gets_that_one() -> None:
    make_set("House", HOUSE)
    other = make_set("Other", OTHER, is_default=False)
    new("chosen.test.", server_set=newest_set(other))
    assert apex("chosen.test.") == (OTHER.names, "a.other.test.", "dns.other.test.")
    assert TemplateLink.objects.get().template == other


def test_one_set_of_a_team_is_the_default_and_a_set_that_moves_to_another_team_is_none(admin: User) -> None:
    web = make_team("Web")
    first, second = make_set("First", HOUSE, web), make_set("Second", OTHER, web)
    assert (found := default_set(web.pk)) is not None
    assert found.name == "Second"
    first.refresh_from_db()
    assert not first.is_default
    entry = AuditEntry.objects.filter(action="template.default").latest("pk")
    assert entry.details == {"team": "Web", "is_default": True, "before": "First"}
    edit_template.change_template(template=second, head=Head("Second"), by=admin, now=NOW)
    assert default_set(web.pk) is None
    assert default_set(None) is None


def test_only_who_may_change_templates_of_the_team_makes_its_set_the_default() -> None:
    web = make_team("Web")
    made = make_set("Ours", HOUSE, web, is_default=False)
    member = make_person("mia", Role.MEMBER)
    Membership.objects.create(team=web, user=member, role="reader")
    with pytest.raises(Forbidden):
        edit_template.set_default(template=made, is_default=True, by=User.objects.get(pk=member.pk), now=NOW)
    grant = Grant(frozenset({Right.TEMPLATES}), teams=frozenset({web.pk}))
    GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=NOW)
    edit_template.set_default(template=made, is_default=True, by=User.objects.get(pk=member.pk), now=NOW)
    assert default_set(web.pk) is not None


def test_zones_follow_a_changed_set_by_a_run_with_a_dry_run(admin: User) -> None:
    made = make_set("House", HOUSE)
    for name in ("one.test.", "two.test.", "three.test."):
        new(name)
    zone = Zone.objects.get(name="two.test.")
    by_hand = rr("@ 3600 NS ns.byhand.test.", origin="two.test.")
    step = patch_of_steps(zone, [(("two.test.", rdtypes.NS), replace_with(by_hand))])
    publish_patches(patches=[step], acting=Acting(admin, Channel.API, NOW))
    edit_template.publish_version(template=made, content=server_set_text.content_of(OTHER), seen=1, by=admin, now=NOW)
    found = carry_out(made, admin)
    assert found == {"one.test.": "change", "two.test.": "conflict", "three.test.": "change"}
    assert apex("one.test.") == (OTHER.names, "a.other.test.", "dns.other.test.")
    assert apex("two.test.")[0] == ("ns.byhand.test.",)
    assert carry_out(made, admin, overwrite=True)["two.test."] == "change"
    assert apex("two.test.")[0] == OTHER.names


def test_zones_of_a_search_are_brought_to_a_set_and_follow_it_from_then_on(admin: User, make_zone: MakeZone) -> None:
    zone = make_zone(name="old.test.")
    made = make_set("Other", OTHER, is_default=False)
    assert carry_out(made, admin, search="old") == {"old.test.": "conflict"}
    assert carry_out(made, admin, search="old", overwrite=True) == {"old.test.": "change"}
    assert apex("old.test.") == (OTHER.names, "a.other.test.", "dns.other.test.")
    assert use.link_of(zone, made) is not None


def test_a_set_that_says_no_more_who_is_named_in_the_soa_leaves_it_as_it_is(admin: User) -> None:
    made = make_set("Other", OTHER)
    new("one.test.")
    edit_template.publish_version(template=made, content=server_set_text.content_of(HOUSE), seen=1, by=admin, now=NOW)
    carry_out(made, admin)
    assert apex("one.test.") == (HOUSE.names, "a.other.test.", "dns.other.test.")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "Enter at least one name server."),
        ("ns1.test\nns1.test.", "A name server is listed more than once."),
        ("ns1.test node:nowhere", "Node nowhere not found."),
        ("ns1.test 192.0.2.300", "“192.0.2.300” isn’t a valid IP address."),
        ("ns1.test fe80::1%eth0", "“fe80::1%eth0” isn’t a public IP address."),
        ("ns1.test 192.0.2.1 node:a", "Enter either addresses or nodes for ns1.test., not both."),
        (".", "The root can’t be a name server."),
        ("\n".join(f"ns{n}.test" for n in range(21)), "A set can have at most 20 name servers."),
        ("\n" * 50 + "ns1.test 192.0.2.300", "“192.0.2.300” isn’t a valid IP address."),
    ],
)
def test_hosts_that_cannot_be_are_refused_with_the_reason(text: str, fault: str) -> None:
    with pytest.raises(TemplateRefused) as refused:
        server_set_text.content_of(Servers(server_set_text.parse_hosts(text)))
    assert refused.value.fields["hosts"] == [fault]


def test_hosts_are_read_as_they_are_written() -> None:
    text = "ns1.test. 192.0.2.1 2001:db8::1\nns2.test. node:fra1 node:ams1"
    hosts = server_set_text.parse_hosts("NS1.test 2001:DB8::1 192.0.2.1\n\nns2.test node:fra1 node:ams1 node:fra1\n")
    assert server_set_text.format_hosts(hosts) == text
    assert server_set_text.parse_hosts(text) == hosts
    says = Servers(hosts, "p.test.", "h.test.", 60)
    assert Servers.from_json(says.to_json()) == says


def test_text_makes_no_set_and_names_make_no_other_template(admin: User, template: ZoneTemplate) -> None:
    with pytest.raises(TemplateRefused):
        edit_template.create_template(
            head=Head("Text"), kind=TemplateKind.SERVERS, content=Text("@ NS ns1.test."), by=admin, now=NOW
        )
    with pytest.raises(TemplateRefused):
        edit_template.publish_version(
            template=template, content=server_set_text.content_of(HOUSE), seen=1, by=admin, now=NOW
        )
    with pytest.raises(TemplateRefused):
        edit_template.set_default(template=template, is_default=True, by=admin, now=NOW)
