"""Receive the panel's pushes on an enrolled front, and acknowledge them once they are proved.

1. The front receives a segment and holds the zones that the segment changes: dnsdist queries nodes for these zones
   instead of using its cache (`bypass`).
2. The nodes behind the front receive the segment from the panel, as usual. The front acknowledges the segment as soon
   as each node in rotation proves that it has the segment, and a query through dnsdist proves it too.
3. After that, no node that lacks the segment gets into rotation.

Therefore *in sync* has the same meaning for a front as for a node: no client gets an older answer from the front. A
front stores no zones. It reads only the zones and the end position from a segment, and needs no chunks of a snapshot.
"""

import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import BinaryIO, Self

from replication import __version__
from replication.agent.agent_config import role_of
from replication.agent.agent_identity import IdentityKeeper, write_atomically
from replication.agent.lock_file import take_lock
from replication.agent.machine import machine_id
from replication.agent.powerdns.observe import INTERVAL_SECONDS, Counters, Observer
from replication.errors import BadBytes, BadSnapshot, Gap, NotServed, WrongCluster, WrongEpoch
from replication.front.bypass import EVERYTHING, HOLD_SECONDS, MOST_ZONES, Bypass
from replication.front.dnsdist import Numbers
from replication.front.front import LOOK_SECONDS, Front, Looked
from replication.front.front_config import SETTINGS_FILE, FrontConfig, with_settings
from replication.front.front_server import FrontServer, Parts
from replication.front.rotation import Verdict
from replication.message_texts import gettext
from replication.store import mapped
from replication.store.snapshot import open_manifest, snapshot_id
from replication.wire.front_messages import BackendReport, FrontReport, FrontSettings, Told
from replication.wire.position import Position, position_from_json
from replication.wire.protocol import Ack, Status
from replication.wire.segment import open_segments

LOCK_FILE, POSITION_FILE = "front.lock", "position.json"
# A push is answered after this time, even if the nodes don't have it yet; the panel asks again.
WAIT_SECONDS = 1.0
# While a client waits, nodes are queried at this interval.
PAUSE_SECONDS = 0.01
# If the panel hasn't announced a node's changes to this front after this time, it never will.
UNTOLD_SECONDS = 1.0
# The number of segment ends that are stored.
MOST_ENDS = 1024
_Digests = tuple[bytes, bytes]
_NO_DIGESTS: _Digests = (bytes(16), bytes(16))

logger = logging.getLogger(__name__)


class FrontAgent:
    """A running front, as a context manager. It holds the front's lock and listens on its port until it exits."""

    def __init__(self, config: FrontConfig, *, hold_seconds: float = HOLD_SECONDS) -> None:
        self._config = config
        config.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock_path = config.state_dir / LOCK_FILE
        self._lock_file = take_lock(lock_path, str(lock_path))
        self.identity = IdentityKeeper(config)
        self._machine = machine_id(config.state_dir)
        self._bypass = Bypass(hold_seconds)
        # The position that the panel has pushed, and the proved position. Both are read and changed under `_turn`.
        self._taken, digests = self._read_position()
        # The ends of segments, newest last, with the digests there: the positions that can be acknowledged.
        self._ends: deque[tuple[int, _Digests]] = deque(maxlen=MOST_ENDS)
        if self._taken is not None:
            self._ends.append((self._taken.sequence, digests))
        self._verified: Position | None = None
        self._looked: Looked | None = None
        self._numbers: Numbers | None = None
        self._trouble = ""
        self._untold: Position | None = None
        self._untold_since: float | None = None
        self._turn = threading.Lock()
        self._pushing = threading.Lock()
        self._offered: dict[str, tuple[Position, _Digests]] = {}
        self._started_at = time.time()
        # dnsdist's cache can contain answers older than the nodes' data.
        self._bypass.hold([EVERYTHING], self._taken)
        self._front = self._new_front()
        self.observer = Observer(self._counters)
        parts = Parts(self.observer, self.status, self.ack, self.take, self.offer, self.install, self.set_up)
        address = (config.panel_host, config.panel_port)
        self.server = FrontServer(address, self.identity, parts, spool=config.state_dir)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.server_close()
        self._front.close()
        os.close(self._lock_file)

    def serve(self, stop: threading.Event) -> None:
        """Serve the panel, and update the rotation and held zones until `stop` is set. dnsdist runs independently."""
        self._write()
        logger.info("started front=%s position=%s", self._config.identity.node, self._taken or "none")
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.5}, daemon=True).start()
        sampling = threading.Thread(target=self._sample, args=(stop,), name="sample", daemon=True)
        sampling.start()
        while not stop.is_set():
            started = time.monotonic()
            self._look()
            stop.wait(max(0.0, LOOK_SECONDS - (time.monotonic() - started)))
        self.server.shutdown()
        sampling.join()

    def take(self, body: bytes | BinaryIO) -> Ack:
        """Accept segments and hold their zones from now on. Return the newest ack after at most WAIT_SECONDS.

        Raise NotServed while nothing is proved, Gap if a segment is missing, WrongEpoch or WrongCluster if a segment is
        from another log or panel, and the errors of `open_segments`.
        """
        with self._pushing:
            taken, zones = self._taken, set[str]()
            ends: list[tuple[int, _Digests]] = []
            for segment in open_segments(body, self.identity.signing_keys):
                if segment.cluster != self.identity.identity.cluster:
                    raise WrongCluster(ours=self.identity.identity.cluster, theirs=segment.cluster)
                if taken is not None and taken.epoch != segment.epoch:
                    raise WrongEpoch(ours=taken.epoch, theirs=segment.epoch)
                have = taken.sequence if taken else 0
                if segment.last <= have:
                    continue
                if segment.first > have + 1:
                    raise Gap(have=taken, got=segment.first)
                if segment.mark_count > MOST_ZONES or len(zones) > MOST_ZONES:
                    zones = {EVERYTHING}
                else:
                    zones.update(mark.name for mark in segment.marks())
                taken = Position(segment.epoch, segment.last)
                ends.append((segment.last, (segment.digest_main, segment.digest_records)))
            if taken is not None and ends:
                self._move(taken, ends, zones)
            return self._wait()

    def offer(self, name: str, sealed: bytes) -> Sequence[int]:
        """Accept a snapshot offer. Return no chunk numbers, because a front needs no chunks.

        Raise BadSnapshot, BadSignature or WrongCluster if the snapshot isn't for this front.
        """
        manifest = open_manifest(sealed, self.identity.signing_keys)
        if snapshot_id(sealed) != name:
            raise BadSnapshot(reason="it is offered under another name")
        if manifest.cluster != self.identity.identity.cluster:
            raise WrongCluster(ours=self.identity.identity.cluster, theirs=manifest.cluster)
        self._offered = {name: (manifest.position, (manifest.digest_main, manifest.digest_records))}
        return ()

    def install(self, name: str) -> Ack:
        """Treat all zones as changed up to this snapshot. Return the newest ack.

        Raise BadSnapshot if the snapshot was not offered, or NotServed while nothing is proved.
        """
        with self._pushing:
            if name not in self._offered:
                raise BadSnapshot(reason="it was not offered")
            position, digests = self._offered[name]
            if position != self._taken:
                self._move(position, [(position.sequence, digests)], {EVERYTHING})
            return self._wait()

    def ack(self) -> Ack:
        """Return the newest ack. Raise NotServed while nothing is proved."""
        with self._turn:
            taken, verified, ends = self._taken, self._verified, dict(self._ends)
        if taken is None or verified is None:
            raise NotServed(question="the nodes of this front", expected="a position", found=self._explain())
        return Ack(verified, *ends.get(verified.sequence, _NO_DIGESTS), applied=None if taken == verified else taken)

    def set_up(self, settings: FrontSettings) -> None:
        """Apply these settings to the rotation and to dnsdist.

        If the installed dnsdist rejects them, restore the previous settings and raise BadBytes.
        """
        with self._turn:
            before, front = self._config, self._front
            if before.settings_digest == settings.digest:
                return
            self._config = with_settings(before, settings)
            self._front = self._new_front()
            try:
                self._write()
            except BadBytes:
                self._front.close()
                self._config, self._front = before, front
                raise
            front.close()
            write_atomically(self._config.state_dir / SETTINGS_FILE, json.dumps(settings.to_json()) + "\n")
        logger.info("settings=%s backends=%d", settings.digest[:8], len(settings.backends))
        self._look()

    def status(self) -> Status:
        """Return the status of this front, as numbers and messages."""
        with self._turn:
            taken, verified, looked, numbers = self._taken, self._verified, self._looked, self._numbers
            config, digests = self._config, self._ends[-1][1] if self._ends else _NO_DIGESTS
        return Status(
            node=config.identity.node,
            position=taken,
            digest_main=digests[0],
            digest_records=digests[1],
            schema=self.identity.identity.schema,
            state=self._explain() or "in order",
            answered=verified,
            unserved=self._trouble or self._older(),
            clock=time.time(),
            started_at=self._started_at,
            versions={"agent": __version__, "dnsdist": numbers.version if numbers else ""},
            rss_bytes=mapped.resident_bytes(),
            peak_rss_bytes=mapped.peak_resident_bytes(),
            machine=self._machine,
            certificate_expires_at=self.identity.certificate_expires_at,
            signing_keys=tuple(key.hex() for key in self.identity.signing_keys),
            front=_report(config, looked, numbers, len(self._bypass)).to_json(),
            listen=tuple(map(str, config.listen)),
            agent_port=config.panel_port,
            role=role_of(config.identity),
        )

    def _new_front(self) -> Front:
        front = Front(self._config, self._bypass)
        front.floor = self._verified
        return front

    def _write(self) -> None:
        """Write dnsdist's configuration once the panel has chosen nodes. Raise BadBytes if dnsdist rejects it."""
        if self._config.backends:
            self._front.write()

    def _look(self) -> Looked | None:
        with self._turn:
            if not self._config.backends:
                return None
            now = time.monotonic()
            self._looked = looked = self._front.look(now)
            self._trouble = looked.trouble
            self._notice(looked.served, now)
            return looked

    def _notice(self, served: Position | None, now: float) -> None:
        """Hold all zones if, for some time, nodes have had changes that the panel hasn't pushed to this front."""
        taken = self._taken
        is_told = served is None or (
            taken is not None and served.epoch == taken.epoch and served.sequence <= taken.sequence
        )
        if is_told:
            self._untold_since = None
        elif self._untold_since is None:
            self._untold_since = now
        elif now - self._untold_since > UNTOLD_SECONDS and served != self._untold:
            self._untold = served
            self._bypass.hold([EVERYTHING], None)

    def _move(self, taken: Position, ends: Sequence[tuple[int, _Digests]], zones: set[str]) -> None:
        """Hold the zones, require the position `taken` from nodes, and store this position on disk."""
        with self._turn:
            self._bypass.hold(zones, taken)
            before = self._taken
            if before is not None and (before.epoch != taken.epoch or before.sequence > taken.sequence):
                self._verified = self._front.floor = None  # another history, or a restored one
                self._ends.clear()
            self._taken = taken
            self._ends.extend(ends)
        message = taken.to_json() | {"digests": [digest.hex() for digest in ends[-1][1]]}
        path = self._config.state_dir / POSITION_FILE
        partial = path.with_name(path.name + ".part")
        partial.write_text(json.dumps(message) + "\n")
        partial.replace(path)  # not synced: a front that is behind gets the segments again

    def _wait(self) -> Ack:
        """Wait for the proof of the last push, at most WAIT_SECONDS. Return the newest ack."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not self._prove() and time.monotonic() < deadline:
            time.sleep(PAUSE_SECONDS)
        return self.ack()

    def _prove(self) -> bool:
        """Query the front and store the proved position. Return True if everything pushed so far is proved.

        Before the query through dnsdist, `_look` updates the nodes and the held zones in dnsdist.
        """
        looked = self._look()
        served, taken = looked.served if looked else None, self._taken
        if served is None or taken is None or served.epoch != taken.epoch:
            return False
        with self._turn:
            reached = max((end for end, _ in self._ends if end <= served.sequence), default=0)
            if self._taken == taken and reached > (self._verified.sequence if self._verified else 0):
                try:
                    found = self._front.verify_position()
                except NotServed as exc:
                    self._trouble = str(exc)
                    return False
                if found.epoch == taken.epoch and found.sequence >= reached:
                    self._verified = self._front.floor = Position(taken.epoch, reached)
            return self._verified == self._taken

    def _explain(self) -> str:
        """Return the reason why the front doesn't answer with everything pushed so far, or "" if no reason is known."""
        looked, taken, verified = self._looked, self._taken, self._verified
        if not self._config.backends:
            return "nothing, because the panel hasn't sent the front's nodes yet"
        if self._trouble:
            return f"dnsdist does not do as it should: {self._trouble}"
        if taken is None:
            return "new: nothing was pushed yet"
        if looked is None or looked.served is None:
            return "no node in rotation answers"
        if older := self._older():
            return older
        if verified is None or verified < taken:
            late = [name for name, verdict in looked.verdicts.items() if _lacks(verdict, taken)]
            return f"waits for {', '.join(late)}" if late else ""
        return ""

    def _older(self) -> str:
        """Return the reason why clients can get answers older than the acknowledged position, or "" if they can't."""
        looked, verified = self._looked, self._verified
        late = [name for name, verdict in looked.verdicts.items() if verdict.is_older(verified)] if looked else []
        without = f"without {', '.join(late)} too few nodes would be left"
        return f"older answers than before are given: {without}" if late else ""

    def _sample(self, stop: threading.Event) -> None:
        while not stop.wait(INTERVAL_SECONDS):
            if self._config.backends:
                self.observer.step()
            if self._taken is not None and self._verified != self._taken:
                self._prove()

    def _counters(self) -> Counters:
        """Read and store dnsdist's counters. Return them as `Counters`, like a node's. Raise NotServed on failure."""
        self._numbers = found = self._front.numbers()
        return Counters(
            at=time.time(),
            clock=time.monotonic(),
            uptime=found.uptime,
            udp=max(0, found.queries - found.tcp),
            tcp=found.tcp,
            packet_hits=found.cache_hits,
            packet_misses=found.cache_misses,
            query_hits=0,
            query_misses=0,
            latency_us=found.latency_us,
            memory_bytes=found.memory_bytes,
            rcodes=found.rcodes,
            udp6=max(0, found.queries6 - found.tcp6),
            tcp6=found.tcp6,
        )

    def _read_position(self) -> tuple[Position | None, _Digests]:
        """Load the position and digests that an earlier process accepted, or return None and _NO_DIGESTS."""
        try:
            message = json.loads((self._config.state_dir / POSITION_FILE).read_text())
            main, records = (bytes.fromhex(digest) for digest in message["digests"])
            return position_from_json(message), (main, records)
        except (OSError, ValueError, KeyError, TypeError, BadBytes):
            return None, _NO_DIGESTS


def _lacks(verdict: Verdict, taken: Position) -> bool:
    position = verdict.position
    return verdict.is_in and (position is None or position.epoch != taken.epoch or position < taken)


def _report(config: FrontConfig, looked: Looked | None, numbers: Numbers | None, bypassed: int) -> FrontReport:
    found = {server.name: server for server in numbers.servers} if numbers else {}
    reports = []
    for backend in config.backends:
        verdict = looked.verdicts.get(backend.name) if looked else None
        server = found.get(backend.name)
        told = Told.of(verdict.reason if verdict else gettext("The node hasn’t been checked yet."))
        reports.append(
            BackendReport(
                name=backend.name,
                address=str(backend.endpoint),
                weight=backend.weight,
                is_in=verdict is not None and verdict.is_in,
                is_up=server is not None and not server.is_down,
                reason=told.clause,
                sequence=verdict.position.sequence if verdict and verdict.position else 0,
                behind=verdict.behind if verdict else 0,
                queries=server.queries if server else 0,
                qps=round(server.qps, 2) if server else 0.0,
                drops=server.drops if server else 0,
                latency_ms=round(server.latency_ms, 3) if server else 0.0,
                spoken=told.spoken,
            )
        )
    drops = numbers.rule_drops if numbers else 0
    return FrontReport(config.settings_digest, config.minimum, bypassed, tuple(reports), drops)
