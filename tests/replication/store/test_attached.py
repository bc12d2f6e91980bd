"""Metadata and sealed keys that are written to a node's files: opened, digested, checked and repaired.

Tests `store.attached`, `store.key_opener` and `store.checking_attached`. Signed zones: `store.key_table`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from replication.codec import dnssec
from replication.codec.dnssec import KeyObject, MetadataObject, Nsec3
from replication.codec.schema import Dbi
from replication.codec.sealed import SealingKey, is_sealed_body
from replication.errors import BadSegment, Diverged, UnknownSealingKey
from replication.store.attached import UNREADABLE_NAME, decode_digests, digests_of, encode_digests
from replication.store.file_row import ROW_KEY
from replication.store.own_commits import note_commit
from replication.store.repair_zone import Repaired, repair_header, seal_repair
from replication.store.snapshot import open_manifest, write_snapshot
from replication.store.store import Copied, Store
from replication.wire.operations import ZoneMark
from replication.wire.position import Position
from replication.wire.segment import open_segment
from tests.replication.panel import (
    CLUSTER,
    EPOCH,
    MAP_SIZE,
    PUBLIC_KEYS,
    SECRETS,
    SIGNING_KEY,
    TIME_NS,
    Panel,
    csk,
    records,
    small_zone,
)

ZONE, OTHER = "example.test.", "other.test."
NSEC3PARAM = MetadataObject(ZONE, "NSEC3PARAM", "1 0 0 -")


@dataclass
class Pair:
    """A panel with signed zones, and a node that opens their keys."""

    panel: Panel
    node: Store
    secrets: dict[int, bytes]
    keys: dict[str, KeyObject]

    def send(self, sealed: bytes, **options: Callable[[], None]) -> None:
        self.node.apply(open_segment(sealed, PUBLIC_KEYS), **options)  # type: ignore[arg-type]

    def contents(self, store: Store, dbi: Dbi) -> list[tuple[bytes, bytes]]:
        with store._main.env.begin() as txn, txn.cursor(db=store._main.tables[dbi]) as cursor:
            return [(key, v if store.schema.dbi(dbi).dupsort else store.schema.unwrap(v)) for key, v in cursor]

    def put(self, dbi: Dbi, key: bytes, body: bytes) -> None:
        with self.node._main.env.begin(write=True) as txn:
            value = body if self.node.schema.dbi(dbi).dupsort else self.node.schema.wrap(body, 99, 99)
            txn.put(key, value, db=self.node._main.tables[dbi])

    def delete(self, dbi: Dbi, key: bytes, body: bytes = b"") -> None:
        with self.node._main.env.begin(write=True) as txn:
            assert txn.delete(key, body, db=self.node._main.tables[dbi])

    def diverged(self) -> list[tuple[str, str]]:
        check = self.node.check()
        for _ in check.everything():
            pass
        assert check.is_done
        return [(zone.name, zone.reason) for zone in check.diverged.values()]

    def repair(self, zone: str = ZONE) -> Repaired:
        mark = ZoneMark(self.panel.zones[zone][0], zone, self.panel.serial(zone))
        return self.node.repair(open_segment(self.sealed_repair(mark), PUBLIC_KEYS))

    def sealed_repair(self, mark: ZoneMark) -> bytes:
        return seal_repair(
            repair_header(
                schema=self.node.schema,
                cluster=CLUSTER,
                position=Position(EPOCH, self.panel.sequence),
                time_ns=TIME_NS,
                digests=self.panel.store.digests(),
            ),
            mark=mark,
            records=self.panel.store.rows(mark.zone_id).raw(),
            attached=self.panel.store.attached_rows(mark.name),
            key=SIGNING_KEY,
        )

    def is_equal(self) -> bool:
        """Return True if the node's digests, indexes, metadata and clear keys equal the panel's."""
        same = all(
            self.contents(self.node, dbi) == self.contents(self.panel.store, dbi)
            for dbi in (Dbi.METADATA, Dbi.METADATA_INDEX, Dbi.KEYDATA_INDEX, Dbi.DOMAINS, Dbi.DOMAINS_INDEX)
        )
        number = self.node.schema.number
        clear = sorted(dnssec.decode_key(body, number).content for _, body in self.contents(self.node, Dbi.KEYDATA))
        expected = sorted(key.content for key in self.keys.values())
        return same and clear == expected and self.node.digests() == self.panel.store.digests()


@pytest.fixture(params=[4, 5, 6])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    (tmp_path / "panel").mkdir()
    panel = Panel(tmp_path / "panel", request.param)
    panel.create(small_zone(ZONE), small_zone(OTHER), small_zone("plain.test."))
    keys = {zone: csk(zone) for zone in (ZONE, OTHER)}
    panel.attach(ZONE, keys_=[keys[ZONE]], metadata=[NSEC3PARAM], nsec3=Nsec3())
    panel.attach(OTHER, keys_=[keys[OTHER]])
    secrets = dict(SECRETS)
    path = tmp_path / "node.lmdb"
    with Store.open(path, request.param, MAP_SIZE, cluster=CLUSTER, sync=False, sealing_keys=secrets.get) as node:
        pair = Pair(panel, node, secrets, keys)
        for sealed in panel.segments:
            pair.send(sealed)
        yield pair
    panel.close()


def test_keys_are_clear_on_the_node_and_sealed_everywhere_else(pair: Pair) -> None:
    assert pair.is_equal()
    assert pair.diverged() == []
    secrets = [key.content.split("PrivateKey: ")[1].strip().encode() for key in pair.keys.values()]
    panel_file, node_file = (Path(store._main.path).read_bytes() for store in (pair.panel.store, pair.node))
    inflated = b"".join(op.body for s in pair.panel.segments for op in open_segment(s, PUBLIC_KEYS).ops())
    for secret in secrets:
        assert secret in node_file
        assert secret not in panel_file + inflated + b"".join(pair.panel.segments)
    assert all(is_sealed_body(body) for _, body in pair.contents(pair.panel.store, Dbi.KEYDATA))
    assert pair.node.signed_zones([ZONE, OTHER, "plain.test."]) == {ZONE, OTHER}
    assert pair.node.has_keys(ZONE)
    assert not pair.node.has_keys("plain.test.")


def test_a_repeated_segment_and_a_key_sealed_anew_change_no_digest(pair: Pair) -> None:
    before = pair.node.digests()
    pair.panel.sealing_key = SealingKey(9, bytes(64))
    pair.secrets[9] = bytes(64)
    pair.send(pair.panel.attach(ZONE, keys_=[pair.keys[ZONE]], metadata=[NSEC3PARAM], nsec3=Nsec3()))
    assert pair.node.digests()[0] == before[0]
    assert pair.is_equal()
    assert pair.diverged() == []


def test_an_unsigned_zone_has_nothing_left(pair: Pair) -> None:
    pair.send(pair.panel.attach(ZONE))
    pair.keys.pop(ZONE)
    assert pair.is_equal()
    assert pair.diverged() == []
    with pair.node._main.env.begin() as txn:
        assert digests_of(txn, pair.node._main, pair.node.schema.index_prefix(ZONE)) == (0, 0)
    pair.send(pair.panel.delete(OTHER))
    pair.keys.pop(OTHER)
    assert pair.is_equal()
    assert pair.diverged() == []


def test_an_unknown_sealing_key_is_refused_and_the_same_segment_taken_later(pair: Pair) -> None:
    pair.panel.sealing_key = SealingKey(9, bytes(64))
    key = pair.keys["plain.test."] = csk("plain.test.")
    sealed = pair.panel.attach("plain.test.", keys_=[key])
    with pytest.raises(UnknownSealingKey):
        pair.send(sealed)
    assert not pair.node.has_keys("plain.test.")
    pair.secrets[9] = bytes(64)
    pair.send(sealed)
    assert pair.is_equal()
    assert pair.diverged() == []


def test_the_hook_is_called_between_the_change_of_keys_and_late_deletions(pair: Pair) -> None:
    seen: list[tuple[bool, int]] = []
    zone_id = pair.panel.zones[ZONE][0]
    chain = sum(type == 50 for _, type, _ in pair.node.rows(zone_id).below(b"\0"))

    def look() -> None:
        rows = sum(type == 50 for _, type, _ in pair.node.rows(zone_id).below(b"\0"))
        seen.append((bool(pair.node.attached_rows(ZONE)[0][0] is Dbi.METADATA), rows))

    pair.send(pair.panel.attach(ZONE, keys_=[pair.keys[ZONE]]), before_late=look)
    assert seen == [(False, chain)], "metadata gone, chain there still"
    assert not any(type == 50 for _, type, _ in pair.node.rows(zone_id).below(b"\0"))
    pair.send(pair.panel.change(ZONE, records(ZONE, "more", "A", 60, "192.0.2.7")), before_late=look)
    pair.send(pair.panel.delete("plain.test."), before_late=look)
    assert len(seen) == 1


TAMPERINGS: dict[str, tuple[Callable[[Pair], None], str]] = {}


def tampering(reason: str) -> Callable[[Callable[[Pair], None]], Callable[[Pair], None]]:
    def note(tamper: Callable[[Pair], None]) -> Callable[[Pair], None]:
        TAMPERINGS[tamper.__name__] = tamper, reason
        return tamper

    return note


def key_row(pair: Pair) -> tuple[bytes, bytes]:
    return next(row[1:] for row in pair.node.attached_rows(ZONE) if row[0] is Dbi.KEYDATA)


@tampering("its DNSSEC keys are not what the panel wrote")
def added_key(pair: Pair) -> None:
    for row in pair.node.schema.key_rows(77, csk(ZONE)):
        pair.put(*row)


@tampering("metadata was added on the server; a DNSSEC key was added on the server")
def added_to_an_unsigned_zone(pair: Pair) -> None:
    obj = MetadataObject("plain.test.", "PRESIGNED", "1")
    for row in (*pair.node.schema.metadata_rows(78, obj), *pair.node.schema.key_rows(77, csk("plain.test."))):
        pair.put(*row)


@tampering("its DNSSEC keys are not what the panel wrote")
def replaced_key(pair: Pair) -> None:
    key, _ = key_row(pair)
    pair.put(Dbi.KEYDATA, key, dnssec.encode_key(csk(ZONE), pair.node.schema.number))


@tampering("its DNSSEC keys are not what the panel wrote")
def deactivated_key(pair: Pair) -> None:
    key, body = key_row(pair)
    pair.put(Dbi.KEYDATA, key, body[:-2] + b"\0\1")


@tampering("its DNSSEC keys are not what the panel wrote")
def damaged_key(pair: Pair) -> None:
    pair.put(Dbi.KEYDATA, key_row(pair)[0], b"no key at all")


@tampering("one of its DNSSEC keys is sealed, and PowerDNS cannot use it")
def sealed_key(pair: Pair) -> None:
    pair.put(*next(row for row in pair.panel.store.attached_rows(ZONE) if row[0] is Dbi.KEYDATA))


@tampering("its metadata is not what the panel wrote; its DNSSEC keys are not what the panel wrote")
def deleted_objects(pair: Pair) -> None:
    for dbi, key, _ in pair.node.attached_rows(ZONE):
        if dbi in (Dbi.METADATA, Dbi.KEYDATA):
            pair.delete(dbi, key)


@tampering(
    "its metadata is not what the panel wrote; its DNSSEC keys are not what the panel wrote; "
    "metadata was left on the server to which no name leads; a DNSSEC key was left on the server unused"
)
def deleted_index_rows(pair: Pair) -> None:
    for dbi, key, body in pair.node.attached_rows(ZONE):
        if dbi in (Dbi.METADATA_INDEX, Dbi.KEYDATA_INDEX):
            pair.delete(dbi, key, body)


@tampering("its metadata is not what the panel wrote")
def altered_metadata(pair: Pair) -> None:
    (_, key, _), *_ = pair.node.attached_rows(ZONE)
    obj = MetadataObject(ZONE, "NSEC3PARAM", "1 0 5 -")
    pair.put(Dbi.METADATA, key, dnssec.encode_metadata(obj, pair.node.schema.number))


@tampering("its DNSSEC keys are not what the panel wrote")
def anothers_key(pair: Pair) -> None:
    (row_id,) = [pair.panel._attached_ids[pair.keys[OTHER]]]
    pair.put(Dbi.KEYDATA_INDEX, *pair.node.schema.index_row(ZONE, row_id))


@pytest.mark.parametrize("name", TAMPERINGS)
def test_a_foreign_hand_is_found_named_and_put_right(pair: Pair, name: str) -> None:
    tamper, reason = TAMPERINGS[name]
    tamper(pair)
    zone = "plain.test." if name == "added_to_an_unsigned_zone" else ZONE
    assert pair.node.has_foreign_commit()
    assert (zone, reason) in pair.diverged()
    repaired = pair.repair(zone)
    assert repaired.rows
    assert pair.diverged() == []
    assert pair.is_equal()
    assert not pair.repair(zone).rows
    pair.send(pair.panel.change(ZONE, records(ZONE, "after", "TXT", 60, '"x"')))
    pair.send(pair.panel.attach(ZONE, keys_=[pair.keys[ZONE]]))
    assert pair.is_equal()
    assert pair.diverged() == []


def test_a_check_of_one_zone_finds_its_keys_altered(pair: Pair) -> None:
    replaced_key(pair)
    for zone, count in ((OTHER, 0), (ZONE, 1)):
        check = pair.node.check()
        for _ in check.zones([pair.panel.zones[zone][0]]):
            pass
        assert len(check.diverged) == count


def test_a_segment_that_meets_altered_keys_is_refused_until_they_are_repaired(pair: Pair) -> None:
    replaced_key(pair)
    pair.keys[ZONE] = csk(ZONE)
    sealed = pair.panel.attach(ZONE, keys_=[pair.keys[ZONE]])
    with pytest.raises(Diverged):
        pair.send(sealed)


def test_a_repair_brings_its_own_zones_keys_alone(pair: Pair) -> None:
    zone_id = pair.panel.zones["plain.test."][0]
    mark = ZoneMark(zone_id, "plain.test.", pair.panel.serial("plain.test."))
    for attached in (pair.panel.store.attached_rows(ZONE), pair.panel.store.attached_rows(ZONE)[:1]):
        sealed = seal_repair(
            repair_header(
                schema=pair.node.schema,
                cluster=CLUSTER,
                position=Position(EPOCH, pair.panel.sequence),
                time_ns=TIME_NS,
                digests=pair.panel.store.digests(),
            ),
            mark=mark,
            records=pair.panel.store.rows(zone_id).raw(),
            attached=attached,
            key=SIGNING_KEY,
        )
        with pytest.raises(BadSegment):
            pair.node.repair(open_segment(sealed, PUBLIC_KEYS))
    assert pair.is_equal()


def test_a_drifted_digest_of_the_main_file_is_put_right_with_what_is_attached(pair: Pair) -> None:
    with pair.node._main.env.begin(write=True) as txn:
        row = pair.node._main.row(txn)
        assert row is not None
        txn.put(ROW_KEY, replace(row, digest=row.digest ^ 1).encode(), db=pair.node._main.own)
        note_commit(txn, pair.node._main)
    assert not pair.is_equal()
    assert pair.diverged() == []
    assert pair.is_equal()


def install(pair: Pair, node: Store, directory: Path) -> None:
    manifest = write_snapshot(pair.panel.store, directory / "snapshot", key=SIGNING_KEY, time_ns=TIME_NS)
    opened = open_manifest((directory / "snapshot" / "manifest").read_bytes(), PUBLIC_KEYS)
    assert opened == manifest
    pair.panel.store.copy(directory / "copy")
    copied = Copied(manifest.position, manifest.digest_main, manifest.digest_records)
    node.install("ab" * 16, directory / "copy", copied, time_ns=TIME_NS)


def test_a_snapshot_of_the_panels_store_becomes_a_nodes(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    path, schema = tmp_path / "new.lmdb", pair.node.schema.number
    with Store.open(path, schema, MAP_SIZE, cluster=CLUSTER, sync=False, sealing_keys=lambda _: None) as node:
        with pytest.raises(UnknownSealingKey):
            install(pair, node, tmp_path / "files")
        assert node.installing() is None, "nothing was begun"
    (tmp_path / "more").mkdir()
    added_key(pair)
    deleted_objects(pair)
    with Store.open(path, schema, MAP_SIZE, cluster=CLUSTER, sync=False, sealing_keys=pair.secrets.get) as node:
        for store in (node, pair.node):
            (tmp_path / str(id(store))).mkdir()
            install(pair, store, tmp_path / str(id(store)))
            assert Pair(pair.panel, store, pair.secrets, pair.keys).diverged() == []
            assert Pair(pair.panel, store, pair.secrets, pair.keys).is_equal()


def test_files_that_came_whole_are_opened_at_once_or_not_at_all(pair: Pair, tmp_path: Path) -> None:
    pair.panel.store.copy(tmp_path / "copy.lmdb")
    schema = pair.node.schema.number
    node = Store.open(tmp_path / "copy.lmdb", schema, MAP_SIZE, cluster=CLUSTER, sealing_keys=lambda _: None)
    with node, pytest.raises(UnknownSealingKey):
        node.open_keys()
    with Store.open(tmp_path / "copy.lmdb", schema, MAP_SIZE, cluster=CLUSTER, sealing_keys=SECRETS.get) as node:
        copied = Pair(pair.panel, node, pair.secrets, pair.keys)
        assert "is sealed" in copied.diverged()[0][1]
        node.open_keys()
        node.open_keys()
        assert copied.is_equal()
        assert copied.diverged() == []


def test_metadata_and_keys_of_a_segment_are_seen_at_once(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replication.store.applying._ROWS_PER_TRANSACTION", 1)
    values = [MetadataObject(OTHER, "X-MANY", str(number)) for number in range(200)]
    sealed = pair.panel.attach(OTHER, keys_=[pair.keys[OTHER]], metadata=values)
    before = pair.node._main.env.info()["last_txnid"]
    pair.send(sealed)
    assert pair.node._main.env.info()["last_txnid"] == before + 1
    assert pair.is_equal()
    assert pair.diverged() == []


def test_digests_of_names_are_encoded() -> None:
    assert decode_digests(encode_digests((1, 2))) == (1, 2)
    assert decode_digests(None) == (0, 0)
    assert len(UNREADABLE_NAME) == 1
