"""Tests of a panel restored during a rollover: it lists the zones that a decision would break, and asks to confirm."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.fleet.dnssec.parent_dns import ParentLook
from dnspanel.fleet.errors import WrongDecision
from dnspanel.fleet.integrity import broken_chains, unknown_history
from dnspanel.fleet.integrity.broken_chains import note_breaks
from dnspanel.fleet.models import AheadReport, AheadZone, Choice
from dnspanel.texts import speaking
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.dnssec.trust import broken_by
from dnspanel.zones.models import Rollover, Zone
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.signing import rollovers, sign
from replication.dns import rdtypes
from replication.dns.rrset import make
from tests.dnspanel.fleet.conftest import Served
from tests.dnspanel.fleet.integrity.test_unknown_history_report import change, create, decide, made_report, publish_to
from tests.dnspanel.fleet.yesterday import Yesterday
from tests.people import alice as alice

pytestmark = pytest.mark.django_db(transaction=True)
Serve = Callable[..., Served]
PARENT, CHILD, OTHER = "parent.test.", "child.parent.test.", "elsewhere.test."


def acting() -> Acting:
    return Acting(None, "system", timezone.now())


def zone_of(name: str) -> Zone:
    return Zone.objects.get(name=name, deleted_at=None)


def ds_of(name: str, *ids: int) -> list[str]:
    return [key.ds[0] for key in queries.keys_of(zone_of(name)) if not ids or key.id in ids]


def delegate(texts: Sequence[str], *, name: str = CHILD) -> None:
    """Set these DS records in the parent, even if they break the child zone."""
    steps = [((name, rdtypes.NS), zone_patches.replace_with(make(name, rdtypes.NS, 60, ["ns1.example.net."])))]
    steps.append(((name, rdtypes.DS), zone_patches.replace_with(make(name, rdtypes.DS, 60, texts) if texts else None)))
    zone_patches.publish_patches(
        patches=[zone_patches.patch_of_steps(zone_of(PARENT), steps)],
        acting=Acting(None, "system", timezone.now(), "a test"),
        accept_warnings={"ds-breaks-zone"},
    )


@pytest.fixture
def made(served: Serve, settings: Any) -> Served:
    """Return a node with a signed zone and its parent, and with a signed zone without a parent in the panel."""
    settings.DNS_RESOLVERS = ["127.0.0.1:9"]  # no server listens there
    node = served()
    for name in (PARENT, CHILD, OTHER):
        create(name, "www 300 A 192.0.2.1")
    for name in (CHILD, OTHER):
        sign.sign(zones=[zone_of(name)], acting=acting())
    delegate(ds_of(CHILD))
    publish_to(node)
    return node


def add_key(name: str) -> int:
    """Add a second signing key to the zone. Return its id."""
    return sign.add_key(zone=zone_of(name), acting=acting()).pk


def finish_rollover(node: Served) -> None:
    """Replace the zone's key and its DS, in the steps of a rollover."""
    [old] = [key.id for key in queries.keys_of(zone_of(CHILD))]
    delegate(ds_of(CHILD, add_key(CHILD)))
    sign.delete_key(zone=zone_of(CHILD), key_id=old, acting=acting())
    publish_to(node)


def breaks(report: AheadReport) -> dict[str, dict[str, str]]:
    return {zone.name: zone.breaks for zone in report.zones.all() if zone.breaks}


def refusal(report: AheadReport, choice: Choice, by: User, **more: Any) -> WrongDecision:
    how = {"typed": unknown_history.TYPED[choice], "reason": "", "by": by, "now": timezone.now()} | more
    with pytest.raises(WrongDecision) as raised:
        unknown_history.decide(report=report, choice=choice, **how)
    return raised.value


def test_old_keys_and_old_ds_together_break_only_what_is_in_caches(made: Served, alice: User) -> None:
    yesterday = Yesterday()
    finish_rollover(made)
    yesterday.come_back()
    report = made_report()
    found = breaks(report)
    assert set(found) == {CHILD}
    assert set(found[CHILD]) == {"keep"}
    assert found[CHILD]["keep"].startswith(
        f"caches still have a DS for {CHILD}, which is signed with keys that don’t match the DS"
    )
    assert unknown_history.numbers(report).broken == {"take_over": 0, "keep": 1}
    assert refusal(report, Choice.KEEP, alice).field == "accepts_breaks"
    assert refusal(report, Choice.KEEP, alice, accepts_breaks=True, reason=" ").field == "reason"
    decide(report, Choice.TAKE_OVER, alice)
    assert broken_by({CHILD: ds_of(CHILD)}) == {}
    [ds] = ds_of(CHILD)
    assert zone_of(PARENT).rrsets.get(type=rdtypes.DS).rdata == [ds]


def test_what_may_break_is_accepted_with_a_reason(made: Served, alice: User) -> None:
    yesterday = Yesterday()
    finish_rollover(made)
    yesterday.come_back()
    decide(made_report(), Choice.KEEP, alice, accepts_breaks=True)
    entry = AuditEntry.objects.get(action="epoch.decide")
    assert (entry.details["broken"], entry.details["zones"]) == (1, [CHILD])


def test_a_parent_elsewhere_that_does_not_answer_is_no_reason_to_be_sure(made: Served, alice: User) -> None:
    yesterday = Yesterday()
    add_key(OTHER)
    publish_to(made)
    yesterday.come_back()
    found = breaks(made_report())
    assert set(found[OTHER]) == {"keep"}
    assert found[OTHER]["keep"].startswith("the parent’s DS is unknown: ")


@pytest.mark.parametrize(
    ("whose", "words"),
    [
        ("new", "the parent has a DS for elsewhere.test., which is signed with keys that don’t match the DS"),
        ("none", ""),
    ],
)
def test_a_parent_elsewhere_is_asked_for_what_it_has_now(
    made: Served, alice: User, monkeypatch: pytest.MonkeyPatch, whose: str, words: str
) -> None:
    yesterday = Yesterday()
    ds = ds_of(OTHER, add_key(OTHER)) if whose == "new" else []
    publish_to(made)
    yesterday.come_back()
    look = ParentLook("test.", {"ns.test. 192.0.2.1": tuple(ds)}, 60)
    monkeypatch.setattr(broken_chains, "look_at_parent", lambda *args, **how: look)
    found = breaks(made_report()).get(OTHER, {})
    assert found.get("keep", "").startswith(words)
    assert set(found) == ({"keep"} if words else set())


def test_keys_in_caches_that_nothing_is_signed_by_any_more_are_told(
    made: Served, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a zone with split keys, only the ZSK was replaced. The DS is unchanged."""
    sign.unsign(zones=[zone_of(OTHER)], acting=acting())
    sign.sign(zones=[zone_of(OTHER)], acting=acting(), split=True)
    publish_to(made)
    yesterday = Yesterday()
    [old] = [key.id for key in queries.keys_of(zone_of(OTHER)) if key.flags == 256]
    [ds] = ds_of(OTHER, *[key.id for key in queries.keys_of(zone_of(OTHER)) if key.flags == 257])
    sign.add_key(zone=zone_of(OTHER), acting=acting(), flags=256)
    sign.delete_key(zone=zone_of(OTHER), key_id=old, acting=acting())
    publish_to(made)
    yesterday.come_back()
    look = ParentLook("test.", {"ns.test. 192.0.2.1": (ds,)}, 60)
    monkeypatch.setattr(broken_chains, "look_at_parent", lambda *args, **how: look)
    report = made_report()
    assert breaks(report)[OTHER]["keep"].startswith("caches still have the nodes’ keys and signatures")
    with speaking("de"):
        assert breaks(report)[OTHER]["keep"].startswith("Caches enthalten noch die Schlüssel und Signaturen der Knoten")


def test_a_rollover_under_way_at_the_backup_that_went_past_its_ds_is_taken_over(made: Served, alice: User) -> None:
    rollovers.begin(zone=zone_of(CHILD), kind=Kind.CSK, acting=acting())
    publish_to(made)
    yesterday = Yesterday()
    row = Rollover.objects.get()
    [old], [new] = row.old_keys, row.new_keys
    Rollover.objects.update(ended_at=timezone.now())  # the rest of the rollover
    delegate(ds_of(CHILD, new))
    sign.delete_key(zone=zone_of(CHILD), key_id=old, acting=acting())
    publish_to(made)
    yesterday.come_back()
    report = made_report()
    assert breaks(report) == {}  # if the panel's keys are kept, both keys sign again, and either DS matches one
    decide(report, Choice.TAKE_OVER, alice)
    assert [key.id for key in queries.keys_of(zone_of(CHILD))] == [new]
    assert broken_by({CHILD: zone_of(PARENT).rrsets.get(type=rdtypes.DS).rdata}) == {}
    assert Rollover.objects.get().is_cancelled


@pytest.mark.parametrize(
    ("unreadable", "words"),
    [
        (PARENT, "the parent has a DS for child.parent.test., which is signed with keys that don’t match the DS"),
        (CHILD, "the parent has a DS for child.parent.test., which is signed with keys that don’t match the DS"),
    ],
)
def test_taking_over_one_of_a_pair_breaks_the_other_and_is_told(
    made: Served, alice: User, unreadable: str, words: str
) -> None:
    yesterday = Yesterday()
    finish_rollover(made)
    yesterday.come_back()
    report = made_report()
    AheadZone.objects.filter(name=unreadable).update(error="it is damaged", breaks={})
    AheadZone.objects.filter(name=unreadable).get().rrsets.exclude(type=rdtypes.DS).delete()
    note_breaks(report)
    assert breaks(report)[CHILD]["take_over"].startswith(words)
    assert refusal(report, Choice.TAKE_OVER, alice).field == "accepts_breaks"


def test_a_zone_that_is_the_same_but_has_another_ds_is_in_the_report(made: Served, alice: User) -> None:
    right = ds_of(CHILD)
    delegate(["12345 13 2 " + "ab" * 32])
    publish_to(made)
    yesterday = Yesterday()
    delegate(right)
    publish_to(made)
    yesterday.come_back()
    report = made_report()
    assert set(breaks(report)[CHILD]) == {"keep"}
    decide(report, Choice.KEEP, alice, accepts_breaks=True)


def test_zones_that_nobody_signs_are_asked_for_by_nobody(
    made: Served, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broken_chains, "look_at_parent", None)
    yesterday = Yesterday()
    change(PARENT, "www 300 A 192.0.2.9")
    create("new.test.", "www 300 A 192.0.2.9")
    publish_to(made)
    yesterday.come_back()
    report = made_report()
    assert (report.error, breaks(report)) == ("", {})
