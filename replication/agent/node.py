"""Run a node's whole agent: its store, applier, observer and server, and a loop with one step per second."""

import logging
import os
import threading
import time
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from replication import __version__, stats
from replication.agent.agent_config import AgentConfig, role_of
from replication.agent.agent_identity import IdentityKeeper
from replication.agent.agent_server import AgentServer, Parts
from replication.agent.integrity_scan import IntegrityScanner
from replication.agent.kept_sealing_keys import SealingKeys
from replication.agent.lock_file import take_lock
from replication.agent.machine import machine_id
from replication.agent.powerdns.observe import INTERVAL_SECONDS, Observer, read_counters
from replication.agent.powerdns.pdns_api import PdnsApi
from replication.agent.powerdns.powerdns_computed_types import ComputedTypesKeeper
from replication.agent.powerdns.query_counts import QueryCounter
from replication.agent.powerdns.running_config import RunningConfig
from replication.agent.powerdns.top import TopLists
from replication.agent.powerdns.zonecache import ZoneCache
from replication.agent.updates.apply_push import Applier
from replication.agent.updates.purge import ControlSocket, Purger, Receivers
from replication.agent.updates.rebuild_node import Rebuild
from replication.agent.updates.snapshot_upload import Snapshots
from replication.agent.upgrade_request import UpgradeRequest
from replication.disk import disk_of
from replication.errors import Busy
from replication.store import mapped
from replication.store.store import LMDB_VERSION
from replication.wire.protocol import Status, join_port

if TYPE_CHECKING:
    from replication.agent.agent_metrics import MetricsServer

LOCK_FILE = "agent.lock"
# The time for answers in progress before an agent restarts.
ANSWER_SECONDS = 0.3
# The longest wait for the first check of PowerDNS at the start, and for the last check at the end.
FIRST_CHECK_SECONDS = 2.0
# Next to the LMDB's main file: two agents with different directories must not share the LMDB files.
LMDB_LOCK_SUFFIX = "-agent"
# Above this the status warns of a full map; at 1 LMDB accepts no changes.
MAP_ALARM = 0.7

logger = logging.getLogger(__name__)


class AgentNode:
    """A running agent, as a context manager. It holds the node's locks and listens on its port until it exits."""

    def __init__(self, config: AgentConfig) -> None:
        self._config = config
        config.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._locks = _take_locks(config)
        self.identity = IdentityKeeper(config)
        self._machine = machine_id(config.state_dir)
        control = ControlSocket(str(config.control_socket))
        powerdns = RunningConfig(control)
        api = PdnsApi(config.api_port, config.api_key)
        self.sealing_keys = SealingKeys(config.state_dir)
        self.upgrade = UpgradeRequest(config.state_dir)
        self.rebuild = Rebuild(config, self.identity, control, sealing_keys=self.sealing_keys.secret)
        self._store = self.rebuild.open_store()
        purger = Purger(
            control,
            Receivers(config.dns_address, config.dns_port, config.receiver_threads),
            ZoneCache(control, api),
            # If the configuration says that PowerDNS caches, the agent doesn't query PowerDNS's settings at each purge.
            has_caches=lambda: config.caches or powerdns.has_caches(),
        )
        self.applier = Applier(
            self._store,
            purger,
            signing_keys=self.identity.signing_keys,
            dns_address=config.dns_address,
            dns_port=config.dns_port,
        )
        self.scanner = IntegrityScanner(self._store, is_busy=lambda within: self.applier.is_busy(within))
        self.applier.suspect = self.scanner.suspect
        self.applier.damaged = self.scanner.damaged = self.rebuild.suspect_damage
        self.snapshots = Snapshots(
            config.state_dir,
            self._store,
            self.applier,
            self.rebuild,
            signing_keys=self.identity.signing_keys,
            lmdb_path=config.lmdb_path,
            map_size=config.map_size,
        )
        self.computed_types = ComputedTypesKeeper(
            config, self._store, powerdns, end_powerdns=self.rebuild.end_powerdns, identity=self.identity
        )
        self.applier.prove_computed = self.computed_types.prove
        self.observer = Observer(partial(read_counters, api))
        self.query_counter = QueryCounter(self._store, config.dns_port, counters=lambda: self.observer.counters)
        self._started_at = time.time()
        self._has_checked = threading.Event()
        self.server = self._agent_server(api)
        self._metrics = self._metrics_server() if config.metrics_port else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.server_close()
        if self._metrics is not None:
            self._metrics.server_close()
        self._store.close()
        self.rebuild.close()
        for descriptor in self._locks:
            os.close(descriptor)

    @property
    def starts_anew(self) -> bool:
        """True if the process has to restart, because its files are damaged or have been replaced."""
        return self.rebuild.anew.is_set()

    def serve(self, stop: threading.Event) -> None:
        """Serve the panel and run all checks, and a `step` each second, until `stop` is set or a restart is needed."""
        checking_powerdns = threading.Thread(
            target=self._check_powerdns, args=(stop,), name="check-powerdns", daemon=True
        )
        checking_powerdns.start()
        self._has_checked.wait(FIRST_CHECK_SECONDS)
        logger.info(
            "started node=%s port=%d position=%s powerdns=%s",
            self._config.identity.node,
            self.server.server_address[1],
            self._store.position() or "none",
            self.applier.powerdns_version or "down",
        )
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.5}, daemon=True)
        thread.start()
        reading = threading.Thread(target=self._read_list, args=(stop,), name="read-list", daemon=True)
        reading.start()
        checking = threading.Thread(target=self._scan, name="integrity-scan", daemon=True)
        checking.start()
        if self._metrics is not None:
            scraped = self._metrics
            threading.Thread(target=scraped.serve_forever, kwargs={"poll_interval": 0.5}, daemon=True).start()
        due = time.monotonic()
        while not stop.is_set() and not self.starts_anew:
            self.step()
            due = max(due + INTERVAL_SECONDS, time.monotonic())
            stop.wait(due - time.monotonic())
        if self.starts_anew:
            stop.wait(ANSWER_SECONDS)
        self.server.shutdown()
        if self._metrics is not None:
            self._metrics.shutdown()
        self.scanner.stop()
        self.query_counter.stop()
        self.applier.stop()
        self.rebuild.probed.set()
        checking.join()
        for waiting in (checking_powerdns, reading):
            waiting.join(FIRST_CHECK_SECONDS)
        logger.info("stopped node=%s position=%s", self._config.identity.node, self._store.position() or "none")

    def _check_powerdns(self, stop: threading.Event) -> None:
        """Check PowerDNS and its computed types once a second, in a separate thread, because the check can block."""
        while not stop.is_set() and not self.starts_anew:
            self.applier.check_powerdns()
            self._has_checked.set()
            self.computed_types.check()
            stop.wait(INTERVAL_SECONDS)

    def _read_list(self, stop: threading.Event) -> None:
        """Make PowerDNS reload its list of zones when there are new zones, until the agent stops."""
        while not stop.is_set() and not self.starts_anew:
            self.applier.wait_for_new_zones(INTERVAL_SECONDS)
            self.applier.read_list()

    def _scan(self) -> None:
        """Check rows until the agent stops. Start only after the probe of the files has ended."""
        self.rebuild.probed.wait()
        self.scanner.run()

    def step(self) -> None:
        """Take a sample (if there is an API key), continue interrupted snapshots, and clean up the store."""
        if self._config.api_key:
            self.observer.step()
        self.snapshots.resume()
        self._store.clear_dead_readers()
        self._store.release_pages()

    def _agent_server(self, api: PdnsApi) -> AgentServer:
        top_lists = TopLists(
            api,
            rcodes=self.observer.recent_rcodes,
            clients=self._config.show_clients,
            has_zone=lambda name: self._store.zone_id(name) is not None,
        )
        parts = Parts(
            applier=self.applier,
            observer=self.observer,
            status=self.status,
            top_lists=top_lists,
            query_counter=self.query_counter,
            scanner=self.scanner,
            store=self._store,
            snapshots=self.snapshots,
            end_powerdns=self.rebuild.end_powerdns,
            computed_types=self.computed_types,
            sealing_keys=self.sealing_keys,
            upgrade=self.upgrade,
        )
        return AgentServer(
            (self._config.listen_host, self._config.listen_port),
            self.identity,
            parts,
            spool=self._config.state_dir,
            max_body=self._config.max_body,
        )

    def _metrics_server(self) -> "MetricsServer | None":
        """Create the server for Prometheus metrics, and open its port. If that fails, log an error and return None."""
        # Imported here, because the library needs 2 MB of memory that most nodes can save.
        from replication.agent.agent_metrics import MetricsServer

        address = (self._config.metrics_address, self._config.metrics_port)
        try:
            return MetricsServer(address, status=self.status, counters=lambda: self.observer.counters)
        except OSError as exc:
            logger.error("no metrics on %s port %d: %s", *address, exc)
            return None

    def status(self) -> Status:
        """Return this node's status, as numbers and messages."""
        health = self.applier.health
        position, main, records = self._store.position_and_digests()
        uses = self._store.use()
        upgrades, upgrade_message = self.upgrade.state()
        map_used = max(use.used_bytes / use.map_bytes for use in uses)
        disk = disk_of(self._config.lmdb_path.parent)
        return Status(
            node=self._config.identity.node,
            position=position,
            digest_main=main,
            digest_records=records,
            schema=self.identity.identity.schema,
            state=self._state(map_used, has_position=position is not None),
            refusal=health.refusal,
            refused_at=health.refused_at,
            answered=health.answered,
            unserved=health.unserved,
            clock=time.time(),
            started_at=self._started_at,
            versions={"agent": __version__, "powerdns": self.applier.powerdns_version, "lmdb": LMDB_VERSION},
            map_used=round(map_used, 4),
            disk_free_bytes=disk.free_bytes,
            disk_bytes=disk.bytes,
            disk_free_inodes=disk.free_inodes,
            disk_inodes=disk.inodes,
            oldest_reader=max(use.oldest_reader_lag or 0 for use in uses),
            rss_bytes=mapped.resident_bytes(),
            peak_rss_bytes=mapped.peak_resident_bytes(),
            write_lock_ms_max=round(stats.WRITE_LOCK_MS_MAX.value, 2),
            write_lock_own_ms_max=round(stats.WRITE_LOCK_OWN_MS_MAX.value, 2),
            segments_applied=int(stats.SEGMENTS_APPLIED.value),
            machine=self._machine,
            certificate_expires_at=self.identity.certificate_expires_at,
            signing_keys=tuple(key.hex() for key in self.identity.signing_keys),
            sealing_keys=self.sealing_keys.ids,
            installed_powerdns=self.rebuild.installed_release,
            needed_schema=self.rebuild.needed_schema(self.applier.powerdns_version),
            installing=self.snapshots.progress,
            diverged=self.scanner.diverged,
            diverged_count=self.scanner.diverged_count,
            checked_at=self.scanner.checked_at,
            check_share=round(self.scanner.share, 3),
            computed_types=self.computed_types.running,
            takes_computed_types=self.computed_types.may_choose,
            serves_stored_keys=self.computed_types.serves_stored_keys,
            resolver_problem=self.computed_types.resolver_problem,
            unanswered=self.computed_types.unanswered,
            listen=(join_port(self._config.dns_address, self._config.dns_port),),
            agent_port=self._config.listen_port,
            role=role_of(self._config.identity),
            debian=self.upgrade.debian,
            upgrades=upgrades,
            upgrade_message=upgrade_message,
        )

    def _state(self, map_used: float, *, has_position: bool) -> str:
        """Return a message about the most important problem. If no problem exists, return "in order" or "new: …"."""
        health = self.applier.health
        if self.rebuild.reason:
            return f"quarantined, waiting for whole new files; PowerDNS answers as it can: {self.rebuild.reason}"
        if bootstrapping := self._bootstrapping():
            return bootstrapping
        needed, schema = self.rebuild.needed_schema(self.applier.powerdns_version), self.identity.identity.schema
        if needed not in (0, schema):
            release = self.rebuild.installed_release or self.applier.powerdns_version
            return f"PowerDNS {release} needs schema {needed}, the files have {schema}: rebuild this node"
        if health.refusal:
            return f"stopped applying, still serving: {health.refusal}"
        if health.unserved:
            since = time.strftime("%H:%M:%S UTC", time.gmtime(health.unserved_since))
            return f"PowerDNS does not answer as it should since {since}: {health.unserved}"
        if diverged := self.scanner.diverged:
            _, name, problem = diverged[0]
            others = f" (and {self.scanner.diverged_count - 1} more)" if len(diverged) > 1 else ""
            return f"not what the panel wrote: {name or 'the files'}: {problem}{others}"
        if map_used > MAP_ALARM:
            return f"the LMDB map is {map_used:.0%} full: raise lmdb-map-size"
        if self.computed_types.resolver_problem:
            return f"ALIAS is not answered: {self.computed_types.resolver_problem}"
        if unanswered := self.computed_types.unanswered:
            _, name, type, problem = unanswered[0]
            others = f" (and {len(unanswered) - 1} more)" if len(unanswered) > 1 else ""
            return f"no answer for {name} {type}: {problem}{others}"
        return "in order" if has_position else "new: nothing applied yet"

    def _bootstrapping(self) -> str:
        """Return a message about an unfinished snapshot, or "" if no snapshot is unfinished."""
        if self._store.installing() and self.applier.is_busy():
            return "bootstrapping: writing the snapshot; zones that were there before are served on"
        if progress := self.snapshots.progress:
            return f"bootstrapping: {progress[1]} of {progress[2]} chunks of the snapshot are here"
        return "a snapshot was begun here and did not end: waiting for another one" if self._store.installing() else ""


def _take_locks(config: AgentConfig) -> tuple[int, int]:
    """Take the locks that prevent two agents from using the same files. Raise Busy if another agent runs."""
    config.lmdb_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    ours = take_lock(config.state_dir / LOCK_FILE, f"{config.state_dir} (an agent)")
    lmdb_lock = Path(f"{os.path.realpath(config.lmdb_path)}{LMDB_LOCK_SUFFIX}")
    try:
        return ours, take_lock(lmdb_lock, f"{config.lmdb_path} (an agent)")
    except Busy:
        os.close(ours)
        raise
