"""Tests of the list of secondaries that lack a publication, by their DNS answers."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.secondaries import members
from dnspanel.secondaries.arrival import Lacking, secondaries_before, secondaries_lacking
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Publication, Revision, Zone
from dnspanel.zones.publishing import edit
from tests.dnspanel.secondaries.conftest import MakeSecondary
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


def newest() -> Publication:
    return Publication.objects.latest("sequence")


def test_one_lacks_it_until_it_answers_with_its_serial_or_a_newer_one(
    make_zone: MakeZone, make_secondary: MakeSecondary, alice: User
) -> None:
    make_secondary("first")
    make_secondary("second", choice="tag", tag="shop")
    zone = make_zone()
    assert [one.text for one in secondaries_lacking(newest())] == [
        "first will be notified soon",
        "second will be notified soon",
    ]
    members.note_publications(now=NOW)
    assert secondaries_lacking(newest()) == [Lacking("first", 1, zone.name)], "the other one does not get the zone"
    serial = Revision.objects.get(publication=newest()).serial
    for served, lacks in ((serial - 1, True), (serial + 2**31, True), (serial, False), (serial + 7, False)):
        Member.objects.update(served_serial=served % 2**32)
        assert bool(secondaries_lacking(newest())) is lacks, served
    Member.objects.update(served_serial=None)
    Secondary.objects.filter(name="first").update(active=False)
    assert secondaries_lacking(newest()) == []


def test_of_several_zones_the_first_is_named_and_a_deleted_one_is_nothing_that_it_lacks(
    make_zone: MakeZone, make_secondary: MakeSecondary, alice: User
) -> None:
    zones = [make_zone(name=name) for name in ("a.test.", "b.test.")]
    make_secondary("partner")
    Revision.objects.filter(zone__in=zones).update(publication=newest())
    assert [one.text for one in secondaries_lacking(newest())] == ["partner is still behind on a.test. and 1 more"]
    edit.delete_zone(zone=Zone.objects.get(name="a.test."), acting=Acting(alice, Channel.WEB, NOW))
    members.note_publications(now=NOW)
    assert secondaries_lacking(newest()) == []


def test_what_a_rollover_waits_for_is_the_serial_of_its_step_or_one_that_the_zone_has_had_since(
    make_zone: MakeZone, make_secondary: MakeSecondary
) -> None:
    zone = make_zone()
    make_secondary("knot", kind="knot")
    make_secondary("off", active=False)
    make_secondary("other", choice="tag", tag="shop")
    step = Revision.objects.get(publication=newest())
    unaware = {"knot": "knot will be notified soon", "other": "other will be notified soon"}
    Secondary.objects.update(noted=0)
    assert secondaries_before({zone.pk: step}) == {zone.pk: unaware}
    members.note_publications(now=NOW)
    unknown = {"knot": "knot (Knot DNS) hasn’t answered for the zone yet"}
    assert secondaries_before({zone.pk: step}) == {zone.pk: unknown}
    Zone.objects.update(serial=step.serial + 5)
    for served, answers in ((-1, False), (0, True), (5, True), (6, False), (2**31, False)):
        Member.objects.update(served_serial=(step.serial + served) % 2**32)
        assert (secondaries_before({zone.pk: step}) == {}) is answers, served
    Zone.objects.update(serial=3)
    step.serial = 2**32 - 2
    for serial, answers in ((2**32 - 3, False), (2**32 - 2, True), (1, True), (3, True), (4, False)):
        Member.objects.update(served_serial=serial, question_error="The node isn’t responding.")
        assert (secondaries_before({zone.pk: step}) == {}) is answers, serial
    [[reason]] = [found.values() for found in secondaries_before({zone.pk: step}).values()]
    assert reason == "knot (Knot DNS) isn’t responding and last had serial 4 instead of 4294967294"
    # Now another member of the same server counts for the zone.
    Member.objects.update(coo="catalog-9.secondaries.dnspanel.")
    assert secondaries_before({zone.pk: step}) == {}
    assert secondaries_before({}) == {}
