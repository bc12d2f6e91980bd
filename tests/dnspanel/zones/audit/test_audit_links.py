"""The chain behind the audit log: built from commits in any order, and the changes that its check detects.

Tests `audit.audit_contents` and `audit.audit_verify` too.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from threading import Event, Thread
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.advisory_locks import Lock, take
from dnspanel.zones.acting import Acting
from dnspanel.zones.audit import audit_links
from dnspanel.zones.audit.audit_verify import Anchor, verify_chain
from dnspanel.zones.errors import Forbidden
from dnspanel.zones.models import AuditChain, AuditLink, Change, Channel, Publication, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.settings.settings_of_zone import change_settings
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def own_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore the transactions of parallel tests, because a snapshot includes all databases of the cluster."""

    def of_this_database() -> tuple[int, int]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT min(backend_xid::text::bigint), pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
                " FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()"
            )
            oldest, newest = cursor.fetchone()
        return oldest or newest, newest

    monkeypatch.setattr(audit_links, "_transactions", of_this_database)


@pytest.fixture
def eventful(make_zone: MakeZone, alice: User) -> Zone:
    """Record an audit entry, create a zone and change it, link all four acts, and return the zone."""
    audit.record(action="team.create", by=alice, now=NOW, target="Ours")
    zone = make_zone("www 300 A 192.0.2.1")
    rrset = rr("www 60 A 192.0.2.2")
    change_rrsets(zone=zone, changes={(rrset.name, rrset.type): rrset}, author=alice, channel="web", now=NOW)
    change_settings(zone=zone, tags=["shop"], team=None, author=alice, now=NOW)
    assert audit_links.link_new_acts() == 4
    return zone


def acts() -> list[tuple[int, str, int]]:
    return list(AuditLink.objects.order_by("number").values_list("number", "kind", "ref"))


@pytest.mark.usefixtures("eventful")
def test_every_act_gets_one_place_without_gaps_and_the_chain_holds() -> None:
    assert [number for number, _, _ in acts()] == [1, 2, 3, 4]
    assert audit_links.link_new_acts() == 0
    verdict = verify_chain()
    assert (verdict.linked, verdict.waiting, verdict.faults) == (4, 0, ())
    assert verdict.hash == bytes(AuditLink.objects.get(number=4).chain).hex()


def _late_change() -> None:
    Change.objects.filter(name__startswith="www").update(after={"ttl": 1, "rdata": ["192.0.2.66"]})


def _remade_chain() -> None:
    AuditEntry.objects.filter(action="team.create").update(target="Theirs")
    AuditLink.objects.all().delete()
    AuditChain.objects.all().delete()
    audit_links.link_new_acts()


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (lambda: AuditEntry.objects.filter(action="team.create").update(target="Theirs"), "entry .* was changed"),
        (lambda: AuditEntry.objects.filter(action="team.create").delete(), "entry .* is missing"),
        (lambda: Publication.objects.order_by("-pk")[:1].get().delete(), "publication .* is missing"),
        (lambda: Publication.objects.update(request_id="other"), "publication .* was changed"),
        (_late_change, "publication .* was changed in these zones"),
        (lambda: AuditLink.objects.filter(number=3).delete(), "numbers 3 to 3 are missing from the chain"),
        (lambda: AuditLink.objects.filter(number=2).update(content=b"x" * 32), "number 2 doesn’t match the previous"),
        (lambda: AuditLink.objects.filter(number=4).delete(), "a saved hash|outside the chain"),
        (_remade_chain, "the saved hash for number 4 is different"),
    ],
)
def test_whatever_is_changed_later_shows(eventful: Zone, tamper: Callable[[], Any], message: str) -> None:
    kept = Anchor(4, bytes(AuditLink.objects.get(number=4).chain))
    assert verify_chain([kept]).faults == ()
    tamper()
    verdict = verify_chain([kept])
    assert verdict.faults
    assert any(re.search(message, fault) for fault in verdict.faults), verdict.faults


def test_a_zone_that_is_gone_for_good_takes_nothing_out_of_the_chain(eventful: Zone, alice: User) -> None:
    """The trash is emptied after 30 days, which also deletes the zone's revisions."""
    edit.delete_zone(zone=eventful, acting=Acting(alice, Channel.WEB, NOW))
    audit_links.link_new_acts()
    edit.empty_trash(now=NOW + timedelta(days=40))
    assert not Change.objects.exists()
    assert verify_chain().faults == ()


def test_an_entry_that_commits_late_is_linked_though_later_ones_are(alice: User) -> None:
    """Ids are assigned before the commit, so a reader that continues after the highest id would skip a late entry."""
    began, end = Event(), Event()

    def late() -> None:
        try:
            with transaction.atomic():
                audit.record(action="team.create", by=None, now=NOW, target="late")
                began.set()
                assert end.wait(30)
        finally:
            connections.close_all()

    writer = Thread(target=late)
    writer.start()
    assert began.wait(30)
    for turn in range(3):
        audit.record(action="team.create", by=alice, now=NOW, target=f"meanwhile {turn}")
        assert audit_links.link_new_acts() == 1
    late_id = AuditEntry.objects.earliest("pk").pk - 1
    assert AuditChain.objects.get().floor < late_id, "its transaction is under way"
    end.set()
    writer.join()
    assert audit_links.link_new_acts() == 1
    assert [ref for _, _, ref in acts()][-1] == late_id
    for _ in range(2):  # the first turn records how far it may link, the next one links
        audit_links.link_new_acts()
    assert AuditChain.objects.get().floor == AuditEntry.objects.latest("pk").pk
    assert verify_chain().faults == ()


def test_an_entry_that_is_slipped_in_behind_the_chain_shows(eventful: Zone) -> None:
    for _ in range(2):
        audit_links.link_new_acts()
    AuditEntry.objects.create(pk=AuditEntry.objects.earliest("pk").pk - 1000, at=NOW, action="person.role")
    audit_links.link_new_acts()
    assert any("was added outside the chain" in fault for fault in verify_chain().faults)


def test_clocks_do_not_let_a_publication_overtake_an_earlier_one(make_zone: MakeZone, monkeypatch: Any) -> None:
    zones = [make_zone(name=f"z{number}.test.") for number in range(4)]
    for number, sequence in enumerate(Publication.objects.order_by("sequence").values_list("sequence", flat=True)):
        Publication.objects.filter(pk=sequence).update(at=NOW - timedelta(hours=number))
    monkeypatch.setattr(audit_links, "BATCH", 3)
    assert audit_links.link_new_acts() == len(zones)
    assert [ref for _, kind, ref in acts() if kind == "publication"] == sorted(
        Publication.objects.values_list("sequence", flat=True)
    )


def test_nobody_who_acts_waits_for_the_chain(alice: User, make_zone: MakeZone) -> None:
    """The chain is built after the acts, so a process that holds the chain's lock does not delay acts."""
    with connection.cursor() as cursor:
        take(connection, Lock.AUDIT_CHAIN)
        try:
            done = Event()

            def act() -> None:
                try:
                    make_zone(name="meanwhile.test.")
                    audit.record(action="team.create", by=None, now=NOW, target="meanwhile")
                    assert audit_links.link_new_acts() == 0, "another worker's turn"
                    done.set()
                finally:
                    connections.close_all()

            worker = Thread(target=act)
            worker.start()
            worker.join(30)
            assert done.is_set()
        finally:
            cursor.execute("SELECT pg_advisory_unlock_all()")
    assert audit_links.link_new_acts() == 2


@pytest.mark.usefixtures("eventful")
def test_the_command_proves_it_and_names_what_to_keep(alice: User) -> None:
    told = StringIO()
    call_command("audit_verify", stdout=told)
    counted, anchor = told.getvalue().splitlines()
    assert counted == "4 entries match the chain. 0 entries have no number yet."
    call_command("audit_verify", f"--anchor={anchor}", stdout=StringIO())
    AuditEntry.objects.filter(action="team.create").update(target="Theirs")
    with pytest.raises(CommandError, match="does not match its chain"):
        call_command("audit_verify", stdout=StringIO())
    with pytest.raises(CommandError, match="is not a number and a hash"):
        call_command("audit_verify", "--anchor=x", stdout=StringIO())


@pytest.mark.usefixtures("eventful")
def test_a_check_that_was_asked_for_is_noted(alice: User, bob: User) -> None:
    with pytest.raises(Forbidden):
        audit_links.ask_for_check(by=bob, now=NOW)
    audit_links.ask_for_check(by=alice, now=NOW)
    assert AuditChain.objects.get().asked_at == NOW
    AuditEntry.objects.filter(action="team.create").delete()
    audit_links.check_chain(now=NOW)
    chain = AuditChain.objects.get()
    assert (chain.asked_at, chain.checked_at, chain.checked_to, len(chain.faults)) == (None, NOW, 4, 1)


def test_checking_costs_the_same_queries_for_ten_acts_as_for_forty(alice: User) -> None:
    def queries(count: int) -> int:
        for number in range(count):
            audit.record(action="team.create", by=alice, now=NOW, target=f"team {number}")
        with CaptureQueriesContext(connection) as found:
            audit_links.link_new_acts()
            verify_chain()
        return len(found)

    queries(1)
    assert queries(10) == queries(30)


def test_a_backlog_is_linked_at_the_same_cost_for_each_batch(alice: User, monkeypatch: Any) -> None:
    """In the first run, the acts of years are unlinked. Previously each batch read all acts linked before it."""
    monkeypatch.setattr(audit_links, "BATCH", 10)
    AuditEntry.objects.bulk_create(AuditEntry(at=NOW, action="team.create", target=f"t{n}") for n in range(100))
    floors = []
    append = audit_links._append

    def noting(acts: list[tuple[str, int]]) -> None:
        floors.append(acts[0][1] - AuditChain.objects.get().floor)
        append(acts)

    monkeypatch.setattr(audit_links, "_append", noting)
    assert audit_links.link_new_acts() == 100
    assert max(floors[2:]) == 1, "each batch begins at the floor"
