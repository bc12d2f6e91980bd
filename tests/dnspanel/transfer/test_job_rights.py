"""The rights of job authors limit imports and exports."""

from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Actor, Grant, Right, actor_of_token
from dnspanel.accounts.models import GrantRow, Membership, Role, Team, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token, revoke_token
from dnspanel.transfer import job_rights
from dnspanel.transfer.cutover import server_comparison as cutover_check
from dnspanel.transfer.documents import Document
from dnspanel.transfer.exports import export_jobs
from dnspanel.transfer.exports.exported_zones import EVERYTHING
from dnspanel.transfer.imports import import_jobs, queries
from dnspanel.transfer.models import (
    Action,
    CutoverCheck,
    CutoverZone,
    ExportFormat,
    ImportJob,
    ImportZone,
    RunState,
    SourceKind,
    State,
)
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import Forbidden, RightMissing, Unknown
from dnspanel.zones.models import Publication, RRset, Zone
from dnspanel.zones.publishing import edit
from tests.dnspanel.transfer.conftest import MakeImport, import_all, work_through, zone_text
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db

NEW = "www 300 A 192.0.2.1"
OTHER = "www 300 A 192.0.2.99"


@pytest.fixture
def mia() -> User:
    return make_person("mia", Role.MEMBER)


@pytest.fixture
def estate(make_import: MakeImport) -> dict[str, Zone]:
    """Create three zones as the administrator."""
    import_all(make_import({name: zone_text(name, NEW) for name in ("a.test.", "b.test.", "c.test.")}))
    return {zone.name: zone for zone in Zone.objects.all()}


def give(person: User, *zones: Zone, **limits: object) -> User:
    grant = Grant(EVERY_RIGHT, zones=frozenset(zone.pk for zone in zones), **limits)  # type: ignore[arg-type]
    GrantRow.objects.create(user=person, grant=grant.to_json(), created_at=NOW)
    return User.objects.get(pk=person.pk)


def import_of(author: User | Actor, *names: str, line: str = OTHER) -> ImportJob:
    documents = [Document(path=name, text=zone_text(name, line).encode()) for name in names]
    return import_all(
        import_jobs.create_of_documents(
            documents=documents, source=SourceKind.PASTE, title="test", author=author, now=NOW
        )
    )


def outcome(job: ImportJob) -> dict[str, str]:
    return dict(ImportZone.objects.filter(job=job).values_list("name", "action"))


def address_of(name: str) -> list[str]:
    return RRset.objects.get(zone__name=name, zone__deleted_at=None, type=1).rdata


def token_actor(owner: User, *scope: Grant) -> Actor:
    token = create_token(owner=owner, terms=TokenTerms("CI", scope), by=owner, now=NOW).token
    actor = actor_of_token(token)
    assert actor is not None
    return actor


def test_a_member_imports_into_granted_zones_and_no_others(mia: User, estate: dict[str, Zone]) -> None:
    job = import_of(give(mia, estate["a.test."]), "a.test.", "b.test.", "new.test.")
    assert outcome(job) == {"a.test.": Action.UNION, "b.test.": Action.FAILED, "new.test.": Action.FAILED}
    assert (address_of("a.test."), address_of("b.test.")) == (["192.0.2.1", "192.0.2.99"], ["192.0.2.1"])
    assert not Zone.objects.filter(name="new.test.").exists()
    reasons = {fault.zone: fault.reason for fault in queries.faults_page(job, severity="error")}
    assert reasons == {
        "b.test.": "The zone already exists, but you don’t have access to it.",
        "new.test.": "You don’t have permission to create zones.",
    }


def test_what_others_have_is_no_difference(mia: User, estate: dict[str, Zone]) -> None:
    job = import_of(give(mia, estate["a.test."]), "b.test.")
    diff = queries.zone_diff(job, ImportZone.objects.get(job=job))
    assert (diff.diffs, diff.more) == ((), 0)


def test_limits_by_name_and_type_hold_in_imports(mia: User, estate: dict[str, Zone]) -> None:
    person = give(mia, estate["a.test."], estate["b.test."], names=("www",), types=frozenset({1}))
    assert outcome(import_of(person, "a.test.")) == {"a.test.": Action.UNION}
    job = import_of(person, "b.test.", line="mail 300 A 192.0.2.99")
    assert outcome(job) == {"b.test.": Action.FAILED}
    assert (
        "You don’t have permission to add A mail.b.test. in b.test"
        in queries.faults_page(job, severity="error")[0].reason
    )


def test_new_zones_of_a_team_member_belong_to_the_team(mia: User) -> None:
    team = Team.objects.create(name="shop", created_at=NOW)
    Membership.objects.create(team=team, user=mia, role=Role.EDITOR)
    assert outcome(import_of(mia, "new.test.")) == {"new.test.": Action.CREATE}
    assert Zone.objects.get(name="new.test.").team == team


def test_a_right_that_is_gone_between_dry_run_and_apply_stops_the_zones(mia: User) -> None:
    team = Team.objects.create(name="shop", created_at=NOW)
    membership = Membership.objects.create(team=team, user=mia, role=Role.EDITOR)
    documents = [Document(path="new.test.", text=zone_text("new.test.", NEW).encode())]
    job = import_jobs.create_of_documents(documents=documents, source=SourceKind.PASTE, title="t", author=mia, now=NOW)
    work_through(job)
    import_jobs.start_plan(job=job, now=NOW)
    work_through(job)
    assert job.state == State.PLANNED
    membership.delete()
    import_jobs.start_apply(job=job, author=mia, now=NOW)
    work_through(job)
    assert outcome(job) == {"new.test.": Action.WAITING}
    assert not Zone.objects.exists()


def test_the_token_is_the_author_of_what_its_import_publishes(alice: User) -> None:
    actor = token_actor(alice, Grant(EVERY_RIGHT, everywhere=True))
    job = import_of(actor, "new.test.")
    publication = Publication.objects.get(sequence=job.last_sequence)
    assert (publication.author, publication.token) == (alice, actor.token)


def test_a_narrow_token_imports_no_more_than_its_scope(alice: User, estate: dict[str, Zone]) -> None:
    actor = token_actor(alice, Grant(EVERY_RIGHT, zones=frozenset({estate["a.test."].pk})))
    job = import_of(actor, "a.test.", "b.test.", "new.test.")
    assert outcome(job) == {"a.test.": Action.UNION, "b.test.": Action.FAILED, "new.test.": Action.FAILED}


def test_a_revoked_token_stops_its_import_with_the_reason(alice: User, estate: dict[str, Zone]) -> None:
    actor = token_actor(alice, Grant(EVERY_RIGHT, everywhere=True))
    documents = [Document(path="new.test.", text=zone_text("new.test.", NEW).encode())]
    job = import_jobs.create_of_documents(
        documents=documents, source=SourceKind.PASTE, title="t", author=actor, now=NOW
    )
    work_through(job)
    assert actor.token is not None
    revoke_token(token=actor.token, by=alice, now=NOW)
    import_jobs.start_plan(job=job, now=NOW)
    work_through(job)
    assert (job.paused, job.failure) == (True, job_rights.AUTHOR_UNABLE)


def test_comparisons_are_their_makers_and_of_who_may_see_all_their_zones(
    mia: User, alice: User, charlie: User, estate: dict[str, Zone]
) -> None:
    """Previously all editors could stop any comparison, and read answers for zones that they weren't allowed to see."""
    person = give(mia, estate["a.test."], estate["b.test."])

    def check_of(*names: str, state: str = RunState.DONE, author: User = alice) -> CutoverCheck:
        check = CutoverCheck.objects.create(author=author, created_at=timezone.now(), server="9.9.9.9", state=state)
        CutoverZone.objects.bulk_create(CutoverZone(check_run=check, name=name) for name in names)
        return check

    wider, both, running, empty = (
        check_of("a.test.", "c.test."), check_of("a.test.", "b.test."), check_of("a.test.", state=RunState.RUNNING),
        check_of(),
    )  # fmt: skip
    own = check_of("c.test.", author=person)
    before = check_of("a.test.")
    CutoverCheck.objects.filter(pk=before.pk).update(created_at=NOW - timedelta(days=1))  # for an earlier a.test.
    Zone.objects.filter(name="a.test.").update(created_at=NOW)
    assert set(job_rights.checks_visible_to(person)) == {both, own}
    for reader in (alice, charlie):
        assert set(job_rights.checks_visible_to(reader)) == {wider, both, running, empty, own, before}
    for check in (wider, running):
        with pytest.raises(Unknown):
            cutover_check.cancel_check(check=check, by=person, now=NOW)
    running.refresh_from_db()
    assert running.state == RunState.RUNNING
    narrow = token_actor(alice, Grant(EVERY_RIGHT, zones=frozenset({estate["c.test."].pk})))
    assert set(job_rights.checks_visible_to(narrow)) == {own}


def test_imports_are_seen_by_their_makers_and_by_editors_of_everything(
    mia: User, alice: User, estate: dict[str, Zone]
) -> None:
    mia = give(mia, estate["a.test."])
    hers = import_of(mia, "a.test.")
    assert queries.job_for(alice, hers.pk) == hers
    assert [row.job for row in queries.jobs_page(mia)] == [hers]
    others = ImportJob.objects.exclude(pk=hers.pk).get()
    with pytest.raises(Unknown):
        queries.job_for(mia, others.pk)
    narrow = token_actor(alice, Grant(EVERY_RIGHT, zones=frozenset({estate["a.test."].pk})))
    assert queries.jobs_page(narrow) == []


def test_nobody_takes_back_zones_that_they_may_not_delete(mia: User, alice: User, estate: dict[str, Zone]) -> None:
    creating = ImportJob.objects.get()
    with pytest.raises(RightMissing):
        import_jobs.start_undo(job=creating, author=give(mia, estate["a.test."]), now=NOW)
    import_jobs.start_undo(job=creating, author=alice, now=NOW)
    work_through(creating)
    assert not Zone.objects.filter(deleted_at=None).exists()


def test_an_export_holds_what_its_author_sees(mia: User, alice: User, estate: dict[str, Zone]) -> None:
    def zones(author: User | Actor) -> set[str]:
        job = export_jobs.create_export(selection=EVERYTHING, export_format=ExportFormat.BIND, author=author, now=NOW)
        return {zone.name for zone in export_jobs.zones_of(job)}

    assert zones(alice) == set(estate)
    assert zones(give(mia, estate["a.test."])) == {"a.test."}
    read = frozenset({Right.READ})
    assert zones(token_actor(alice, Grant(read, zones=frozenset({estate["b.test."].pk})))) == {"b.test."}
    with pytest.raises(Forbidden, match="only see parts of zones"):
        zones(token_actor(alice, Grant(read, everywhere=True, types=frozenset({16}))))


@pytest.fixture
def mia_of_a_team(mia: User) -> User:
    team = Team.objects.create(name="Ours", created_at=NOW)
    Membership.objects.create(team=team, user=mia, role=Role.EDITOR)
    return User.objects.get(pk=mia.pk)


def test_an_import_takes_no_names_of_others(mia_of_a_team: User, estate: dict[str, Zone]) -> None:
    """Previously a member could import `www.a.test.` below the administrator's `a.test.`, and so take over names."""
    names = ("www.a.test.", "new.test.", "x.new.test.", "test.", "192.0.2.0/24.")
    job = import_of(mia_of_a_team, *names)
    assert outcome(job) == {
        "www.a.test.": Action.FAILED,
        "new.test.": Action.CREATE,
        "x.new.test.": Action.CREATE,
        "test.": Action.FAILED,
        "192.0.2.0/24.": Action.FAILED,
    }
    reasons = {fault.zone: fault.reason for fault in queries.faults_page(job, severity="error")}
    assert "below another team’s zone" in reasons["www.a.test."]
    assert "The zone test. isn’t allowed" in reasons["test."]
    assert "2.0.192.in-addr.arpa." in reasons["192.0.2.0/24."]
    assert set(Zone.objects.values_list("name", flat=True)) == {*estate, "new.test.", "x.new.test."}


def test_a_zone_that_stands_in_the_way_since_the_dry_run_leaves_the_other_waiting(mia_of_a_team: User) -> None:
    documents = [Document(path=n, text=zone_text(n, NEW).encode()) for n in ("www.a.test.", "b.test.")]
    job = import_jobs.create_of_documents(
        documents=documents, source=SourceKind.PASTE, title="test", author=mia_of_a_team, now=NOW
    )
    work_through(job)
    import_jobs.start_plan(job=job, now=NOW)
    work_through(job)
    assert set(outcome(job).values()) == {Action.CREATE}
    edit.create_zone(zone=edit.NewZone("a.test."), acting=Acting(None, "system", NOW))
    import_jobs.start_apply(job=job, author=job_rights.actor_of_job(job), now=NOW)
    work_through(job)
    assert outcome(job) == {"www.a.test.": Action.WAITING, "b.test.": Action.CREATE}
    import_jobs.replan_waiting(job=job, now=NOW)
    work_through(job)
    assert outcome(job)["www.a.test."] == Action.FAILED
