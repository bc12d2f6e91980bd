"""What PostgreSQL itself refuses, whoever writes."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from dnspanel.accounts.models import User
from dnspanel.zones import edit
from dnspanel.zones.models import LogHead, Publication, RRset, Zone
from tests.dnspanel.zones.conftest import ZONE
from tests.people import NOW


def refused(constraint: str) -> Any:
    return pytest.raises(IntegrityError, match=constraint)


@pytest.mark.parametrize(
    ("constraint", "wrong"),
    [
        ("rrset_type_u16", {"type": 65536}),
        ("rrset_type_u16", {"type": 0}),
        ("rrset_ttl_rfc2181", {"ttl": -1}),
        ("rrset_not_empty", {"rdata": []}),
        ("rrset_disabled_subset", {"disabled": ["192.0.2.9"]}),
        ("rrset_unique", {"owner_key": b"www\0", "name": "www." + ZONE}),
    ],
)
def test_an_rrset_that_must_not_exist_cannot(zone: Zone, constraint: str, wrong: dict[str, Any]) -> None:
    right = {"zone": zone, "name": "x." + ZONE, "owner_key": b"x\0", "type": 1, "ttl": 300, "rdata": ["192.0.2.1"]}
    with refused(constraint), transaction.atomic():
        RRset.objects.create(**(right | wrong))


@pytest.mark.parametrize(
    ("constraint", "wrong"),
    [
        ("zone_name_unique_alive", {"name": ZONE}),
        ("zone_name_absolute", {"name": "other.test"}),
        ("zone_serial_u32", {"serial": 2**32}),
        ("zone_id_is_a_domain_id", {"id": 2**31 - 1}),
    ],
)
def test_a_zone_that_must_not_exist_cannot(zone: Zone, constraint: str, wrong: dict[str, Any]) -> None:
    right = {"name": "other.test.", "serial": 1, "created_at": NOW, "changed_at": NOW}
    with refused(constraint), transaction.atomic():
        Zone.objects.create(**(right | wrong))


def test_names_in_the_trash_may_repeat(alice: User, zone: Zone) -> None:
    for _ in range(2):
        zone = Zone.objects.get(name=ZONE, deleted_at=None)
        edit.delete_zone(zone=zone, author=alice, channel="web", now=NOW)
        edit.create_zone(name=ZONE, author=alice, channel="web", now=NOW)
    assert Zone.objects.filter(name=ZONE).count() == 3


def test_the_log_has_one_head(db: None) -> None:
    head = LogHead.objects.get()
    with refused("loghead_single"), transaction.atomic():
        LogHead.objects.create(id=2, cluster=head.cluster, epoch=head.epoch)


def test_publications_outlive_their_author(alice: User, zone: Zone) -> None:
    alice.delete()
    assert Publication.objects.get(revisions__zone=zone).author is None
