"""Changes without a draft: decided under the lock, all or nothing, and limited by the author's rights."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest
from django.db import connection

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Actor, Grant, Right
from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import GuardHolds, RevisionMoved, RightMissing, RuleViolations, Unknown
from dnspanel.zones.models import Change, Channel, Publication, RRset, Zone
from dnspanel.zones.plan.merge import Changes
from dnspanel.zones.publishing import edit, zone_patches
from dnspanel.zones.publishing.zone_patches import (
    Patch,
    Step,
    add_records,
    patch_of_steps,
    publish_patches,
    remove_rrset,
    replace_with,
    without,
)
from dnspanel.zones.store.store_rrsets import rrsets_of_zones
from replication.dns import rdtypes
from tests.dnspanel.zones.conftest import MakeZone, rr, token_actor
from tests.people import NOW

A, TXT, MX = rdtypes.A, rdtypes.TXT, rdtypes.MX
WWW = "www.example.test."
CHALLENGE = "_acme-challenge.example.test."


def publish(
    *patches: Patch,
    author: User | Actor | None = None,
    reason: str = "",
    form_id: UUID | None = None,
    **facts: object,
) -> zone_patches.Outcome:
    acting = Acting(author, Channel.API, NOW, reason, form_id)
    return publish_patches(patches=patches, acting=acting, **facts)  # type: ignore[arg-type]


def rdata_at(zone: Zone, name: str, type: int) -> list[str]:
    found = RRset.objects.filter(zone=zone, name=name, type=type).first()
    return found.rdata if found else []


def test_steps_become_one_revision_with_the_token_as_author(bob: User, zone: Zone) -> None:
    actor = token_actor(bob, Grant(EVERY_RIGHT, everywhere=True))
    steps: list[tuple[tuple[str, int], Step]] = [
        ((WWW, A), replace_with(rr("www 60 A 192.0.2.7"))),
        (("mail.example.test.", A), add_records(rr("mail 60 A 192.0.2.10"))),
        (("example.test.", MX), remove_rrset),
        (("new.example.test.", TXT), add_records(rr('new 60 TXT "x"'))),
    ]
    outcome = publish(patch_of_steps(zone, steps), author=actor, reason="CI")
    stored = Publication.objects.get(pk=outcome.publication.pk if outcome.publication else 0)
    assert (stored.author, stored.token, stored.channel, stored.reason) == (bob, actor.token, Channel.API, "CI")
    zone.refresh_from_db()
    assert zone.revision == 2
    assert rdata_at(zone, WWW, A) == ["192.0.2.7"]
    assert rdata_at(zone, "mail.example.test.", A) == ["192.0.2.9", "192.0.2.10"]
    assert rdata_at(zone, "example.test.", MX) == []
    assert rdata_at(zone, "new.example.test.", TXT) == ['"x"']
    assert [(p.added, p.changed, p.removed) for p in outcome.plans] == [(1, 2, 1)]


def test_extending_keeps_ttl_and_comment_and_taking_away_the_last_record_removes_the_rrset(
    make_zone: MakeZone,
) -> None:
    zone = make_zone()
    first = rr('_acme-challenge 60 TXT "a"', comment="theirs")
    publish(patch_of_steps(zone, [((CHALLENGE, TXT), replace_with(first))]))
    publish(patch_of_steps(zone, [((CHALLENGE, TXT), add_records(rr('_acme-challenge 999 TXT "b"')))]))
    stored = RRset.objects.get(zone=zone, name=CHALLENGE)
    assert (stored.ttl, stored.comment, stored.rdata) == (60, "theirs", ['"a"', '"b"'])
    publish(patch_of_steps(zone, [((CHALLENGE, TXT), without({'"b"'}))]))
    assert rdata_at(zone, CHALLENGE, TXT) == ['"a"']
    publish(patch_of_steps(zone, [((CHALLENGE, TXT), without({'"a"', '"never there"'}))]))
    assert rdata_at(zone, CHALLENGE, TXT) == []


def test_a_disabled_record_stays_disabled_beside_a_new_one(make_zone: MakeZone) -> None:
    zone = make_zone()
    off = rr("www 60 A 192.0.2.1 | 192.0.2.2", disabled=("192.0.2.2",))
    publish(patch_of_steps(zone, [((WWW, A), replace_with(off))]))
    publish(patch_of_steps(zone, [((WWW, A), add_records(rr("www 60 A 192.0.2.2 | 192.0.2.3")))]))
    assert RRset.objects.get(zone=zone, name=WWW).disabled == ["192.0.2.2"]
    publish(patch_of_steps(zone, [((WWW, A), without({"192.0.2.2"}))]))
    assert RRset.objects.get(zone=zone, name=WWW).disabled == []


def test_steps_on_one_rrset_build_on_each_other(zone: Zone) -> None:
    key = (WWW, A)
    publish(patch_of_steps(zone, [(key, remove_rrset), (key, add_records(rr("www 60 A 192.0.2.50")))]))
    assert rdata_at(zone, WWW, A) == ["192.0.2.50"]


def test_what_is_so_already_publishes_nothing(zone: Zone) -> None:
    outcome = publish(patch_of_steps(zone, [((WWW, A), add_records(rr("www 300 A 192.0.2.1")))]))
    assert outcome.publication is None
    zone.refresh_from_db()
    assert zone.revision == 1


def test_many_zones_are_one_publication_or_none(make_zone: MakeZone) -> None:
    one, two = make_zone(name="one.test."), make_zone(name="two.test.")

    def patch(zone: Zone, line: str) -> Patch:
        rrset = rr(line, origin=zone.name)
        return patch_of_steps(zone, [((rrset.name, rrset.type), replace_with(rrset))])

    before = Publication.objects.count()
    with pytest.raises(RuleViolations):
        publish(patch(one, "www 60 A 192.0.2.1"), patch(two, "@ 60 CNAME www"))
    assert Publication.objects.count() == before
    assert rdata_at(one, "www.one.test.", A) == []
    publish(patch(one, "www 60 A 192.0.2.1"), patch(two, "www 60 A 192.0.2.2"))
    assert Publication.objects.count() == before + 1
    with pytest.raises(ValueError, match="two patches"):
        publish(patch(one, "www 60 A 192.0.2.1"), patch(one, "www 60 A 192.0.2.1"))


def test_a_wish_may_look_at_the_whole_zone_or_at_names_and_refuse(zone: Zone) -> None:
    seen: list[zone_patches.CurrentRRsets] = []

    def look(current: zone_patches.CurrentRRsets) -> Changes:
        seen.append(current)
        return {}

    publish(Patch(zone, look, None))
    publish(Patch(zone, look, {WWW}))
    assert seen == [rrsets_of_zones([zone.pk])[zone.pk], {(WWW, A): rr("www 300 A 192.0.2.1 | 192.0.2.2")}]

    def refuse(current: zone_patches.CurrentRRsets) -> Changes:
        raise Unknown("prerequisite")

    with pytest.raises(Unknown, match="prerequisite"):
        publish(Patch(zone, refuse, {WWW}))


def test_a_zone_that_moved_on_or_is_gone_refuses(zone: Zone) -> None:
    step = [((WWW, A), remove_rrset)]
    with pytest.raises(RevisionMoved, match="already at revision 1, not 7"):
        publish(patch_of_steps(zone, step, at_revision=7))
    edit.delete_zone(zone=zone, acting=Acting(None, Channel.WEB, NOW), at_revision=1)
    with pytest.raises(Unknown):
        publish(patch_of_steps(zone, step))


def test_a_large_deletion_waits_for_confirmation_where_it_is_asked_for(make_zone: MakeZone) -> None:
    zone = make_zone(*(f"h{n} 60 A 192.0.2.{n}" for n in range(1, 31)))
    patch = patch_of_steps(zone, [((f"h{n}.example.test.", A), remove_rrset) for n in range(1, 21)])
    with pytest.raises(GuardHolds):
        publish(patch, confirmed=False)
    assert publish(patch).publication is not None


def test_the_same_form_publishes_once(zone: Zone) -> None:
    form = uuid4()
    patch = patch_of_steps(zone, [((WWW, A), add_records(rr("www 60 A 192.0.2.60")))])
    first = publish(patch, form_id=form).publication
    other = patch_of_steps(zone, [((WWW, A), add_records(rr("www 60 A 192.0.2.61")))])
    assert publish(other, form_id=form).publication == first
    assert "192.0.2.61" not in rdata_at(zone, WWW, A)


def test_nothing_is_written_by_a_preview(zone: Zone) -> None:
    (plan,) = zone_patches.preview_patches(patches=[patch_of_steps(zone, [((WWW, A), remove_rrset)])], author=None)
    assert plan.removed == 1
    assert rdata_at(zone, WWW, A)


@pytest.mark.parametrize(
    ("line", "right"),
    [("_acme-challenge 60 A 192.0.2.1", "add"), ('www 60 TXT "x"', "add"), ("www 60 A 192.0.2.99", "change")],
)
def test_a_narrow_token_changes_only_what_its_scope_names(bob: User, zone: Zone, line: str, right: str) -> None:
    acme = Grant(EVERY_RIGHT, zones=frozenset({zone.pk}), names=("_acme-challenge",), types=frozenset({TXT}))
    actor = token_actor(bob, acme)
    good, bad = rr('_acme-challenge 60 TXT "x"'), rr(line)
    publish(patch_of_steps(zone, [((good.name, TXT), replace_with(good))]), author=actor)
    with pytest.raises(RightMissing, match=f"You don’t have permission to {right} .* in example.test"):
        publish(patch_of_steps(zone, [((bad.name, bad.type), replace_with(bad))]), author=actor)


def test_each_operation_needs_its_right(bob: User, zone: Zone) -> None:
    def attempt(right: Right, key: tuple[str, int], step: Step) -> bool:
        actor = token_actor(bob, Grant(frozenset({Right.READ, right}), everywhere=True))
        try:
            return publish(patch_of_steps(zone, [(key, step)]), author=actor).publication is not None
        except RightMissing:
            return False

    add = ("new.example.test.", A), replace_with(rr("new 60 A 192.0.2.1"))
    change = (WWW, A), replace_with(rr("www 60 A 192.0.2.1"))
    remove: tuple[tuple[str, int], Callable[..., None]] = (("mail.example.test.", A), remove_rrset)
    for right, key, step in ((Right.CHANGE, *add), (Right.ADD, *change), (Right.CHANGE, *remove)):
        assert not attempt(right, key, step)
    for right, key, step in ((Right.ADD, *add), (Right.CHANGE, *change), (Right.REMOVE, *remove)):
        assert attempt(right, key, step)


@pytest.mark.django_db(transaction=True)
def test_writers_at_the_same_moment_lose_nothing(zone: Zone) -> None:
    def add(number: int) -> None:
        try:
            publish(patch_of_steps(zone, [((WWW, A), add_records(rr(f"www 60 A 198.51.100.{number}")))]))
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(1, 21)))
    assert len(rdata_at(zone, WWW, A)) == 22
    zone.refresh_from_db()
    assert zone.revision == 21
    assert Change.objects.filter(revision__zone=zone, name=WWW).count() == 20
