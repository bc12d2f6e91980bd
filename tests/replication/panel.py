"""The publishing part of a panel, without Django: zones in memory, and segments from a real store."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from replication.codec import keys
from replication.codec.dnssec import KeyObject, MetadataObject, Nsec3
from replication.codec.schema import Dbi
from replication.codec.sealed import SealingKey, seal_key
from replication.compile import compile_changes, compile_zone
from replication.dns import rdtypes, rrset
from replication.dns.rrset import RRset
from replication.store.store import Store
from replication.wire.operations import Op, OpKind, ZoneMark, digest_bytes, record_puts, rows_digest
from replication.wire.segment import PackedPuts, SegmentHeader, open_segment, pack_puts, seal

CLUSTER = UUID("c1000000-0000-4000-8000-000000000001")
EPOCH = UUID("e1000000-0000-4000-8000-000000000001")
SIGNING_KEY = Ed25519PrivateKey.from_private_bytes(b"segments of the tests, 32 bytes.")
PUBLIC_KEYS = (SIGNING_KEY.public_key().public_bytes_raw(),)
MAP_SIZE = 1 << 30
TIME_NS = 1_795_000_000_000_000_000

SEALING_KEY = SealingKey(3, bytes(range(64)))
SECRETS = {SEALING_KEY.id: SEALING_KEY.secret}

Key = tuple[str, int]


def private_key() -> str:
    """Return a new ECDSAP256SHA256 private key in PowerDNS's format."""
    secret = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value.to_bytes(32, "big")
    lines = ("Private-key-format: v1.2", "Algorithm: 13 (ECDSAP256SHA256)")
    return "".join(f"{line}\n" for line in (*lines, f"PrivateKey: {base64.b64encode(secret).decode()}"))


def csk(zone: str, content: str = "", *, active: bool = True) -> KeyObject:
    """Return a key that signs a whole zone (a CSK)."""
    return KeyObject(zone, content or private_key(), 257, active, True)


def records(zone: str, name: str, type: str, ttl: int, *rdata: str) -> RRset:
    """Return an RRset of a zone, from a name and rdata as people type them."""
    from replication.dns.rdtypes import type_from_text

    return rrset.make(name, type_from_text(type), ttl, list(rdata), origin=zone)


def small_zone(zone: str, *more: RRset, serial: int = 1) -> list[RRset]:
    """Return a zone with SOA, NS, the name server's address, `www`, and the RRsets in `more`."""
    return [
        records(zone, "@", "SOA", 3600, f"ns1 hostmaster {serial} 10800 3600 604800 300"),
        records(zone, "@", "NS", 3600, "ns1", "ns2.elsewhere.test."),
        records(zone, "ns1", "A", 3600, "192.0.2.53"),
        records(zone, "www", "A", 300, "192.0.2.1"),
        *more,
    ]


def zone_digest(store: Store, zone_id: int) -> bytes:
    """Return the digest of one zone's record rows, computed from the rows themselves."""
    return digest_bytes(rows_digest(Dbi.RECORDS, store.rows(zone_id).raw()))


class Panel:
    """A panel that publishes into its own store and returns the sealed segments."""

    def __init__(self, directory: Path, schema: int = 4, *, cluster: UUID = CLUSTER, epoch: UUID = EPOCH) -> None:
        self.schema, self.cluster, self.epoch = schema, cluster, epoch
        self.store = Store.open(directory / "panel.lmdb", schema, MAP_SIZE, cluster=cluster, sync=False)
        self.zones: dict[str, tuple[int, dict[Key, RRset]]] = {}
        self.sequence = 0
        self.segments: list[bytes] = []
        self._next_id = 1
        self.sealing_key = SEALING_KEY
        self._attached_ids: dict[KeyObject | MetadataObject, int] = {}

    def close(self) -> None:
        self.store.close()

    def create(self, *zones: Sequence[RRset]) -> bytes:
        """Publish new zones. The first RRset of each zone must be its SOA."""
        ops, marks = [], []
        for rrsets in zones:
            zone, zone_id = rrsets[0].name, self._next_id
            self._next_id += 1
            self.zones[zone] = (zone_id, {(item.name, item.type): item for item in rrsets})
            ops += self.created_ops(zone_id, zone, rrsets)
            marks.append(ZoneMark(zone_id, zone, self.serial(zone)))
        return self.seal(ops, marks)

    def create_packed(self, *zones: Sequence[RRset]) -> bytes:
        """Publish new zones as `create` does, but with packed rows, as in an import."""
        objects, marks, packed, count, digest = [], [], [], 0, 0
        for rrsets in zones:
            zone, zone_id = rrsets[0].name, self._next_id
            self._next_id += 1
            self.zones[zone] = (zone_id, {(item.name, item.type): item for item in rrsets})
            rows = compile_zone(zone, rrsets)
            puts, sum_of_rows = record_puts(zone_id, rows)
            packed.append(puts)
            count, digest = count + len(rows), digest + sum_of_rows
            objects += [Op(OpKind.PUT, *row) for row in self.store.schema.zone_rows(zone_id, zone)]
            marks.append(ZoneMark(zone_id, zone, self.serial(zone)))
        objects.sort(key=lambda op: op.dbi)
        return self.seal(objects, marks, puts=PackedPuts(pack_puts(packed), count, digest))

    def created_ops(self, zone_id: int, zone: str, rrsets: Sequence[RRset]) -> list[Op]:
        rows = compile_zone(zone, rrsets)
        ops = [Op(OpKind.PUT, Dbi.RECORDS, keys.record_key(zone_id, rel, type), body) for rel, type, body in rows]
        return ops + [Op(OpKind.PUT, *row) for row in self.store.schema.zone_rows(zone_id, zone)]

    def change(self, zone: str, *changes: RRset | Key) -> bytes:
        """Publish a change to one zone: RRsets to put and (name, type) to delete. The zone's serial increases."""
        return self.change_all({zone: changes})

    def change_all(self, changes: Mapping[str, Sequence[RRset | Key]]) -> bytes:
        """Publish changes to several zones in one segment."""
        ops, marks = [], []
        for zone, changed in changes.items():
            zone_id, rrsets = self.zones[zone]
            requested = {(c.name, c.type): c for c in changed if isinstance(c, RRset)}
            requested |= {c: None for c in changed if not isinstance(c, RRset)}
            requested.setdefault((zone, rdtypes.SOA), self.soa(zone, self.serial(zone) + 1))
            for (rel, type), body in compile_changes(zone, self.store.rows(zone_id), requested).items():
                kind = OpKind.DELETE if body is None else OpKind.PUT
                ops.append(Op(kind, Dbi.RECORDS, keys.record_key(zone_id, rel, type), body or b""))
            for key, after in requested.items():
                if after is None:
                    rrsets.pop(key, None)
                else:
                    rrsets[key] = after
            marks.append(ZoneMark(zone_id, zone, self.serial(zone)))
        return self.seal(ops, marks)

    def attach(
        self,
        zone: str,
        *,
        keys_: Iterable[KeyObject] = (),
        metadata: Iterable[MetadataObject] = (),
        nsec3: Nsec3 | None = None,
    ) -> bytes:
        """Publish a zone with exactly these keys and this metadata, and with the rows for this denial of existence.

        Obsolete rows are deleted after the main file's change.
        """
        zone_id, rrsets = self.zones[zone]
        schema = self.store.schema
        rrsets[zone, rdtypes.SOA] = self.soa(zone, self.serial(zone) + 1)
        rows = compile_zone(zone, list(rrsets.values()), nsec3)
        compiled = {keys.record_key(zone_id, rel, type): body for rel, type, body in rows}
        found = dict(self.store.rows(zone_id).raw())
        ops = [Op(OpKind.PUT, Dbi.RECORDS, key, body) for key, body in compiled.items() if found.get(key) != body]
        late = [Op(OpKind.DELETE, Dbi.RECORDS, key) for key in found if key not in compiled]
        attached: list[tuple[Dbi, bytes, bytes]] = []
        for obj in metadata:
            attached += schema.metadata_rows(self._id_of(obj), obj)
        for key in keys_:
            row_id = self._id_of(key)
            attached += schema.key_rows(row_id, seal_key(key, self.sealing_key, row_id=row_id))
        stored = self.store.attached_rows(zone)
        for dbi, row_key, body in stored:
            if (dbi, row_key) not in {row[:2] for row in attached}:
                ops.append(Op(OpKind.DELETE, dbi, row_key, body if schema.dbi(dbi).dupsort else b""))
            elif schema.dbi(dbi).dupsort and (dbi, row_key, body) not in attached:
                ops.append(Op(OpKind.DELETE, dbi, row_key, body))
        ops += [Op(OpKind.PUT, *row) for row in attached if row not in stored]
        return self.seal(ops, [ZoneMark(zone_id, zone, self.serial(zone))], late=late)

    def _id_of(self, obj: KeyObject | MetadataObject) -> int:
        return self._attached_ids.setdefault(obj, len(self._attached_ids) + 1)

    def delete(self, *zones: str) -> bytes:
        """Publish the deletion of zones."""
        ops, marks = [], []
        for zone in zones:
            zone_id, _ = self.zones.pop(zone)
            ops += self.deleted_ops(zone_id, zone)
            marks.append(ZoneMark(zone_id, zone, None))
        return self.seal(ops, marks)

    def deleted_ops(self, zone_id: int, zone: str) -> list[Op]:
        prefix = Op(OpKind.DELETE_PREFIX, Dbi.RECORDS, keys.zone_prefix(zone_id))
        dupsort = {dbi: self.store.schema.dbi(dbi).dupsort for dbi in Dbi}
        rows = [*self.store.schema.zone_rows(zone_id, zone), *self.store.attached_rows(zone)]
        return [prefix, *(Op(OpKind.DELETE, dbi, key, body if dupsort[dbi] else b"") for dbi, key, body in rows)]

    def seal(
        self,
        ops: Sequence[Op],
        marks: Sequence[ZoneMark],
        *,
        sequences: int = 1,
        puts: PackedPuts | None = None,
        late: Sequence[Op] = (),
    ) -> bytes:
        """Seal the next sequences, apply them to the panel's own store, and return the segment."""
        main, records_digest = self.store.digest_delta([*ops, *late])
        if puts is not None:
            records_digest = digest_bytes(int.from_bytes(records_digest, "big") + puts.digest)
        sealed = seal(
            SegmentHeader(
                schema=self.schema,
                cluster=self.cluster,
                epoch=self.epoch,
                first=self.sequence + 1,
                last=self.sequence + sequences,
                time_ns=TIME_NS + self.sequence,
                digest_main=main,
                digest_records=records_digest,
            ),
            marks=marks,
            ops=ops,
            key=SIGNING_KEY,
            puts=puts,
            late=late,
        )
        self.store.apply(open_segment(sealed, PUBLIC_KEYS))
        self.sequence += sequences
        self.segments.append(sealed)
        return sealed

    def serial(self, zone: str) -> int:
        return int(self.zones[zone][1][zone, rdtypes.SOA].rdata[0].split()[2])

    def soa(self, zone: str, serial: int) -> RRset:
        """Return the zone's SOA with another serial."""
        old = self.zones[zone][1][zone, rdtypes.SOA]
        mname, rname, _, rest = old.rdata[0].split(maxsplit=3)
        return replace(old, rdata=(f"{mname} {rname} {serial} {rest}",))
