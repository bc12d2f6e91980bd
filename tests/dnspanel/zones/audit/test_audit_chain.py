"""The hashes of the audit chain. Their input must not change, because existing chains could not be checked then."""

from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

from dnspanel.zones.audit.audit_chain import RunningDigest, content_of, first_hash, next_hash

CLUSTER = UUID("c1000000-0000-4000-8000-000000000001")
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
ACT = {
    "id": 7,
    "at": NOON,
    "target": "Bücher\ud800",
    "details": {"b": [1, None], "a": "x"},
}


def test_the_hashes_are_these() -> None:
    content = content_of(ACT)
    assert content.hex() == "b76622e1998addb054a51aa79cf41d9a10aa73b80b422c36bbb093b4aebf043f"
    second = next_hash(first_hash(CLUSTER), number=1, kind="entry", ref=7, content=content)
    assert second.hex() == "dc20bdd3d86243bd226dbf9daf916e91eec17454b14d11775ef109deff75cfca"
    digest = RunningDigest({"number": 2})
    digest.add(["www.a.test.", 1, None, {"ttl": 60}])
    assert digest.text == "7549c4d18a46fb70748c93996cd39613587e6e51e4d3a08283efdc2a40a55d07"


def test_the_same_moment_in_another_zone_and_another_order_of_keys_say_the_same() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=2)))
    assert content_of(dict(reversed(ACT.items())) | {"at": elsewhere}) == content_of(ACT)
    assert content_of(ACT | {"target": ""}) != content_of(ACT)
