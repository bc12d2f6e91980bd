"""Zones on a real PowerDNS that become signed through segments, and whose keys another program changes.

Tests `agent.kept_sealing_keys` and `replication.verify_signatures` too.
"""

import base64
import contextlib
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dns.dnssec
import dns.message
import dns.name
import dns.rdatatype
import dns.rrset
import pytest

from replication import verify
from replication.agent.kept_sealing_keys import SEALING_KEYS_FILE, SealingKeys
from replication.codec import keys
from replication.codec.dnssec import MetadataObject, Nsec3
from replication.codec.schema import Dbi
from replication.codec.sealed import SealingKey, is_sealed_body
from replication.dns import rdtypes
from replication.errors import BadBytes, Busy, NotServed, UnknownSealingKey
from replication.push import send_snapshot
from replication.store.repair_zone import repair_header, seal_repair
from replication.store.store import Store
from replication.verify_signatures import MAX_ZONES, signed_marks, verify_signatures
from replication.wire.operations import ZoneMark
from replication.wire.position import Position
from replication.wire.wire_sealing_keys import encode_sealing_keys
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.updates.test_snapshot_upload import made, push, status_of, until
from tests.replication.panel import (
    CLUSTER,
    EPOCH,
    MAP_SIZE,
    SEALING_KEY,
    SECRETS,
    SIGNING_KEY,
    TIME_NS,
    Panel,
    csk,
    records,
    small_zone,
)

ZONE = "example.test."
APEX = dns.name.from_text(ZONE)
GONE = "gone." + ZONE
NSEC3PARAM = MetadataObject(ZONE, "NSEC3PARAM", "1 0 0 -")
DNSKEY, NSEC, NSEC3 = 48, 47, 50


def question(port: int, name: str, type: int) -> dns.message.Message:
    return verify.ask("127.0.0.1", port, name, type, 2, dnssec=True)


def validated(message: dns.message.Message, zone_keys: dns.rrset.RRset) -> list[dns.rrset.RRset]:
    """Return all RRsets in the answer and authority sections. Raise if one has no valid signature."""
    rrsets = [*message.answer, *message.authority]
    found = [rrset for rrset in rrsets if rrset.rdtype != dns.rdatatype.RRSIG]
    for rrset in found:
        (signatures,) = [r for r in rrsets if r.name == rrset.name and r.covers == rrset.rdtype]
        dns.dnssec.validate(rrset, signatures, {APEX: zone_keys})
    return found


def is_denied(rrsets: list[dns.rrset.RRset], name: str) -> bool:
    """Return True if NSEC or NSEC3 records deny this name, which is directly below the apex."""
    absent = dns.name.from_text(name)
    for rrset in rrsets:
        if rrset.rdtype == NSEC and (rrset.name < absent < rrset[0].next or rrset[0].next == APEX < absent):
            return True
        if rrset.rdtype == NSEC3:
            owner, after = rrset.name.labels[0].decode().upper(), rrset[0].next
            end = base64.b32hexencode(after).decode()
            hashed = dns.dnssec.nsec3_hash(absent, "", 0, 1)
            if owner < hashed < end or (end <= owner and (hashed > owner or hashed < end)):
                return True
    return False


@contextmanager
def hammering(port: int) -> Iterator[list[str]]:
    """Run a validator that sends queries continuously. The list gets each answer that doesn't validate."""
    failures: list[str] = []
    kinds: set[int] = set()
    done = threading.Event()

    def hammer() -> None:
        keys_ = verify.rrset_in(question(port, ZONE, DNSKEY), ZONE, DNSKEY)
        assert keys_ is not None
        count = 0
        while not done.is_set():
            count += 1
            for name in (f"missing{count % 7}.{ZONE}", f"www.{ZONE}"):
                answer = question(port, name, rdtypes.A)
                try:
                    found = validated(answer, keys_)
                    kinds.update(rrset.rdtype for rrset in found)
                    if name.startswith("missing") and not is_denied(found, name):
                        failures.append(f"{name} is not denied: {answer}")
                except (ValueError, dns.dnssec.ValidationFailure) as exc:
                    failures.append(f"{name}: {exc}: {answer}")

    threads = [threading.Thread(target=hammer) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield failures
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert {NSEC, NSEC3} <= kinds


@pytest.fixture
def signed(node: RunningNode, panel: Panel) -> Iterator[RunningNode]:
    """Return a node with a signed zone and an unsigned zone."""
    node.client.put_sealing_keys([SEALING_KEY])
    push(node, panel.create(small_zone(ZONE), small_zone("plain.test.")))
    push(node, panel.attach(ZONE, keys_=[csk(ZONE)]))
    return node


def test_an_unknown_sealing_key_is_refused_then_accepted(node: RunningNode, panel: Panel) -> None:
    push(node, panel.create(small_zone(ZONE)))
    assert node.client.status().sealing_keys == ()
    key = csk(ZONE)
    sealed = panel.attach(ZONE, keys_=[key])
    for _ in range(2):
        with pytest.raises(UnknownSealingKey) as raised:
            push(node, sealed)
        assert raised.value.sealing_key == SEALING_KEY.id
    assert node.answer(f"www.{ZONE}") == ["192.0.2.1"]
    node.client.put_sealing_keys([SealingKey(1, bytes(64)), SEALING_KEY])
    assert node.client.status().sealing_keys == (1, SEALING_KEY.id)
    push(node, sealed)
    keys_ = verify.rrset_in(question(node.pdns.port, ZONE, DNSKEY), ZONE, DNSKEY)
    assert keys_ is not None
    assert validated(question(node.pdns.port, f"www.{ZONE}", rdtypes.A), keys_)
    status = node.client.status()
    assert (status.digest_main, status.digest_records) == panel.store.digests()
    assert status.state == "in order"
    secret = key.content.split("PrivateKey: ")[1].strip()
    assert secret.encode() in node.pdns.lmdb_path.read_bytes()
    kept = node.files.directory / "state" / SEALING_KEYS_FILE
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    node.agent.stop()
    node.agent.start()
    assert status_of(node).sealing_keys == (1, SEALING_KEY.id)
    for text in (node.agent.log(), repr(status_of(node)), "\n".join(node.client.log())):
        assert secret not in text
        assert kept.read_text().split('"secret":"')[2][:40] not in text
    push(node, panel.attach(ZONE))
    assert not question(node.pdns.port, ZONE, DNSKEY).answer


def test_an_edit_of_a_signed_zone_is_signed_and_denies_what_is_gone(signed: RunningNode, panel: Panel) -> None:
    port = signed.pdns.port
    keys_ = verify.rrset_in(question(port, ZONE, DNSKEY), ZONE, DNSKEY)
    assert keys_ is not None
    push(signed, panel.change(ZONE, records(ZONE, "new", "A", 60, "192.0.2.9")))
    assert validated(question(port, f"new.{ZONE}", rdtypes.A), keys_)
    assert is_denied(validated(question(port, f"nex.{ZONE}", rdtypes.A), keys_), f"nex.{ZONE}")
    push(signed, panel.change(ZONE, (f"new.{ZONE}", rdtypes.A)))
    for name in (f"new.{ZONE}", f"nex.{ZONE}"):
        found = validated(question(port, name, rdtypes.A), keys_)
        assert is_denied(found, name)
        assert not any(b"new" in rrset.name.labels or "new." in str(rrset) for rrset in found)


def test_a_panel_that_lost_keys_gets_them_back_sealed(signed: RunningNode, panel: Panel) -> None:
    zone = next(zone for zone in signed.client.zones() if zone.name == ZONE)
    [(table, row_id, body)] = signed.client.attached_objects(zone.zone_id)
    [sealed] = [row for row in panel.store.attached_rows(ZONE) if row[0] is Dbi.KEYDATA]
    assert (table, panel.store.schema.row_id_key(row_id), body) == (Dbi.KEYDATA, *sealed[1:])
    assert is_sealed_body(body)
    assert signed.client.attached_objects(zone.zone_id + 1) == []
    assert signed.client.attached_objects(4_000_000_000) == []


def test_denial_is_right_while_it_changes_from_nsec_to_nsec3_and_back(signed: RunningNode, panel: Panel) -> None:
    key = next(obj for obj in panel._attached_ids if not isinstance(obj, MetadataObject))
    with hammering(signed.pdns.port) as failures:
        for _ in range(3):
            push(signed, panel.attach(ZONE, keys_=[key], metadata=[NSEC3PARAM], nsec3=Nsec3()))  # type: ignore[list-item]
            time.sleep(0.2)
            push(signed, panel.attach(ZONE, keys_=[key]))  # type: ignore[list-item]
            time.sleep(0.2)
    assert failures[:3] == []


def test_what_pdnsutil_does_to_keys_is_told_and_repaired(signed: RunningNode, panel: Panel) -> None:
    for arguments in (
        ("add-zone-key", ZONE, "zsk", "active", "ecdsa256"),
        ("set-meta", ZONE, "PRESIGNED", "1"),
        ("secure-zone", "plain.test."),
    ):
        command = ["pdnsutil", f"--config-dir={signed.pdns.directory}", *arguments]
        subprocess.run(command, check=True, capture_output=True)
    signed.client.check()
    until(lambda: signed.client.status().diverged_count == 2, "both zones are told")
    told = {name: problem for _, name, problem in signed.client.status().diverged}
    assert told[ZONE] == "metadata was added on the server; its DNSSEC keys are not what the panel wrote"
    assert "a DNSSEC key was added on the server" in told["plain.test."]
    for zone in (ZONE, "plain.test."):
        zone_id = panel.zones[zone][0]
        sealed = seal_repair(
            repair_header(
                schema=panel.store.schema,
                cluster=CLUSTER,
                position=Position(EPOCH, panel.sequence),
                time_ns=TIME_NS,
                digests=panel.store.digests(),
            ),
            mark=ZoneMark(zone_id, zone, panel.serial(zone)),
            records=panel.store.rows(zone_id).raw(),
            attached=panel.store.attached_rows(zone),
            key=SIGNING_KEY,
        )
        answer = signed.client.repair(sealed)
        assert "a DNSSEC key had been added" in answer.differences
    assert signed.client.status().diverged_count == 0
    assert not question(signed.pdns.port, "plain.test.", DNSKEY).answer
    keys_ = verify.rrset_in(question(signed.pdns.port, ZONE, DNSKEY), ZONE, DNSKEY)
    assert keys_ is not None
    assert len(keys_) == 1


def test_a_snapshot_brings_keys_to_a_new_node(node: RunningNode, panel: Panel, tmp_path: Path) -> None:
    panel.create(small_zone(ZONE))
    panel.attach(ZONE, keys_=[csk(ZONE)])
    with pytest.raises(UnknownSealingKey):
        made(panel, tmp_path).send(node.client)
    assert node.client.status().position is None
    node.client.put_sealing_keys([SEALING_KEY])
    snapshot = made(panel, tmp_path / "again")
    snapshot.send(node.client)
    assert question(node.pdns.port, ZONE, DNSKEY).answer
    node.client.check()
    assert node.client.status().state == "in order"
    push(node, panel.change(ZONE, records(ZONE, "www", "A", 60, "192.0.2.8")))


def test_files_that_come_whole_hold_clear_keys(supervised_node: RunningNode, panel: Panel, tmp_path: Path) -> None:
    node = supervised_node
    push(node, panel.create(small_zone(ZONE)))
    node.agent.stop()
    for name in ("", "-0"):
        Path(f"{node.pdns.lmdb_path}{name}").write_bytes(b"not an LMDB file" * 4096)
    node.agent.start()
    status_of(node)
    key = csk(ZONE)
    panel.attach(ZONE, keys_=[key])
    with pytest.raises(UnknownSealingKey):
        made(panel, tmp_path).send(node.client)
    node.client.put_sealing_keys([SEALING_KEY])
    with contextlib.suppress(Busy):
        made(panel, tmp_path / "again").send(node.client)
    until(lambda: status_of(node).state == "in order", "the node is in order")
    secret = key.content.split("PrivateKey: ")[1].strip().encode()
    assert secret in node.pdns.lmdb_path.read_bytes()
    began = time.time()
    node.client.check()
    until(lambda: status_of(node).checked_at > began, "every row was read")
    assert status_of(node).diverged == ()
    until(lambda: bool(question(node.pdns.port, ZONE, DNSKEY).answer), "the zone is signed")


def test_late_operations_go_on_without_a_powerdns(signed: RunningNode, panel: Panel) -> None:
    key = next(iter(panel._attached_ids))
    push(signed, panel.attach(ZONE, keys_=[key], metadata=[NSEC3PARAM], nsec3=Nsec3()))  # type: ignore[list-item]
    signed.pdns.kill()
    with pytest.raises(NotServed):
        push(signed, panel.attach(ZONE, keys_=[key]))  # type: ignore[list-item]
    assert signed.client.status().position == Position(EPOCH, panel.sequence), "written, but not acknowledged"


# --- the proof


def test_signatures_that_are_missing_bogus_or_out_of_time_are_told(
    signed: RunningNode, panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, port, now = signed.pdns.lmdb_path, signed.pdns.port, time.time()
    marks = [ZoneMark(panel.zones[zone][0], zone, 1) for zone in (ZONE, "plain.test.")]
    www = keys.record_key(marks[0].zone_id, b"www\0", rdtypes.A)
    signed.agent.stop()
    with Store.open(path, 4, MAP_SIZE, cluster=CLUSTER, sealing_keys=SECRETS.get) as store:

        def prove(at: float = now) -> None:
            verify_signatures(store, marks, [www], "127.0.0.1", port, now=at, seconds=3)

        questions = signed.pdns.questions()
        prove()
        assert signed.pdns.questions() == questions + 3, "nothing of the zone without keys"
        verify_signatures(store, marks, [], "127.0.0.1", port, now=now, seconds=3)
        assert signed.pdns.questions() == questions + 6, "a name that is not there, where only the signing changed"
        for at in (now + 60 * 86400, now - 60 * 86400):
            with pytest.raises(NotServed, match="an RRSIG that is good from"):
                prove(at)
        real = verify.ask

        def altered(*args: object, **options: object) -> dns.message.Message:
            message = real(*args, **options)  # type: ignore[arg-type]
            if args[3] == rdtypes.A:
                at = message.answer.index(message.find_rrset(message.answer, dns.name.from_text(str(args[2])), 1, 1))
                message.answer[at] = dns.rrset.from_text(str(args[2]), 300, "IN", "A", "192.0.2.66")
            return message

        def unsigned(*args: object, **options: object) -> dns.message.Message:
            return real(*args)  # type: ignore[arg-type]

        for answer, problem in ((altered, "a signature that is bogus"), (unsigned, "no RRSIG")):
            monkeypatch.setattr(verify, "ask", answer)
            with pytest.raises(NotServed, match=problem):
                prove()


@pytest.mark.parametrize("nsec3", [None, Nsec3(), Nsec3(opt_out=True), Nsec3(narrow=True)])
def test_a_bogus_proof_of_what_was_deleted_is_told(
    signed: RunningNode, panel: Panel, monkeypatch: pytest.MonkeyPatch, nsec3: Nsec3 | None
) -> None:
    """Previously, only existing RRsets were validated, so a wrong denial chain passed ring 0."""
    if nsec3 is not None:
        kinds = [NSEC3PARAM, *([MetadataObject(ZONE, "NSEC3NARROW", "1")] if nsec3.narrow else [])]
        key = next(iter(panel._attached_ids))
        push(signed, panel.attach(ZONE, keys_=[key], metadata=kinds, nsec3=nsec3))  # type: ignore[list-item]
    push(signed, panel.change(ZONE, records(ZONE, "gone", "A", 60, "192.0.2.8"), records(ZONE, "@", "TXT", 60, '"x"')))
    real = verify.ask
    faults: list[str] = []

    def altered(*args: object, **options: object) -> dns.message.Message:
        message = real(*args, **options)  # type: ignore[arg-type]
        links = [each for each in message.authority if each.rdtype in (NSEC, NSEC3)]
        if "bogus" in faults and links:
            signature = next(each for each in message.authority if each.covers == links[0].rdtype)
            at = message.authority.index(signature)
            text = str(signature[0]).rsplit(" ", 1)[0]
            forged = base64.b64encode(bytes(64)).decode()
            message.authority[at] = dns.rrset.from_text(signature.name, 60, "IN", "RRSIG", f"{text} {forged}")
        if "without" in faults:
            for link in links:
                message.authority.remove(link)
        return message

    push(signed, panel.change(ZONE, (GONE, rdtypes.A), (ZONE, rdtypes.TXT)))
    signed.agent.stop()
    zone_id = panel.zones[ZONE][0]
    marks = [ZoneMark(zone_id, ZONE, 1)]
    name, apex = (
        keys.record_key(zone_id, keys.relative_key(each, ZONE), type) for each, type in ((GONE, 1), (ZONE, 16))
    )
    monkeypatch.setattr(verify, "ask", altered)
    with Store.open(signed.pdns.lmdb_path, 4, MAP_SIZE, cluster=CLUSTER, sealing_keys=SECRETS.get) as store:
        for of_change in ([name], [apex], []):

            def prove(of_change: list[bytes] = of_change) -> None:
                verify_signatures(store, marks, of_change, "127.0.0.1", signed.pdns.port, now=time.time(), seconds=3)

            prove()
            for fault, problem in (("bogus", "a signature that is bogus"), ("without", "no proof that there is none")):
                faults[:] = [fault]
                with pytest.raises(NotServed, match=problem):
                    prove()
                faults.clear()


def test_a_chain_without_links_is_told(signed: RunningNode, panel: Panel) -> None:
    """PowerDNS then answers SERVFAIL, but only with DNSSEC. Previously, such a push was accepted."""
    key = next(iter(panel._attached_ids))
    chainless = panel.attach(ZONE, keys_=[key], metadata=[NSEC3PARAM])

    def fails_and_reports() -> bool:
        with pytest.raises(NotServed, match=r"absent-.*\.test\. A with DNSSEC.*SERVFAIL, while without DNSSEC"):
            push(signed, chainless)
        return "SERVFAIL" in status_of(signed).unserved

    # Once a second the agent purges everything and finds that its position is answered, which clears the problem.
    until(fails_and_reports, "the status shows what was refused")
    # A panel can know that the fault isn't in this push, and pass the zone over for this push only.
    client, odd = signed.client, "with, comma.test."
    with pytest.raises(NotServed, match="SERVFAIL, while without DNSSEC"):
        client.push(chainless, len(chainless), unproven=[odd])
    ack = client.push(chainless, len(chainless), unproven=[odd, ZONE])
    assert ack.position == status_of(signed).position
    with pytest.raises(NotServed, match="SERVFAIL, while without DNSSEC"):
        push(signed, chainless)


def test_a_signed_zone_in_a_snapshot_has_to_validate_unless_it_is_passed_over(
    node: RunningNode, panel: Panel, tmp_path: Path
) -> None:
    """Previously, the queried sample of thousands of zones sometimes contained no signed zone."""
    node.client.put_sealing_keys([SEALING_KEY])
    panel.create(*(small_zone(f"z{number}.test.") for number in range(60)), small_zone(ZONE), small_zone("well.test."))
    panel.attach("well.test.", keys_=[csk("well.test.")])
    panel.attach(ZONE, keys_=[csk(ZONE)], metadata=[NSEC3PARAM])
    snapshot = made(panel, tmp_path)
    with pytest.raises(NotServed, match=r"absent-.*\.example\.test\. A with DNSSEC.*SERVFAIL, while without DNSSEC"):
        snapshot.send(node.client)
    ack = send_snapshot(
        node.client, snapshot.sealed, snapshot.chunk, raw_size=snapshot.manifest.raw_size, unproven=[ZONE]
    )
    assert ack.position == Position(EPOCH, panel.sequence)
    # The zone is passed over only for that push.
    with pytest.raises(NotServed, match="SERVFAIL, while without DNSSEC"):
        push(node, panel.change(ZONE, (f"www.{ZONE}", rdtypes.A)))


def test_so_many_zones_of_a_push_are_validated_and_no_more(panel: Panel) -> None:
    zones = [f"z{number}.test." for number in range(40)]
    panel.create(*map(small_zone, zones))
    for zone in zones[5:]:
        panel.attach(zone, keys_=[csk(zone)])
    panel.attach(zones[5], keys_=[csk(zones[5], active=False)])
    marks = [ZoneMark(panel.zones[zone][0], zone, 1) for zone in zones]
    found = signed_marks(panel.store, marks)
    assert 8 <= len(found) <= MAX_ZONES
    assert not {mark.name for mark in found} & set(zones[:6])
    assert signed_marks(panel.store, [ZoneMark(7, zones[8], None)]) == []


# --- sealing keys


def test_a_damaged_file_of_sealing_keys_is_as_good_as_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    known = SealingKeys(tmp_path)
    known.take(encode_sealing_keys([SEALING_KEY]))
    assert SealingKeys(tmp_path).secret(SEALING_KEY.id) == SEALING_KEY.secret
    (tmp_path / SEALING_KEYS_FILE).write_text('{"keys": [{"id": 3, "secret": "c2VjcmV0"}]}')
    assert SealingKeys(tmp_path).ids == ()
    assert "c2VjcmV0" not in caplog.text
    assert "send the sealing keys again" in caplog.text
    with pytest.raises(BadBytes):
        known.take(b"{}")
    assert known.ids == (SEALING_KEY.id,)
    known.take(encode_sealing_keys([]))
    assert known.secret(SEALING_KEY.id) is None
