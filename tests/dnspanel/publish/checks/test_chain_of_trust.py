"""Tests of the last check of the chain of trust: the publisher sends nothing that breaks a zone's validation."""

from collections.abc import Callable
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.encoding.stall import stalls
from dnspanel.publish.models import Segment
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.log.signing_log import change_signing
from dnspanel.zones.models import LogHead, Zone
from dnspanel.zones.publishing import bulk, edit
from dnspanel.zones.signing import rollovers, sign
from replication.dns import rdtypes
from tests.dnspanel.publish.encoding.test_encode import assert_equal_to_postgresql, change, create, encode_all, rrset

pytestmark = pytest.mark.django_db(transaction=True)

CHILD = "child.example.test."
WRONG = "1 13 2 " + "ab" * 32


def acting() -> Acting:
    return Acting(author=None, channel="system", now=timezone.now())


def slip_in(zone: Zone, text: str) -> int:
    """Publish a DS that the functions for users would refuse. Return the sequence of the publication."""
    zone.refresh_from_db()
    changes = {(CHILD, rdtypes.DS): rrset(CHILD, rdtypes.DS, text)}
    moved = bulk.ZoneChange(zone.pk, zone.revision, changes)
    publication, _ = bulk.change_zones(changes=[moved], acting=Acting(None, "system", timezone.now()))
    assert publication is not None
    return publication.sequence


@pytest.fixture
def parent(db: None) -> Zone:
    return create("example.test.", rrset(CHILD, rdtypes.NS, "ns1.example.net."))


@pytest.fixture
def child(parent: Zone) -> Zone:
    """Create a signed zone with its DS in the parent zone, and encode both."""
    found = create(CHILD)
    sign.sign(zones=[found], acting=acting())
    change(parent, rrset(CHILD, rdtypes.DS, ds_of(found)))
    encode_all()
    return found


def ds_of(zone: Zone) -> str:
    return queries.keys_of(zone)[0].ds[0]


def stalled_at() -> str:
    """Check that the log is stalled by a fault of the child zone. Return the message."""
    encode_all()
    assert encode_step(now=timezone.now()) is None
    [stall] = stalls()
    assert Segment.objects.latest("last").last == stall.sequence - 1
    assert stall.zone_name == CHILD
    return stall.message


def test_a_ds_that_leads_to_no_key_is_not_sent_until_it_is_set_right(child: Zone, parent: Zone) -> None:
    before = LogHead.objects.get().sequence
    slip_in(parent, WRONG)
    assert "which is signed with keys that don’t match" in stalled_at()
    edit.create_zone(zone=edit.NewZone("other.test."), acting=Acting(None, "system", timezone.now()))
    slip_in(parent, ds_of(child))
    assert encode_all() == 1, "with what mends it in one segment"
    assert stalls() == []
    assert Segment.objects.latest("last").first == before + 1
    assert_equal_to_postgresql()


def test_a_key_that_the_ds_needs_is_not_taken_away_until_it_comes_back(child: Zone) -> None:
    state = queries.signing_of(child)
    [key] = queries.keys_of(child)
    sign.add_key(zone=child, acting=acting(), active=True)

    def put(wanted: object) -> None:
        change_signing(
            zones=[child],
            decide=lambda zone, current: wanted,  # type: ignore[arg-type, return-value]
            acting=Acting(None, "system", timezone.now()),
            action="",
        )

    both = queries.signing_of(child)
    put(both.without_key(key.id))
    assert "which is signed with keys that don’t match" in stalled_at()
    put(state)
    encode_all()
    assert stalls() == []
    assert_equal_to_postgresql()


def test_a_person_lets_it_pass(child: Zone, parent: Zone) -> None:
    sequence = slip_in(parent, WRONG)
    assert f"let_pass {sequence}" in stalled_at()
    with pytest.raises(CommandError):
        call_command("let_pass", "999999", "--reason", "a drill", stdout=StringIO())
    with pytest.raises(CommandError):
        call_command("let_pass", str(sequence), "--reason", " ", stdout=StringIO())
    call_command("let_pass", str(sequence), "--reason", "a drill", stdout=StringIO())
    assert AuditEntry.objects.get(action="dnssec.accept_break").details["reason"] == "a drill"
    assert encode_all() == 1
    slip_in(parent, "2" + WRONG[1:])
    assert encode_all() == 1, "no worse than before"
    assert stalls() == []


def test_an_emergency_breaks_what_it_breaks(child: Zone) -> None:
    rollovers.begin(zone=child, kind=Kind.CSK, acting=acting(), emergency=True)
    assert encode_all() >= 1
    assert stalls() == []


def test_a_publisher_that_comes_late_judges_each_sequence_by_what_there_was_then(parent: Zone) -> None:
    """The DS exists before the child zone and names another key. Both are corrected before the publisher runs."""
    encode_all()
    pair = key_material.generate(13)
    slip_in(parent, key_material.ds_text(CHILD, 257, 13, pair.public, 2))
    parent.refresh_from_db()
    edit.delete_zone(zone=parent, acting=Acting(None, "system", timezone.now()), confirmed=True)
    child = create(CHILD)
    sign.sign(zones=[child], acting=acting())
    edit.restore_zone(zone=parent, author=None, channel="system", now=timezone.now())
    slip_in(parent, ds_of(child))
    encode_all()
    assert stalls() == []
    assert_equal_to_postgresql()


def test_edits_of_other_records_cost_nothing(child: Zone, parent: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    execute: Callable[..., object] = psycopg.Cursor.execute

    def noting(cursor: object, query: object, *args: object, **options: object) -> object:
        sent.append(str(query))
        return execute(cursor, query, *args, **options)

    counts = []
    for zone in (parent, child):
        change(zone, rrset(f"www.{zone.name}", rdtypes.A, "192.0.2.1"))
        with monkeypatch.context() as patched:
            patched.setattr(psycopg.Cursor, "execute", noting)
            encode_all()
        counts.append([query for query in sent if "zones_zonekey" in query or "owner_key, type)" in query])
    assert counts == [[], []]
