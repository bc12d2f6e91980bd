"""Uses of templates for new zones and in drafts, and updates of the zones that follow a template."""

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import AuditEntry, GrantRow, Role, User
from dnspanel.transfer.zone_templates import edit_template, use
from dnspanel.transfer.zone_templates.compare_template import Act, Step
from dnspanel.transfer.zone_templates.edit_template import Text
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import Forbidden, NameTaken, RightMissing, TemplateUnknown
from dnspanel.zones.models import Channel, Operation, Publication, TemplateKind, TemplateLink, Zone, ZoneTemplate
from dnspanel.zones.publishing import revision
from dnspanel.zones.publishing.edit import NewZone
from dnspanel.zones.store import store_rrsets
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from tests.dnspanel.transfer.zone_templates.conftest import IP, MX, MakeTemplate
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.dnspanel.zones.publishing.test_zone_patches import token_actor
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)
VALUES = {"ip": "192.0.2.80", "mx": ""}
APEX = (rr("@ 3600 SOA ns1.example.net. h.example.net. 1 2 3 4 5"), rr("@ 3600 NS ns1.example.net."))


def acts(steps: tuple[Step, ...]) -> dict[tuple[str, int], str]:
    return {step.change.key: str(step.act) for step in steps}


def stored(zone: Zone, name: str, type: int) -> RRset | None:
    return store_rrsets.rrsets_at_names({zone.pk: (zone.name, {name})})[zone.pk].get((name, type))


def publish_draft(author: User, zone: Zone) -> Publication:
    return revision.publish(acting=Acting(author, Channel.WEB, NOW), zones=[zone])


def apply(
    template: ZoneTemplate, zone: Zone, author: User, *, keep: bool | None = True, number: int | None = None
) -> int:
    using = use.using(template, VALUES, number)
    steps = [step for step in use.propose(use=using, zone=zone, author=author).steps if step.act is not Act.CONFLICT]
    return use.draft_steps(use=using, zone=zone, steps=steps, author=author, now=NOW, keep=keep)


def test_what_a_zone_has_already_is_a_conflict_and_the_rest_goes_into_the_draft(
    template: ZoneTemplate, zone: Zone, bob: User
) -> None:
    proposal = use.propose(use=use.using(template, VALUES), zone=zone, author=bob)
    assert acts(proposal.steps) == {
        (zone.name, rdtypes.A): "add",
        (zone.name, rdtypes.MX): "conflict",
        ("blog.example.test.", rdtypes.CNAME): "add",
    }
    assert apply(template, zone, bob, keep=None) == 2
    assert Operation.objects.count() == 2
    assert not TemplateLink.objects.exists()
    again = use.propose(use=use.using(template, VALUES), zone=zone, author=bob)
    assert acts(again.steps)[zone.name, rdtypes.A] == "same"


def test_a_linked_zone_follows_whether_its_draft_was_published_or_not(
    template: ZoneTemplate, make_zone: MakeZone, bob: User, alice: User
) -> None:
    zone = make_zone()
    assert apply(template, zone, bob) == 3
    assert TemplateLink.objects.get().before == [{}]
    second = Text("$TTL 300\n@ A {{ ip }}\n@ AAAA 2001:db8::1\n@ MX 10 {{ mx }}\n", (IP, MX))
    edit_template.publish_version(template=template, content=second, seen=1, by=alice, now=NOW)
    template.refresh_from_db()
    wanted = {(zone.name, rdtypes.A): "same", (zone.name, rdtypes.AAAA): "add", (zone.name, rdtypes.MX): "same"}
    blog = ("blog.example.test.", rdtypes.CNAME)
    using = use.using(template, VALUES)
    # In the draft, the first version's records exist and belong to the template.
    assert acts(use.propose(use=using, zone=zone, author=bob).steps) == wanted | {blog: "remove"}
    # For another person they don't exist yet.
    assert acts(use.propose(use=using, zone=zone, author=alice).steps) == dict.fromkeys(wanted, "add") | {blog: "same"}
    publish_draft(bob, zone)
    assert acts(use.propose(use=using, zone=zone, author=alice).steps) == wanted | {blog: "remove"}
    apply(template, zone, alice, keep=None)
    link = TemplateLink.objects.get()
    assert (link.version, link.before) == (2, [{}, {"version": 1, "values": {"ip": "192.0.2.80"}}])
    assert acts(use.propose(use=using, zone=zone, author=bob).steps) == wanted | {blog: "remove"}
    publish_draft(alice, zone)
    assert stored(zone, *blog) is None


def test_what_was_edited_by_hand_is_a_conflict(
    template: ZoneTemplate, make_zone: MakeZone, bob: User, alice: User
) -> None:
    zone = make_zone()
    apply(template, zone, bob)
    publish_draft(bob, zone)
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("@ 300 A 198.51.100.1"), now=NOW)
    draft.delete_rrset(author=bob, zone=zone, name="blog.example.test.", type=rdtypes.CNAME, now=NOW)
    publish_draft(bob, zone)
    # Without `before`, present records may be older than the template, so a person has to decide.
    TemplateLink.objects.update(before=None)
    steps = use.propose(use=use.using(template, VALUES), zone=zone, author=bob).steps
    assert acts(steps) == {
        (zone.name, rdtypes.A): "conflict",
        (zone.name, rdtypes.MX): "same",
        ("blog.example.test.", rdtypes.CNAME): "conflict",
    }


def test_new_zones_begin_with_a_template_and_in_step(template: ZoneTemplate, bob: User) -> None:
    using = use.using(template, VALUES)
    zones = []
    for name in ("one.test.", "two.test."):
        found, faults = use.with_template(using, NewZone(name, tuple(rr("@ 60 A 192.0.2.9", origin=name) for _ in "x")))
        assert faults == ()
        zones.append(found)
    publication = use.create_zones_from(use=using, zones=zones, keep=True, acting=Acting(bob, Channel.WEB, NOW))
    created = Zone.objects.order_by("name")
    assert [zone.name for zone in created] == ["one.test.", "two.test."]
    assert {zone.sequence for zone in created} == {publication.sequence}
    assert stored(created[0], "one.test.", rdtypes.A) == rr("@ 300 A 192.0.2.80", origin="one.test.")
    links = TemplateLink.objects.order_by("zone__name")
    assert [(link.zone.name, link.version, link.before) for link in links] == [
        ("one.test.", 1, None),
        ("two.test.", 1, None),
    ]
    assert links[0].values == {"ip": "192.0.2.80"}
    for zone in created:
        assert set(acts(use.propose(use=using, zone=zone, author=bob).steps).values()) == {"same"}
    with pytest.raises(NameTaken):
        use.create_zones_from(use=using, zones=zones[:1], keep=True, acting=Acting(bob, Channel.WEB, NOW))
    assert TemplateLink.objects.count() == 2


def test_a_name_server_of_the_template_takes_the_place_of_the_forms(make_template: MakeTemplate) -> None:
    using = use.using(make_template("@ NS ns7.example.net."), {})
    found, _ = use.with_template(using, NewZone("example.test.", APEX))
    servers = [rrset for rrset in found.rrsets or () if rrset.type == rdtypes.NS]
    assert [rrset.rdata for rrset in servers] == [("ns7.example.net.",)]


def test_a_snippet_adds_at_a_name_and_is_no_template_of_zones(
    make_template: MakeTemplate, zone: Zone, bob: User
) -> None:
    snippet = make_template("@ MX 20 backup\n_v TXT {{ name }}", kind=TemplateKind.SNIPPET)
    using = use.using(snippet, {})
    steps = use.propose(use=using, zone=zone, author=bob, name=zone.name).steps
    assert acts(steps) == {(zone.name, rdtypes.MX): "change", ("_v.example.test.", rdtypes.TXT): "add"}
    assert use.draft_steps(use=using, zone=zone, steps=steps, author=bob, now=NOW, keep=True) == 2
    assert not TemplateLink.objects.exists()
    after = {step.change.key: step.change.after for step in steps}[zone.name, rdtypes.MX]
    assert after == rr("@ 3600 MX 10 mail | 20 backup")
    below = use.propose(use=using, zone=zone, author=bob, name="sub.example.test.").steps
    assert {key for key, _ in acts(below)} == {"sub.example.test.", "_v.sub.example.test."}
    assert use.with_template(using, NewZone("new.test.", APEX))[1]


def test_who_may_not_change_a_record_is_refused_and_nothing_is_drafted(
    template: ZoneTemplate, make_zone: MakeZone, charlie: User, bob: User
) -> None:
    zone = make_zone()
    using = use.using(template, VALUES)
    steps = use.propose(use=using, zone=zone, author=charlie).steps
    with pytest.raises(Forbidden):
        use.draft_steps(use=using, zone=zone, steps=steps, author=charlie, now=NOW, keep=True)
    limited = make_person("mia", Role.MEMBER)
    grant = Grant(EVERY_RIGHT, zones=frozenset({zone.pk}), types=frozenset({rdtypes.A}))
    GrantRow.objects.create(user=limited, grant=grant.to_json(), created_at=NOW)
    with pytest.raises(RightMissing):
        use.draft_steps(use=using, zone=zone, steps=steps, author=limited, now=NOW, keep=True)
    assert not Operation.objects.exists()
    assert not TemplateLink.objects.exists()
    blind = token_actor(bob, Grant(EVERY_RIGHT, everywhere=True, types=frozenset({rdtypes.A})))
    with pytest.raises(RightMissing):
        use.propose(use=using, zone=zone, author=blind)


def test_a_zone_that_is_unlinked_follows_nothing(
    template: ZoneTemplate, make_zone: MakeZone, bob: User, charlie: User
) -> None:
    zone = make_zone()
    apply(template, zone, bob)
    with pytest.raises(Forbidden):
        use.unlink(zone=zone, template=template, by=charlie, now=NOW)
    for _ in range(2):
        use.unlink(zone=zone, template=template, by=bob, now=NOW)
    assert not TemplateLink.objects.exists()
    acts = AuditEntry.objects.filter(action__startswith="template.").order_by("pk")
    assert list(acts.values_list("action", flat=True)) == [
        "template.create",
        "template.link",
        "template.unlink",
    ]


def test_values_that_it_has_no_variables_for_are_left_out(template: ZoneTemplate) -> None:
    assert use.using(template, {"ip": "192.0.2.1", "mx": "", "other": "x"}).values == {"ip": "192.0.2.1"}
    with pytest.raises(TemplateUnknown):
        use.using(template, {}, number=2)
    made = use.using(template, {}).make_content("example.test.")
    assert [(fault.variable, fault.line) for fault in made.faults] == [("ip", 0)]
