"""Audit the panel's LMDB and every node against PostgreSQL, with code that is independent of the encoder.

`expected_state` computes the expected digests of each zone's rows from PostgreSQL. Two things are compared with them:
the rows in the panel's own files, and each agent's report after it has read all its rows again. Publishing continues
during an audit. A zone that differs is therefore compared up to ROUNDS times, and counts as different only if it wasn't
edited in between. The digest of a file is compared only if the node is at the sequence where PostgreSQL was read.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from django.utils import timezone

from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes.authority import client_of, client_ssl_context, ensure_authority
from dnspanel.publish.checks.expected_state import ExpectedState, as_digest, digest_of, expected_state
from dnspanel.publish.files.publisher import this_publisher
from dnspanel.publish.reading.publisher_session import reading
from dnspanel.publish.reading.schemas import schemas_in_use
from replication.errors import ReplicationError
from replication.node_client import NodeClient
from replication.wire.position import Position
from replication.wire.protocol import Status

ROUNDS = 4
CHECK_SECONDS = 300.0
_PAUSE_SECONDS = 1.0

Found = dict[int, tuple[str, bytes]]  # zone id: its name, and the digest of its rows (empty: not read yet)
Read = Callable[[Collection[int] | None], "Copy"]


@dataclass(frozen=True, slots=True)
class Copy:
    """The zones in one copy of the data, the digests of its files, and its position if unchanged during the read."""

    zones: Found
    position: Position | None = None
    digests: tuple[bytes, bytes] = (b"", b"")


@dataclass(slots=True)
class Verdict:
    """The audit's result for one copy of the data (an LMDB of the panel, or a node), in lines of text."""

    place: str
    differences: list[str] = field(default_factory=list)
    note: str = ""  # why it could not be compared


@dataclass(frozen=True, slots=True)
class Audit:
    """The size of the data in PostgreSQL, and the verdict on each compared copy."""

    sequence: int
    zones: int
    rows: int
    verdicts: list[Verdict]

    @property
    def is_equal(self) -> bool:
        return not any(verdict.differences for verdict in self.verdicts)


def audit(*, say: Callable[[str], None] = lambda message: None, pause: float = _PAUSE_SECONDS) -> Audit | None:
    """Compare the panel's LMDBs and every node with PostgreSQL. Return None if nothing was ever published.

    `say` is called with messages about slow steps.
    """
    expected = _expected_state(None)
    if expected is None or not expected.sequence:
        return None
    places: list[tuple[str, int, Read]] = [
        (f"the panel's LMDB of schema {schema}", schema, _panel_copy(schema, expected)) for schema in schemas_in_use()
    ]
    for node in Node.objects.filter(state__in=(NodeState.ACTIVE, NodeState.DRAINED), is_front=False).order_by("name"):
        places.append((node.name, node.schema, _node_copy(node)))
    verdicts = []
    for place, schema, read in places:
        say(f"comparing {place}")
        verdicts.append(_compare(place, schema, read, expected, pause))
    return Audit(expected.sequence, len(expected.zones), expected.rows, verdicts)


def _expected_state(only: Iterable[int] | None) -> ExpectedState | None:
    with reading() as conn:
        return expected_state(conn, only)


def _compare(place: str, schema: int, read: Read, first: ExpectedState, pause: float) -> Verdict:
    """Compare one copy with PostgreSQL. Compare zones that differ up to ROUNDS times again, because edits go on."""
    verdict = Verdict(place)
    try:
        copy = read(None)
        suspects = differing(first.zones_digests(), copy.zones)
        verdict.differences = _file_differences(schema, copy, first) if not suspects else []
        serials: Mapping[int, int] = {zone_id: zone.serial for zone_id, zone in first.zones.items()}
        for _ in range(ROUNDS):
            if not suspects:
                break
            time.sleep(pause)
            again = _expected_state(suspects)
            assert again is not None
            differing_now = differing(again.zones_digests(), read(set(suspects)).zones)
            moving = {zone_id for zone_id, zone in again.zones.items() if serials.get(zone_id) != zone.serial}
            serials = {zone_id: zone.serial for zone_id, zone in again.zones.items()}
            verdict.differences = [text for zone_id, text in sorted(differing_now.items()) if zone_id not in moving]
            suspects = differing_now
    except (ReplicationError, OSError) as exc:
        verdict.note = str(exc)
    return verdict


def differing(expected: Found, found: Found) -> dict[int, str]:
    """Return a clause about each zone that differs, keyed by zone id."""
    differences: dict[int, str] = {}
    for zone_id, (name, digest) in expected.items():
        if zone_id not in found:
            differences[zone_id] = f"{name} is missing"
        elif found[zone_id][0] != name:
            differences[zone_id] = f"{name} has the name {found[zone_id][0]}"
        elif found[zone_id][1] != digest:
            differences[zone_id] = f"{name} has wrong records" if found[zone_id][1] else f"{name} has not been read yet"
    for zone_id, (name, _) in found.items():
        if zone_id not in expected:
            differences[zone_id] = f"{name} (zone {zone_id}) is not in PostgreSQL"
    return differences


def _file_differences(schema: int, copy: Copy, expected: ExpectedState) -> list[str]:
    """Return differences between whole files. The caller must make sure that no single zone differs.

    The result is empty unless the copy is at PostgreSQL's position.
    """
    if copy.position != Position(expected.epoch, expected.sequence) or not copy.digests[0]:
        return []
    differences = []
    if copy.digests[0] != expected.main_digest(schema):
        differences.append("the digest of the list of zones is wrong")
    if copy.digests[1] != expected.records_digest:
        differences.append("the digest of all records is wrong, although every zone is equal")
    return differences


def _panel_copy(schema: int, expected: ExpectedState) -> Read:
    def read(only: Collection[int] | None) -> Copy:
        store = this_publisher().store(schema, expected.cluster)
        position, *digests = store.position_and_digests()
        zones: Found = {}
        first = 1
        while page := store.zones_from(first, limit=5_000):
            for zone in page:
                if only is None or zone.zone_id in only:
                    total = sum(digest_of(0, key, body) for key, body in store.rows(zone.zone_id).raw())
                    zones[zone.zone_id] = zone.name, as_digest(total)
            first = page[-1].zone_id + 1
        is_still = store.position_and_digests()[0] == position
        return Copy(zones, position if is_still else None, (digests[0], digests[1]))

    return read


def _node_copy(node: Node) -> Read:
    context = client_ssl_context(ensure_authority(now=timezone.now()))

    def read(only: Collection[int] | None) -> Copy:
        with client_of(node, context) as client:
            before = _read_anew(client)
            zones: Found = {
                zone.zone_id: (zone.name, bytes.fromhex(zone.digest))
                for zone in client.zones()
                if only is None or zone.zone_id in only
            }
            after = client.status()
            for zone_id, name, _ in after.diverged:  # the node's digest doesn't match its rows
                zones[zone_id] = name, b"\0"
        is_still = before.position == after.position
        return Copy(zones, after.position if is_still else None, (after.digest_main, after.digest_records))

    return read


def _read_anew(client: NodeClient) -> Status:
    """Make the agent compare all its rows with its digests. Return its status afterwards, or after CHECK_SECONDS."""
    before = client.status()
    client.check()
    until = time.monotonic() + CHECK_SECONDS
    while time.monotonic() < until:
        time.sleep(0.2)
        if (status := client.status()).checked_at != before.checked_at:  # its clock may have been set back
            break
    return status
