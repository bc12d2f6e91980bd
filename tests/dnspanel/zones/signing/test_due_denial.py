"""The change of an NSEC3 chain by a process that is killed halfway."""

import os
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connections

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.log import panel_reasons, signing_log
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.publishing import failed
from dnspanel.zones.signing import due_denial, sign
from dnspanel.zones.tasks import resume_denial
from replication.codec.dnssec import Nsec3
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW
from tests.people import alice as alice

pytestmark = pytest.mark.django_db(transaction=True)

OLD, NEW = Nsec3(), Nsec3(5, b"salt", opt_out=True)
LATER = NOW + due_denial.DUE_AFTER


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    zone = make_zone()
    sign.sign(zones=[zone], acting=Acting(None, Channel.SYSTEM, NOW), nsec3=OLD)
    return zone


def die_half_way(act: Callable[[], object]) -> None:
    """Run the act in a child process, and kill it at the start of its second publication."""
    if (child := os.fork()) == 0:
        try:
            inherited = [(each, each.connection) for each in connections.all()]
            for each, _ in inherited:
                each.connection = None  # it is the parent's connection, which the parent still uses
            real, count = signing_log._Step.__init__, [0]

            def counted(self: signing_log._Step, *args: object) -> None:
                count[0] += 1
                if count[0] == 2:
                    os.kill(os.getpid(), 9)
                real(self, *args)  # type: ignore[arg-type]

            signing_log._Step.__init__ = counted  # type: ignore[method-assign]
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)


def publications() -> list[Publication]:
    return list(Publication.objects.order_by("sequence"))


def test_what_died_half_way_to_another_chain_is_carried_out(zone: Zone, alice: User) -> None:
    """Previously the zone kept NSEC, and the requested chain was lost."""
    before = len(publications())
    die_half_way(lambda: sign.set_denial(zone=zone, nsec3=NEW, acting=Acting(alice, Channel.WEB, NOW)))
    state = queries.signing_of(zone)
    assert (state.denial, state.due_nsec3, len(publications())) == (None, NEW, before + 1)
    assert SigningState.from_json(state.to_json()) == state
    assert due_denial.carry_out_due(now=LATER - timedelta(seconds=1)) == 0
    assert due_denial.carry_out_due(now=LATER) == 1
    assert due_denial.carry_out_due(now=LATER) == 0
    assert (queries.signing_of(zone).denial, queries.signing_of(zone).due_nsec3) == (NEW, None)
    *_, first, second = publications()
    assert (first.author, second.author, second.channel) == (alice, None, Channel.SYSTEM)
    assert second.reason == panel_reasons.DUE_DENIAL
    assert queries.descriptions_of_changes(zone, [3, 4]) == {
        3: ["NSEC3 off, changing to NSEC3 with opt-out, 5 iterations, salt 73616c74"],
        4: ["NSEC3 on with opt-out, 5 iterations, salt 73616c74"],
    }


def test_other_changes_leave_what_is_due_and_another_choice_ends_it(zone: Zone, alice: User) -> None:
    acting = Acting(alice, Channel.WEB, NOW)
    die_half_way(lambda: sign.set_denial(zone=zone, nsec3=NEW, acting=acting))
    sign.set_cds(zone=zone, cds="2", acting=acting)
    assert queries.signing_of(zone).due_nsec3 == NEW
    sign.set_denial(zone=zone, nsec3=None, acting=acting)
    assert queries.signing_of(zone).due_nsec3 is None
    assert due_denial.carry_out_due(now=LATER) == 0
    assert queries.signing_of(zone).denial is None


def test_without_a_death_nothing_is_due(zone: Zone, alice: User) -> None:
    sign.set_denial(zone=zone, nsec3=NEW, acting=Acting(alice, Channel.WEB, NOW))
    assert queries.signing_of(zone).due_nsec3 is None
    resume_denial()
    assert len(publications()) == 4


def test_taking_back_that_dies_half_way_goes_on_too(zone: Zone, alice: User) -> None:
    acting = Acting(alice, Channel.WEB, NOW)
    sign.set_denial(zone=zone, nsec3=NEW, acting=acting)
    first, last = (each.sequence for each in publications()[-2:])

    def take_back(after: int) -> None:
        failed.take_back_signing(
            zone=zone, after=after, up_to=last, reason="x", now=NOW, in_transaction=lambda *_: None
        )

    die_half_way(lambda: take_back(first - 1))
    assert (queries.signing_of(zone).denial, queries.signing_of(zone).due_nsec3) == (None, OLD)
    due_denial.carry_out_due(now=LATER)
    assert queries.signing_of(zone).denial == OLD


def test_a_second_half_that_is_taken_back_is_not_due_again(zone: Zone, alice: User) -> None:
    """If ring 0 refuses the second half, it is not due again, because it would be refused forever."""
    sign.set_denial(zone=zone, nsec3=NEW, acting=Acting(alice, Channel.WEB, NOW))
    first, last = (each.sequence for each in publications()[-2:])
    failed.take_back_signing(
        zone=zone, after=first, up_to=last, reason="it does not validate", now=NOW, in_transaction=lambda *_: None
    )
    assert (queries.signing_of(zone).denial, queries.signing_of(zone).due_nsec3) == (None, None)
    assert due_denial.carry_out_due(now=LATER) == 0
