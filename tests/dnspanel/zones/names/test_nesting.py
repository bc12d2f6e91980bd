"""Zones below and above other zones: a team cannot take over names of another team's zone."""

from collections.abc import Callable
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import EVERY_RIGHT, RECORD_RIGHTS, Actor, Grant, Right, actor_of, actor_of_token
from dnspanel.accounts.models import GrantRow, Membership, Role, Team, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import keys_of
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import (
    NameOfOthers,
    NameRefused,
    NamesRefused,
    PublicSuffix,
    ReverseName,
    RuleViolations,
    SettingsRefused,
    SignedAtParent,
)
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.publishing import edit, ready_zones, revision
from dnspanel.zones.publishing.edit import NewZone
from dnspanel.zones.settings.settings_of_zone import change_settings
from dnspanel.zones.signing import sign
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.values import soa
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW, make_person

Create = Callable[..., Publication]


def member(name: str, team: Team, role: str = Role.EDITOR) -> User:
    person = make_person(name, Role.MEMBER)
    Membership.objects.create(team=team, user=person, role=role)
    return person


@pytest.fixture
def ours(db: None) -> Team:
    return Team.objects.create(name="Ours", created_at=NOW)


@pytest.fixture
def theirs(db: None) -> Team:
    return Team.objects.create(name="Theirs", created_at=NOW)


@pytest.fixture
def mia(ours: Team) -> User:
    """Return a person who is an editor in the team Ours."""
    return member("mia", ours)


@pytest.fixture
def beta(make_zone: MakeZone, theirs: Team) -> Zone:
    """Create a zone of the team Theirs, to which Mia doesn't belong."""
    zone = make_zone("www 300 A 192.0.2.1", "shop 300 A 192.0.2.2", name="beta.test.")
    Zone.objects.filter(pk=zone.pk).update(team=theirs)
    return zone


def create(author: User | Actor | None, *names: str, team: Team | None = None) -> Publication:
    zones = [NewZone(name) for name in names]
    return edit.create_zones(zones=zones, acting=Acting(author, Channel.WEB, NOW), team=team)


@pytest.mark.parametrize("name", ["www.beta.test.", "_acme-challenge.beta.test.", "a.b.c.beta.test."])
def test_nobody_takes_names_of_a_zone_of_others(mia: User, beta: Zone, name: str) -> None:
    with pytest.raises(NameOfOthers) as refused:
        create(mia, name)
    assert str(refused.value) == f"You can’t create the zone {name} below another team’s zone."
    assert Zone.objects.count() == 1


def test_nobody_stands_above_a_zone_of_others(mia: User, make_zone: MakeZone) -> None:
    make_zone(name="www.shop.beta.test.")
    for name in ("beta.test.", "shop.beta.test."):
        with pytest.raises(NameOfOthers, match="above another team’s zone"):
            create(mia, name)
    create(mia, "op.beta.test.")  # not below `shop`, only a similar ending
    create(mia, r"x\.shop.beta.test.")


def test_a_dot_within_a_label_makes_nothing_below(mia: User, theirs: Team, make_zone: MakeZone) -> None:
    # The labels are "a.beta", directly below test., and "a\", below gamma.test.
    for name in (r"a\.beta.test.", r"a\\.gamma.test."):
        zone = make_zone(name=name)
        Zone.objects.filter(pk=zone.pk).update(team=theirs)
    create(mia, "beta.test.")
    with pytest.raises(NameOfOthers):
        create(mia, "gamma.test.")


def test_the_zone_in_the_way_is_named_to_who_may_know_it(mia: User, beta: Zone, theirs: Team) -> None:
    Membership.objects.create(team=theirs, user=mia, role=Role.READER)
    with pytest.raises(NameOfOthers, match=r"because you aren’t allowed to change all"):
        create(User.objects.get(pk=mia.pk), "www.beta.test.", team=Team.objects.get(name="Ours"))


@pytest.mark.parametrize(
    ("grant", "may"),
    [
        (Grant(RECORD_RIGHTS | {Right.READ}, zones=frozenset({0})), True),
        (Grant(RECORD_RIGHTS | {Right.READ}, tags=frozenset({"blue"})), True),
        (Grant(EVERY_RIGHT, zones=frozenset({0}), names=("www",)), False),
        (Grant(EVERY_RIGHT - {Right.REMOVE}, zones=frozenset({0})), False),
        (Grant(frozenset({Right.CREATE_ZONE, Right.READ}), zones=frozenset({0})), False),
        (Grant(EVERY_RIGHT, tags=frozenset({"red"})), False),
    ],
)
def test_it_takes_the_right_to_change_every_record_of_the_other(mia: User, beta: Zone, grant: Grant, may: bool) -> None:
    Zone.objects.filter(pk=beta.pk).update(tags=["blue"])
    given = grant.to_json() | {"zones": [beta.pk] if grant.zones else []}
    GrantRow.objects.create(user=mia, grant=given, created_at=NOW)
    person = User.objects.get(pk=mia.pk)
    if may:
        create(person, "www.beta.test.")
    else:
        with pytest.raises(NameOfOthers):
            create(person, "www.beta.test.")


def test_a_token_takes_no_more_than_its_scope(alice: User, beta: Zone) -> None:
    grant = Grant(frozenset({Right.CREATE_ZONE, Right.READ}), everywhere=True)
    terms = TokenTerms(purpose="provisioning", scope=(grant,), expires_at=NOW + timedelta(days=1))
    actor = actor_of_token(create_token(owner=alice, terms=terms, by=alice, now=NOW).token)
    with pytest.raises(NameOfOthers):
        create(actor, "www.beta.test.")
    create(actor, "new.test.")
    create(alice, "www.beta.test.")


def test_the_closest_zone_above_decides(mia: User, beta: Zone, ours: Team, alice: User) -> None:
    create(alice, "dev.beta.test.", team=ours)  # delegated to Mia's team by an authorized person
    create(mia, "x.dev.beta.test.")
    with pytest.raises(NameOfOthers):
        create(mia, "y.beta.test.")


def test_who_comes_back_from_the_trash_needs_the_same(mia: User, make_zone: MakeZone, ours: Team, alice: User) -> None:
    create(mia, "beta.test.")
    mine = Zone.objects.get(name="beta.test.")
    edit.delete_zone(zone=mine, acting=Acting(mia, "web", NOW))
    theirs = make_zone(name="www.beta.test.")
    with pytest.raises(NameOfOthers, match="above another team’s zone"):
        edit.restore_zone(zone=mine, author=mia, channel="web", now=NOW)
    assert Zone.objects.filter(pk=mine.pk, deleted_at=None).count() == 0
    edit.delete_zone(zone=theirs, acting=Acting(alice, "web", NOW))
    edit.restore_zone(zone=mine, author=mia, channel="web", now=NOW)


def test_a_zone_between_others_does_not_change_hands(mia: User, beta: Zone, ours: Team, alice: User) -> None:
    create(alice, "dev.beta.test.", team=ours)
    dev = Zone.objects.get(name="dev.beta.test.")
    other = Team.objects.create(name="Third", created_at=NOW)
    Membership.objects.create(team=other, user=mia, role=Role.EDITOR)
    person = User.objects.get(pk=mia.pk)
    with pytest.raises(SettingsRefused, match="below another team’s zone") as refused:
        change_settings(zone=dev, tags=[], team=other, author=person, now=NOW)
    assert refused.value.field == "team"
    change_settings(zone=dev, tags=["blue"], team=ours, author=person, now=NOW)
    change_settings(zone=dev, tags=[], team=other, author=alice, now=NOW)


def test_of_many_new_zones_each_is_judged_and_none_is_in_the_way_of_another(mia: User, beta: Zone) -> None:
    with pytest.raises(NamesRefused) as refused:
        create(mia, "new.test.", "www.beta.test.", "x.new.test.", "mail.beta.test.")
    assert list(refused.value.refusals) == ["www.beta.test.", "mail.beta.test."]
    assert "One other name was also refused." in str(refused.value)
    create(mia, "x.new.test.", "new.test.", "a.x.new.test.")


@pytest.mark.parametrize("name", [".", "com.", "test.", "xn--p1ai.", "in-addr.arpa."])
def test_nobody_has_a_public_suffix(alice: User, name: str) -> None:
    for author in (alice, None):
        with pytest.raises(PublicSuffix, match="PANEL_REFUSED_SUFFIXES"):
            create(author, name)


def test_a_setting_says_which_suffixes_nobody_has(alice: User, settings: Any, tmp_path: Any) -> None:
    path = tmp_path / "list"
    path.write_text("co.test\n", encoding="utf-8")
    settings.PUBLIC_SUFFIX_LIST = str(path)
    settings.REFUSED_SUFFIXES = [".", "*", "!lan"]
    with pytest.raises(PublicSuffix):
        create(alice, "co.test.")
    create(alice, "lan.")
    create(alice, "a.co.test.")


def test_a_network_is_no_name_and_its_reverse_zones_are_named(alice: User) -> None:
    with pytest.raises(ReverseName, match=r"The reverse names for this network are in 2"):
        edit.create_zone(zone=edit.NewZone("192.0.2.0/24"), acting=Acting(alice, Channel.API, NOW))


def test_the_question_costs_two_queries_for_any_number_of_names(mia: User, beta: Zone) -> None:
    actor = actor_of(mia)
    for count in (1, 300):
        with CaptureQueriesContext(connection) as queries:
            assert nesting.refusals_by_others(zone_names=[f"a.b{n}.test." for n in range(count)], author=actor) == {}
        assert len(queries) == 2
    assert nesting.refusals_by_others(zone_names=["www.beta.test."], author=None) == {}


def test_zones_above_and_below_are_found_by_indexes(ours: Team, mia: User, alice: User) -> None:
    """Neither query reads the table: PostgreSQL visits only the zones on the path."""
    fill = """
        INSERT INTO zones_zone (name, sort_name, serial, revision, rrset_count, created_at, changed_at, sequence)
        SELECT made.name, made.name, 1, 1, 0, now(), now(), 0 FROM generate_series(1, 4000) n
        CROSS JOIN LATERAL (SELECT 'z' || n || '.estate' || n % 100 || '.test.') AS made (name)"""
    with connection.cursor() as cursor:
        cursor.execute(fill)
        cursor.execute("ANALYZE zones_zone")
    names = ["www.z7.estate7.test.", "estate8.test.", "new.test."]
    actor = actor_of(mia)
    with CaptureQueriesContext(connection) as queries:
        found = nesting.refusals_by_others(zone_names=names, author=actor)
    assert {name: refusal.side for name, refusal in found.items()} == {names[0]: "below", names[1]: "above"}
    with connection.cursor() as cursor:
        for query in queries.captured_queries[:2]:
            cursor.execute("EXPLAIN " + query["sql"])
            plan = "\n".join(row for (row,) in cursor.fetchall())
            assert "Seq Scan" not in plan
            assert "zone_name_backwards" in plan or "zone_name_unique_alive" in plan


@pytest.mark.django_db(transaction=True)
def test_of_two_who_create_at_the_same_time_the_second_sees_the_first(
    ours: Team, theirs: Team, mia: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One transaction creates the parent zone while another creates the child. Only a lock makes one visible."""
    nick = member("nick", theirs)
    began: list[str] = []
    outcomes: list[Exception | Publication] = []
    append = edit.append_publication

    def create_the_other(**how: Any) -> Publication:
        if not began:  # the first is checked, but not committed
            began.append("second")
            thread.start()
            _until_it_waits_or_ends(thread)
        return append(**how)

    def second() -> None:
        try:
            outcomes.append(create(nick, "www.race.test."))
        except NameRefused as refusal:
            outcomes.append(refusal)
        finally:
            connections.close_all()

    thread = Thread(target=second)
    monkeypatch.setattr(edit, "append_publication", create_the_other)
    create(mia, "race.test.")
    thread.join(timeout=30)
    assert [type(outcome) for outcome in outcomes] == [NameOfOthers]
    assert Zone.objects.get().name == "race.test."


def _until_it_waits_or_ends(thread: Thread) -> None:
    """Wait until a session waits for an advisory lock, or until the thread ends."""
    sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    while thread.is_alive():
        with connection.cursor() as cursor:
            cursor.execute(sql)
            if cursor.fetchone()[0]:
                return


def test_an_import_is_judged_as_a_form_is(mia: User, beta: Zone) -> None:
    ids = ready_zones.allocate_zone_ids(2)
    content = {
        name: [soa.default_soa(name, "ns1.test.", "h.test.", soa.NO_SERIAL)]
        for name in ("fine.test.", "www.beta.test.")
    }
    zones = [ready_zones.BulkZone(id, name, 1, 1) for id, name in zip(ids, content, strict=True)]
    rows = [store_rrsets.rows_of_zone(zone.id, zone.name, content[zone.name]) for zone in zones]
    with pytest.raises(NamesRefused) as refused:
        ready_zones.create_ready_zones(zones=zones, rows=lambda: rows, acting=Acting(mia, Channel.IMPORT, NOW))
    assert list(refused.value.refusals) == ["www.beta.test."]


def test_which_zone_answers_for_a_name(make_zone: MakeZone) -> None:
    for name in ("beta.test.", "www.beta.test.", "x.www.beta.test."):
        make_zone(name=name)
    names = ["beta.test.", "www.beta.test.", "a.www.beta.test.", "y.x.www.beta.test.", "shop.beta.test."]
    assert nesting.answering_zones({"beta.test.": names, "other.test.": ["www.other.test."]}) == {
        "beta.test.": {
            "www.beta.test.": "www.beta.test.",
            "a.www.beta.test.": "www.beta.test.",
            "y.x.www.beta.test.": "x.www.beta.test.",
        },
        "other.test.": {},
    }
    assert sorted(nesting.zones_below("beta.test.", 10)) == ["www.beta.test.", "x.www.beta.test."]
    assert len(nesting.zones_below(".", 2)) == 2


def test_what_a_zone_inside_answers_for_is_shadowed(make_zone: MakeZone) -> None:
    for name in ("www.beta.test.", "dev.beta.test.", "below.wwww.beta.test."):
        make_zone(name=name)
    dev = Zone.objects.get(name="dev.beta.test.")
    sign.sign(zones=[dev], acting=Acting(author=None, channel=Channel.WEB, now=NOW))
    zone = make_zone(
        "www 300 A 192.0.2.1", "a.www 300 TXT x", "dev 300 NS ns.dev | ns2.example.net.", "ns.dev 300 A 192.0.2.2",
        "dev 300 DS " + keys_of(dev)[0].ds[0], "dev 300 A 192.0.2.3", "ns.dev 300 TXT x", "wwww 300 A 192.0.2.1",
        name="beta.test.",
    )  # fmt: skip
    assert nesting.shadows_of(zone) == (
        {
            ("www.beta.test.", 1): "www.beta.test.",
            ("a.www.beta.test.", 16): "www.beta.test.",
            ("dev.beta.test.", 1): "dev.beta.test.",
            ("ns.dev.beta.test.", 16): "dev.beta.test.",
        },
        False,
    ), "NS, DS and glue belong to the zone above"
    assert nesting.shadows_of(Zone.objects.get(name="www.beta.test.")) == ({}, False)


def test_a_publication_says_what_of_it_is_answered_by_others(make_zone: MakeZone, bob: User) -> None:
    zone = make_zone("www 300 A 192.0.2.1", name="beta.test.")
    make_zone(name="www.beta.test.")
    for owner in ("www", "shop"):
        draft.replace_rrset(author=bob, zone=zone, rrset=rr(f"{owner} 60 A 192.0.2.7", origin=zone.name), now=NOW)
    with pytest.raises(RuleViolations, match=r"A www is never served because the zone www"):
        revision.publish(acting=Acting(bob, Channel.WEB, NOW))
    published = revision.publish(
        acting=Acting(bob, Channel.WEB, NOW), consent=revision.Consent(accept_warnings=["shadowed"])
    )
    with CaptureQueriesContext(connection) as queries:
        found = nesting.shadowed_by_publication(published.revisions.select_related("zone"))
    assert [(one.zone, one.name, one.type, one.by) for one in found] == [(zone, "www.beta.test.", 1, "www.beta.test.")]
    assert len(queries) <= 4
    created = Publication.objects.get(revisions__zone=zone, revisions__number=1)
    assert [one.by for one in nesting.shadowed_by_publication(created.revisions.all())] == ["www.beta.test."]


def test_a_zone_in_the_trash_is_in_nobodys_way(mia: User, beta: Zone, alice: User) -> None:
    edit.delete_zone(zone=beta, acting=Acting(alice, "web", NOW + timedelta(seconds=1)))
    create(mia, "www.beta.test.")


DS = "beta 3600 DS 1 13 2 " + "00" * 32


def test_a_zone_whose_parent_here_holds_a_ds_is_refused_by_whatever_way_it_comes(make_zone: MakeZone) -> None:
    """The panel would not sign such a zone, so validating resolvers would reject its answers."""
    beta = make_zone(name="beta.example.test.")
    edit.delete_zone(zone=beta, acting=Acting(None, Channel.WEB, NOW))
    make_zone("beta 3600 NS ns1.example.net.", DS, name="example.test.")
    with pytest.raises(SignedAtParent, match=r"Delete the DS from example\.test\. first"):
        make_zone(name="beta.example.test.")
    with pytest.raises(SignedAtParent):
        edit.restore_zone(zone=beta, author=None, channel=Channel.WEB, now=NOW)
    start = rr("@ 300 SOA ns1.example.net. hostmaster.example.net. 1 2 3 4 5", origin="beta.example.test.")
    rows = store_rrsets.rows_of_zone(7, "beta.example.test.", [start])
    with pytest.raises(NamesRefused, match="has a DS"):
        ready_zones.create_ready_zones(
            zones=[ready_zones.BulkZone(7, "beta.example.test.", 1, 1)],
            rows=lambda: [rows],
            acting=Acting(None, Channel.IMPORT, NOW),
        )
    make_zone(name="alpha.example.test.")
    above = nesting.ds_above(["beta.example.test.", "alpha.example.test.", "else.test."])
    assert {name: found.zone_name for name, found in above.items()} == {"beta.example.test.": "example.test."}
