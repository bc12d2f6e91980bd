"""Runs that update zones to a version of a template, with a dry run."""

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import AuditEntry, GrantRow, Role, User
from dnspanel.accounts.people import teams
from dnspanel.transfer.tasks import drive_transfers, run_template
from dnspanel.transfer.zone_templates import edit_template, runs, use
from dnspanel.transfer.zone_templates.edit_template import Text
from dnspanel.webhooks import place_publish_hooks
from dnspanel.webhooks.place_publish_hooks import HookTerms
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import Forbidden, RunRefused, TemplateRefused, TemplateRunUnknown, TemplateUnknown
from dnspanel.zones.governance.publish_rules import Scope
from dnspanel.zones.models import (
    Channel,
    Publication,
    RunState,
    TemplateKind,
    TemplateLink,
    TemplateRun,
    Zone,
    ZoneTemplate,
)
from dnspanel.zones.publishing import bulk, revision
from dnspanel.zones.publishing.edit import NewZone
from dnspanel.zones.runs import run_turns
from dnspanel.zones.settings.template_text import Variable, VariableKind
from dnspanel.zones.store import store_rrsets
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from tests.dnspanel.transfer.zone_templates.conftest import IP, MX, WEB, MakeTemplate
from tests.dnspanel.webhooks.answering import Answering
from tests.dnspanel.webhooks.conftest import answering as answering
from tests.dnspanel.webhooks.conftest import at_home as at_home
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.dnspanel.zones.publishing.test_zone_patches import token_actor
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)
V2 = Text("$TTL 300\n@ A {{ ip }}\n@ AAAA 2001:db8::1\n@ MX 10 {{ mx }}\n", (IP, MX))


def create(template: ZoneTemplate, author: User, *names: str, keep: bool = True) -> list[Zone]:
    """Create these zones from the template, each with a different address."""
    for number, name in enumerate(names, 1):
        using = use.using(template, {"ip": f"192.0.2.{number}"})
        apex = (rr("@ 3600 SOA a. b. 1 2 3 4 5", origin=name), rr("@ 3600 NS ns1.example.net.", origin=name))
        zone, faults = use.with_template(using, NewZone(name, apex))
        assert faults == ()
        use.create_zones_from(use=using, zones=[zone], keep=keep, acting=Acting(author, Channel.WEB, NOW))
    return [Zone.objects.get(name=name) for name in names]


def work(run: TemplateRun, *, batch: int = runs.BATCH) -> TemplateRun:
    while runs.work_on_run(run.pk, batch=batch):
        pass
    run.refresh_from_db()
    return run


def dry_run(template: ZoneTemplate, by: User, **terms: object) -> TemplateRun:
    return work(runs.create_run(template=template, by=by, now=NOW, **terms))  # type: ignore[arg-type]


def carry_out(dry: TemplateRun, by: User, *, overwrite: bool = False, batch: int = runs.BATCH) -> TemplateRun:
    return work(runs.start_run(dry_run=dry, by=by, now=NOW, overwrite=overwrite), batch=batch)


def stored(zone: Zone, name: str, type: int) -> RRset | None:
    return store_rrsets.rrsets_at_names({zone.pk: (zone.name, {name})})[zone.pk].get((name, type))


def publish_v2(template: ZoneTemplate, by: User) -> None:
    edit_template.publish_version(template=template, content=V2, seen=1, by=by, now=NOW)
    template.refresh_from_db()


def test_a_dry_run_changes_nothing_and_the_run_does_what_it_found_in_one_publication(
    template: ZoneTemplate, bob: User, make_zone: MakeZone
) -> None:
    zones = create(template, bob, "v1.test.", "v2.test.")
    other = make_zone()
    publish_v2(template, bob)
    before = Publication.objects.count()
    dry = dry_run(template, bob)
    assert (dry.state, dry.total, dry.done, dry.counts) == (RunState.DONE, 2, 2, {"change": 2})
    assert {row.message for row in dry.zones.all()} == {"1 added, 1 removed"}
    assert Publication.objects.count() == before
    assert {link.version for link in TemplateLink.objects.all()} == {1}
    run = carry_out(dry, bob)
    assert (run.state, run.counts) == (RunState.DONE, {"change": 2})
    publication = Publication.objects.get(sequence__gt=other.sequence, sequence=run.last_sequence)
    assert Publication.objects.count() == before + 1
    assert (publication.author, publication.reason) == (bob, f"template Web version 2, run {run.pk}")
    for zone in zones:
        assert stored(zone, zone.name, rdtypes.AAAA) is not None
        assert stored(zone, f"blog.{zone.name}", rdtypes.CNAME) is None
    assert {(link.version, link.before) for link in TemplateLink.objects.all()} == {(2, None)}
    assert dry_run(template, bob).counts == {"same": 2}
    assert AuditEntry.objects.get(action="template.run").target == "Web version 2"
    # It can be undone like any other publication.
    bulk.undo_zone_changes(sequence=run.last_sequence, acting=Acting(bob, Channel.WEB, NOW))
    assert stored(zones[0], "blog.v1.test.", rdtypes.CNAME) is not None


def test_what_was_edited_by_hand_is_kept_unless_it_is_to_be_overwritten(template: ZoneTemplate, bob: User) -> None:
    edited, plain = create(template, bob, "v1.test.", "v2.test.")
    by_hand = rr("@ 300 MX 5 mx9.example.net.", origin="v1.test.")
    draft.replace_rrset(author=bob, zone=edited, rrset=by_hand, now=NOW)
    revision.publish(acting=Acting(bob, Channel.WEB, NOW), zones=[edited])
    publish_v2(template, bob)
    dry = dry_run(template, bob)
    assert dry.counts == {"conflict": 1, "change": 1}
    assert "Manual edits preserved (1): MX @" in dry.zones.get(outcome="conflict").message
    carry_out(dry, bob)
    assert stored(edited, "v1.test.", rdtypes.MX) == by_hand
    assert stored(edited, "v1.test.", rdtypes.AAAA) is not None
    assert stored(plain, "v2.test.", rdtypes.AAAA) is not None
    again = dry_run(template, bob)
    assert again.counts == {"conflict": 1, "same": 1}
    run = carry_out(again, bob, overwrite=True)
    assert run.counts == {"change": 1, "same": 1}
    assert stored(edited, "v1.test.", rdtypes.MX) == rr("@ 300 MX 10 mx.example.net.", origin="v1.test.")


def test_each_batch_is_one_publication_and_queries_do_not_grow_with_its_zones(
    template: ZoneTemplate, bob: User
) -> None:
    create(template, bob, *(f"v{number}.test." for number in range(1, 8)))
    second = Text(f"{WEB}@ AAAA 2001:db8::1\n", (IP, MX))
    edit_template.publish_version(template=template, content=second, seen=1, by=bob, now=NOW)
    counts = []
    for batch in (2, 5):
        run = runs.create_run(template=template, by=bob, now=NOW)
        TemplateRun.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
        with CaptureQueriesContext(connection) as queries:
            runs.work_on_run(run.pk, batch=batch, seconds=0)
        counts.append(len(queries))
        work(run)
    assert counts[0] == counts[1]
    before = Publication.objects.count()
    run = carry_out(dry_run(template, bob), bob, batch=3)
    assert (run.done, run.counts) == (7, {"change": 7})
    assert Publication.objects.count() == before + 3


def test_zones_that_a_search_finds_get_the_template_and_follow_it_as_chosen(
    template: ZoneTemplate, bob: User, make_zone: MakeZone
) -> None:
    shop, taken = make_zone(name="shop.test."), make_zone("@ 60 A 198.51.100.1", name="shop2.test.")
    make_zone(name="other.test.")
    dry = dry_run(template, bob, search="shop", values={"ip": "192.0.2.9"}, keep=True)
    assert dry.counts == {"change": 1, "conflict": 1}
    carry_out(dry, bob)
    assert stored(shop, "shop.test.", rdtypes.A) == rr("@ 300 A 192.0.2.9", origin="shop.test.")
    assert stored(taken, "shop2.test.", rdtypes.A) == rr("@ 60 A 198.51.100.1", origin="shop2.test.")
    links = TemplateLink.objects.order_by("zone__name")
    assert [(link.zone.name, link.version, link.values) for link in links] == [
        ("shop.test.", 1, {"ip": "192.0.2.9"}),
        ("shop2.test.", 1, {"ip": "192.0.2.9"}),
    ]
    with pytest.raises(TemplateRefused, match="IPv4"):
        runs.create_run(template=template, by=bob, now=NOW, search="", values={"ip": "x"})


def test_zones_that_cannot_have_it_are_refused_with_the_reason_and_their_links_stay(
    template: ZoneTemplate, bob: User, alice: User
) -> None:
    clash, lacks, mine = create(template, bob, "v1.test.", "v2.test.", "v3.test.")
    draft.replace_rrset(author=bob, zone=clash, rrset=rr("new 300 A 192.0.2.9", origin="v1.test."), now=NOW)
    revision.publish(acting=Acting(bob, Channel.WEB, NOW), zones=[clash])
    wanted = Variable("who", "Who", VariableKind.TEXT)
    second = Text("@ TXT {{ who }}\nnew CNAME @\n", (wanted,))
    edit_template.publish_version(template=template, content=second, seen=1, by=alice, now=NOW)
    TemplateLink.objects.exclude(zone=lacks).update(values={"who": "me"})
    dry = dry_run(template, bob)
    refused = {row.zone_name: row.message for row in dry.zones.filter(outcome="refused")}
    assert "CNAME" in refused["v1.test."]
    assert refused["v2.test."] == "Who is missing."
    mia = make_person("mia", Role.MEMBER)
    grant = Grant(EVERY_RIGHT, zones=frozenset({mine.pk}), types=frozenset({rdtypes.TXT}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    limited = dry_run(template, mia)
    assert (limited.total, limited.counts) == (1, {"refused": 1})
    assert "You don’t have permission" in limited.zones.get().message
    carry_out(dry, bob)
    versions = dict(TemplateLink.objects.values_list("zone__name", "version"))
    assert versions == {"v1.test.": 1, "v2.test.": 1, "v3.test.": 2}


def test_zones_to_which_a_publish_hook_says_no_are_refused_with_its_reason(
    template: ZoneTemplate, bob: User, alice: User, answering: Answering
) -> None:
    kept, _ = create(template, bob, "v1.test.", "v2.test.")
    publish_v2(template, bob)
    dry = dry_run(template, bob)
    made = place_publish_hooks.add_hook(
        scope=Scope(zone=kept), terms=HookTerms(answering.url), reason="Names", author=alice, now=NOW
    )
    answering.secret = made.secret
    answering.refuse("No names like that.")
    run = carry_out(dry, bob)
    assert (run.state, run.counts) == (RunState.DONE, {"change": 1, "refused": 1})
    assert "No names like that." in run.zones.get(outcome="refused").message
    assert dict(TemplateLink.objects.values_list("zone__name", "version")) == {"v1.test.": 1, "v2.test.": 2}


def test_who_may_begin_and_see_a_run(
    template: ZoneTemplate, make_template: MakeTemplate, alice: User, bob: User, charlie: User
) -> None:
    create(template, bob, "v1.test.")
    run = runs.create_run(template=template, by=bob, now=NOW)
    with pytest.raises(Forbidden):
        runs.create_run(template=template, by=charlie, now=NOW)
    for person in (alice, charlie, token_actor(bob, Grant(EVERY_RIGHT, everywhere=True))):
        with pytest.raises(TemplateRunUnknown):
            runs.run_for(person, run.pk)
    assert runs.run_for(bob, run.pk) == run
    hidden = make_template(name="Team", team=teams.create_team(name="Web", by=alice, now=NOW))
    mia = make_person("mia", Role.MEMBER)
    grant = Grant(EVERY_RIGHT, zones=frozenset({Zone.objects.get().pk}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    with pytest.raises(TemplateUnknown):
        runs.create_run(template=hidden, by=mia, now=NOW)
    snippet = make_template("@ TXT x", name="S", kind=TemplateKind.SNIPPET)
    with pytest.raises(TemplateRefused, match="snippet"):
        runs.create_run(template=snippet, by=bob, now=NOW)


def test_runs_are_bounded_sent_once_cancelled_and_end_with_their_authors_rights(
    template: ZoneTemplate, bob: User
) -> None:
    create(template, bob, "v1.test.")
    form_id = uuid4()
    first = runs.create_run(template=template, by=bob, now=NOW, form_id=form_id)
    assert runs.create_run(template=template, by=bob, now=NOW, form_id=form_id) == first
    with pytest.raises(RunRefused, match="finished dry run"):
        runs.start_run(dry_run=first, by=bob, now=NOW)
    for _ in range(run_turns.MOST_UNFINISHED - 1):
        runs.create_run(template=template, by=bob, now=NOW)
    with pytest.raises(RunRefused, match="unfinished runs"):
        runs.create_run(template=template, by=bob, now=NOW)
    runs.cancel_run(run=first, by=bob, now=NOW)
    with pytest.raises(RunRefused, match="ended"):
        runs.cancel_run(run=first, by=bob, now=NOW)
    assert not runs.work_on_run(first.pk)
    User.objects.filter(pk=bob.pk).update(is_active=False)
    for run in TemplateRun.objects.filter(state=RunState.WAITING):
        assert work(run).state == RunState.FAILED
        assert "closed" in run.failure


def test_workers_take_turns_at_a_run(template: ZoneTemplate, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    create(template, bob, "v1.test.")
    run = runs.create_run(template=template, by=bob, now=NOW)
    woken: list[object] = []
    monkeypatch.setattr("dnspanel.transfer.tasks.wake_each", lambda task, ids: woken.append((task, list(ids))))
    drive_transfers()
    assert (run_template, [run.pk]) in woken
    run_template(run.pk)
    run.refresh_from_db()
    assert run.state == RunState.DONE
