"""Quotas for new zones, RRsets and operations. Two simultaneous requests cannot exceed them together."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import GrantRow, Membership, Team, User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quota_edit import set_quotas
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import QuotaExceeded
from dnspanel.zones.models import Channel, Operation, Zone
from dnspanel.zones.plan import zone_quotas
from dnspanel.zones.publishing import bulk, edit, ready_zones, revision, zone_patches
from dnspanel.zones.settings.settings_of_zone import change_settings
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def team(db: None) -> Team:
    return Team.objects.create(name="Alpha", created_at=NOW)


@pytest.fixture
def carol(team: Team) -> User:
    """Return a person whose only right is to create zones as an editor of the team Alpha."""
    carol = make_person("carol", "member")
    Membership.objects.create(team=team, user=carol, role="editor")
    return carol


def create(name: str, author: User, *lines: str, team: Team | None = None) -> Zone:
    rrsets = [rr(line, origin=name) for line in lines]
    edit.create_zone(zone=edit.NewZone(name, rrsets), acting=Acting(author, Channel.API, NOW), team=team)
    return Zone.objects.get(name=name, deleted_at=None)


def give(of: User | Team, **amounts: int) -> None:
    set_quotas(of=of, quotas={Kind[kind.upper()]: amount for kind, amount in amounts.items()}, by=None, now=NOW)


def replace(zone: Zone, author: User, *lines: str) -> None:
    rrsets = [rr(line, origin=zone.name) for line in lines]
    steps = [((rrset.name, rrset.type), zone_patches.replace_with(rrset)) for rrset in rrsets]
    zone_patches.publish_patches(
        patches=[zone_patches.patch_of_steps(zone, steps)], acting=Acting(author, Channel.API, NOW)
    )


def test_a_zone_beyond_the_quota_is_refused_by_every_verb_that_adds_one(alice: User) -> None:
    give(alice, zones=2)
    first = create("a.test.", alice)
    create("b.test.", alice)
    with pytest.raises(QuotaExceeded) as refused:
        create("c.test.", alice)
    assert str(refused.value) == (
        "Quota exceeded: limit 2 zones, used 2, requested 1. An administrator can raise your limit."
    )
    with pytest.raises(QuotaExceeded):
        edit.create_zones(zones=[edit.NewZone("c.test.")], acting=Acting(alice, Channel.WEB, NOW))
    with pytest.raises(QuotaExceeded):
        ready_zones.create_ready_zones(
            zones=[ready_zones.BulkZone(ready_zones.allocate_zone_ids(1)[0], "c.test.", 1, 0)],
            rows=list,
            acting=Acting(alice, Channel.IMPORT, NOW),
        )
    edit.delete_zone(zone=first, acting=Acting(alice, Channel.API, NOW))
    create("c.test.", alice)
    with pytest.raises(QuotaExceeded):
        edit.restore_zone(zone=first, author=alice, channel=Channel.WEB, now=NOW)
    create("d.test.", make_person("bob", "editor"))  # editors of all zones have no quota


def test_who_creates_and_deletes_in_turns_does_not_fill_the_disk(alice: User) -> None:
    give(alice, zones=2)
    for number in range(4):
        zone = create(f"z{number}.test.", alice)
        edit.delete_zone(zone=zone, acting=Acting(alice, Channel.API, NOW))
    with pytest.raises(QuotaExceeded):
        create("z5.test.", alice)


def test_the_zones_of_a_team_count_whoever_creates_them(team: Team, carol: User, alice: User) -> None:
    give(team, zones=1)
    assert zone_quotas.zones_left(team) == 1
    create("a.test.", alice, team=team)
    assert zone_quotas.zones_left(team) == 0
    with pytest.raises(QuotaExceeded, match="Quota for team Alpha exceeded: limit 1 zone, used 1"):
        create("b.test.", carol)
    lone = create("b.test.", alice)
    with pytest.raises(QuotaExceeded, match="team Alpha"):
        change_settings(zone=lone, tags=[], team=team, author=alice, now=NOW)
    team.quotas = {Kind.ZONES: None}
    assert zone_quotas.zones_left(team) is None


def test_two_requests_at_once_do_not_pass_together(carol: User) -> None:
    give(carol, zones=1)
    begin = Barrier(4)

    def one(name: str) -> bool:
        begin.wait()
        try:
            create(name, User.objects.get(pk=carol.pk))
            return True
        except QuotaExceeded:
            return False
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(one, ["a.test.", "b.test.", "c.test.", "d.test."]))
    assert made.count(True) == 1
    assert Zone.objects.count() == 1


def test_a_zone_grows_to_its_quota_and_can_always_be_changed_and_emptied(alice: User) -> None:
    zone = create("a.test.", alice, "www 300 A 192.0.2.1")  # three with SOA and NS
    give(alice, rrsets=4)
    replace(zone, alice, "mail 300 A 192.0.2.2")
    with pytest.raises(QuotaExceeded) as refused:
        replace(zone, alice, "ftp 300 A 192.0.2.2")
    assert str(refused.value).startswith("a.test.: Quota exceeded: limit 4 RRsets per zone, used 4, requested 1.")
    give(alice, rrsets=1)
    replace(zone, alice, "mail 300 A 192.0.2.9")
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("ftp 300 A 192.0.2.2", origin=zone.name), now=NOW)
    with pytest.raises(QuotaExceeded):
        revision.publish(acting=Acting(alice, Channel.WEB, NOW), consent=revision.Consent(accept_warnings=True))
    assert Operation.objects.count() == 1  # the draft loses nothing
    with pytest.raises(QuotaExceeded, match=r"b\.test\.: Quota exceeded: limit 1 RRset per zone, used 0"):
        create("b.test.", alice)


def test_the_size_of_a_teams_zone_is_the_teams(team: Team, carol: User, alice: User) -> None:
    zone = create("a.test.", carol)
    give(team, rrsets=2)
    for author in (User.objects.get(pk=carol.pk), alice):
        with pytest.raises(QuotaExceeded, match="Quota for team Alpha exceeded: limit 2 RRsets per zone"):
            replace(zone, author, "www 300 A 192.0.2.1")
    changes = {("www.a.test.", 1): rr("www 300 A 192.0.2.1", origin=zone.name)}
    with pytest.raises(QuotaExceeded):
        bulk.change_zones(changes=[bulk.ZoneChange(zone.pk, 1, changes)], acting=Acting(alice, Channel.IMPORT, NOW))


def test_a_full_draft_takes_no_more_but_can_be_changed(zone: Zone, alice: User) -> None:
    give(alice, operations=2)
    for name in ("a", "b"):
        draft.replace_rrset(author=alice, zone=zone, rrset=rr(f"{name} 300 A 192.0.2.1"), now=NOW)
    with pytest.raises(QuotaExceeded) as refused:
        draft.replace_rrset(author=alice, zone=zone, rrset=rr("c 300 A 192.0.2.1"), now=NOW)
    assert str(refused.value) == (
        "Quota exceeded: limit 2 changes per draft, used 2, requested 1. An administrator can raise your limit. "
        "Publish or discard part of the draft first."
    )
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("b 60 A 192.0.2.1"), now=NOW)
    draft.drop_operation(author=alice, zone=zone, name="a.example.test.", type=1)
    draft.delete_rrset(author=alice, zone=zone, name="www.example.test.", type=1, now=NOW)


def test_an_edit_asks_for_quotas_only_where_a_zone_grows(alice: User, team: Team, settings: Any) -> None:
    zone = create("a.test.", alice, "www 300 A 192.0.2.1", team=team)
    give(team, rrsets=100)

    def queries(*lines: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            replace(zone, alice, *lines)
        return len(captured)

    assert queries("mail 300 A 192.0.2.1") == queries("www 300 A 192.0.2.2") + 1  # the team's row, by id


def test_a_grant_over_everything_leaves_a_members_quota(team: Team) -> None:
    dan = make_person("dan", "member")
    GrantRow.objects.create(user=dan, grant=Grant(EVERY_RIGHT, everywhere=True).to_json(), created_at=NOW)
    give(dan, zones=1)
    create("a.test.", dan)
    with pytest.raises(QuotaExceeded):
        create("b.test.", dan)
