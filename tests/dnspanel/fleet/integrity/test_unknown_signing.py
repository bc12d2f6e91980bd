"""Tests of a panel restored during a rollover: nodes keep signing, and the panel gets lost keys back from them.

Tests `publishing.lost_keys` too.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.fleet.models import Choice
from dnspanel.publish.models import SealingKey
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.models import Rollover, Zone, ZoneKey
from dnspanel.zones.signing import rollovers, sign
from replication.codec.dnssec import Nsec3
from tests.dnspanel.fleet.conftest import Served
from tests.dnspanel.fleet.integrity.test_unknown_history_report import create, decide, made_report, publish_to
from tests.dnspanel.fleet.yesterday import Yesterday
from tests.people import alice as alice

pytestmark = pytest.mark.django_db(transaction=True)
Serve = Callable[..., Served]
NAMES = ["rolling.test.", "signed.test.", "plain.test.", "nsec3.test."]


def acting() -> Acting:
    return Acting(None, "system", timezone.now())


def zone_of(name: str) -> Zone:
    return Zone.objects.get(name=name, deleted_at=None)


def private_texts(zone: Zone) -> dict[int, str]:
    keys = ZoneKey.objects.filter(zone=zone, deleted_at=None)
    return {key.pk: queries.decrypt_secret(key.private_encrypted).decode() for key in keys if key.private_encrypted}


@pytest.fixture
def made(served: Serve, settings: Any) -> Served:
    """Return a node with all zones. Two of them are signed, one with NSEC3."""
    settings.DNS_RESOLVERS = ["127.0.0.1:9"]  # no server listens there
    node = served()
    for name in NAMES:
        create(name, "www 300 A 192.0.2.1")
    sign.sign(zones=[zone_of("rolling.test.")], acting=acting())
    sign.sign(zones=[zone_of("nsec3.test.")], acting=acting(), nsec3=Nsec3())
    publish_to(node)
    return node


def lose_a_day(node: Served) -> dict[str, tuple[object, dict[int, str]]]:
    """Change the zones' signing, then set the panel back. Return each zone's lost settings and private keys."""
    yesterday = Yesterday()
    rollovers.begin(zone=zone_of("rolling.test."), kind=Kind.CSK, acting=acting())
    sign.set_cds(zone=zone_of("rolling.test."), cds="2", acting=acting())
    sign.sign(zones=[zone_of("signed.test.")], acting=acting(), split=True, nsec3=Nsec3(opt_out=True))
    create("new.test.", "www 300 A 192.0.2.1")
    sign.sign(zones=[zone_of("new.test.")], acting=acting(), algorithm=15)
    publish_to(node)
    lost = {name: (queries.signing_of(zone_of(name)), private_texts(zone_of(name))) for name in [*NAMES, "new.test."]}
    yesterday.come_back()
    return lost


def has_the_keys(node: Served, name: str) -> bool:
    """Return True if the node has as many keys for the zone as the panel."""
    assert node.agent.store is not None
    zone = zone_of(name)
    rows = [row for row in node.agent.store.attached_rows(name) if row[0].name == "KEYDATA"]
    return len(rows) == len(queries.signing_of(zone).keys)


def test_the_panel_has_the_keys_of_its_nodes_again(made: Served, alice: User) -> None:
    lost = lose_a_day(made)
    assert len(queries.keys_of(zone_of("rolling.test."))) == 1
    report = made_report()
    found = {zone.name: zone for zone in report.zones.all()}
    assert set(found) == {"rolling.test.", "signed.test.", "new.test."}  # unchanged NSEC3 is no difference
    assert all(zone.signing is not None and not zone.error for zone in found.values())
    assert "PrivateKey" not in str([zone.signing for zone in found.values()])
    decide(report, Choice.TAKE_OVER, alice)
    for name, (state, private) in lost.items():
        assert queries.signing_of(zone_of(name)) == state, name
        assert private_texts(zone_of(name)) == private, name
    assert AuditEntry.objects.filter(action="dnssec.take_over").count() == 3
    publish_to(made)
    for name in lost:
        assert has_the_keys(made, name)
    # Key ids that nodes know aren't used again.
    [added] = [sign.add_key(zone=zone_of("rolling.test."), acting=acting(), active=False)]
    assert added.pk > max(id for _, private in lost.values() for id in private)


def test_what_the_panel_keeps_is_said_to_lose_keys(made: Served, alice: User) -> None:
    lose_a_day(made)
    before = {name: queries.signing_of(zone_of(name)) for name in NAMES}
    decide(made_report(), Choice.KEEP, alice, accepts_breaks=True)
    assert {name: queries.signing_of(zone_of(name)) for name in NAMES} == before


def test_a_rollover_that_the_panel_remembers_ends_where_the_nodes_are(made: Served, alice: User) -> None:
    rollovers.begin(zone=zone_of("rolling.test."), kind=Kind.CSK, acting=acting())
    publish_to(made)
    yesterday = Yesterday()
    Rollover.objects.update(ended_at=timezone.now())  # it has been cancelled
    sign.delete_key(zone=zone_of("rolling.test."), key_id=Rollover.objects.get().new_keys[0], acting=acting())
    publish_to(made)
    yesterday.come_back()
    decide(made_report(), Choice.TAKE_OVER, alice)
    ended = Rollover.objects.get()
    assert ended.ended_at is not None
    assert "restored from a backup" in ended.waits_for
    assert len(queries.keys_of(zone_of("rolling.test."))) == 1


def test_a_zone_that_was_unsigned_since_is_unsigned(made: Served, alice: User) -> None:
    yesterday = Yesterday()
    sign.unsign(zones=[zone_of("rolling.test.")], acting=acting())
    publish_to(made)
    yesterday.come_back()
    decide(made_report(), Choice.TAKE_OVER, alice)
    assert not queries.signing_of(zone_of("rolling.test.")).keys
    assert not ZoneKey.objects.filter(zone=zone_of("rolling.test."), deleted_at=None).exists()
    publish_to(made)
    assert has_the_keys(made, "rolling.test.")


def test_keys_that_were_sealed_with_a_lost_key_are_told(made: Served, alice: User) -> None:
    SealingKey.objects.all().delete()
    lose_a_day(made)
    SealingKey.objects.all().delete()
    report = made_report()
    errors = {zone.name: zone.signing_error for zone in report.zones.all()}
    assert all("sealing key" in errors[name] for name in ("rolling.test.", "signed.test.", "new.test."))
    assert not any(zone.error for zone in report.zones.all())  # records are taken over anyway
