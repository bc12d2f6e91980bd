"""The agent put together: store, applier, observer and server of one node, and the loop that keeps time."""

import fcntl
import logging
import os
import shutil
import threading
import time
from types import TracebackType
from typing import Self

from replication import mapped, stats
from replication.agent import VERSION
from replication.agent.apply import Applier
from replication.agent.config import AgentConfig
from replication.agent.observe import INTERVAL_SECONDS, Observer, StatisticsApi
from replication.agent.purge import ControlSocket, Purger, Receivers
from replication.agent.server import AgentServer, server_context
from replication.errors import Busy
from replication.protocol import Status
from replication.store import LMDB_VERSION, Store

LOCK_FILE = "agent.lock"
# From here on a full map is announced in words; LMDB would stop taking changes at 1.
MAP_ALARM = 0.7

logger = logging.getLogger(__name__)


def open_store(config: AgentConfig) -> Store:
    """The node's LMDB files, made if they do not exist."""
    config.lmdb_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    identity = config.identity
    return Store.open(config.lmdb_path, identity.schema, config.map_size, cluster=identity.cluster)


class AgentNode:
    """One running agent. Entering it takes the node's lock and opens the port; leaving gives both back."""

    def __init__(self, config: AgentConfig) -> None:
        self._config = config
        config.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _lock(config)
        self._store = open_store(config)
        purger = Purger(
            ControlSocket(str(config.control_socket)),
            Receivers(config.dns_address, config.dns_port, config.receiver_threads),
        )
        self.applier = Applier(
            self._store,
            purger,
            signing_keys=config.identity.signing_keys,
            dns_address=config.dns_address,
            dns_port=config.dns_port,
        )
        self.observer = Observer(StatisticsApi(config.api_port, config.api_key).read)
        self._started_at = time.time()
        self.server = AgentServer(
            (config.listen_host, config.listen_port),
            server_context(config.certificate_path, config.key_path, config.ca_path),
            applier=self.applier,
            observer=self.observer,
            status=self.status,
            spool=config.state_dir,
            max_body=config.max_body,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.server_close()
        self._store.close()
        os.close(self._lock)

    def serve(self, stop: threading.Event) -> None:
        """Serve the panel and take a sample each second until `stop` is set."""
        self.applier.look()
        logger.info(
            "started node=%s port=%d position=%s powerdns=%s",
            self._config.identity.node, self.server.server_address[1], self._store.position() or "none",
            self.applier.powerdns_version or "down",
        )  # fmt: skip
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.5}, daemon=True)
        thread.start()
        due = time.monotonic()
        while not stop.is_set():
            self.step()
            due = max(due + INTERVAL_SECONDS, time.monotonic())
            stop.wait(due - time.monotonic())
        self.server.shutdown()
        logger.info("stopped node=%s position=%s", self._config.identity.node, self._store.position() or "none")

    def step(self) -> None:
        """What is done once a second: a sample, a look at PowerDNS, and tidying up."""
        if self._config.api_key:
            self.observer.step()
        self.applier.look()
        self._store.clear_dead_readers()
        self._store.release_pages()

    def status(self) -> Status:
        """How this node is doing, in facts and in words."""
        position, health = self._store.position(), self.applier.health
        main, records = self._store.digests()
        uses = self._store.use()
        map_used = max(use.used_bytes / use.map_bytes for use in uses)
        return Status(
            node=self._config.identity.node,
            position=position,
            digest_main=main,
            digest_records=records,
            schema=self._config.identity.schema,
            state=self._state(map_used, has_position=position is not None),
            refusal=health.refusal,
            refused_at=health.refused_at,
            answered=health.answered,
            clock=time.time(),
            started_at=self._started_at,
            versions={
                "agent": VERSION,
                "powerdns": self.applier.powerdns_version,
                "lmdb": LMDB_VERSION,
            },
            map_used=round(map_used, 4),
            disk_free_bytes=shutil.disk_usage(self._config.lmdb_path.parent).free,
            oldest_reader=max(use.oldest_reader_lag or 0 for use in uses),
            rss_bytes=mapped.resident_bytes(),
            peak_rss_bytes=mapped.peak_resident_bytes(),
            write_lock_ms_max=round(stats.WRITE_LOCK_MS_MAX.value, 2),
            segments_applied=int(stats.SEGMENTS_APPLIED.value),
        )

    def _state(self, map_used: float, *, has_position: bool) -> str:
        """The most important thing there is to say."""
        health = self.applier.health
        if health.refusal:
            return f"stopped applying, still serving: {health.refusal}"
        if health.unserved:
            since = time.strftime("%H:%M:%S UTC", time.gmtime(health.unserved_since))
            return f"PowerDNS does not answer as it should since {since}: {health.unserved}"
        if map_used > MAP_ALARM:
            return f"the LMDB map is {map_used:.0%} full: raise lmdb-map-size"
        return "in order" if has_position else "new: nothing applied yet"


def _lock(config: AgentConfig) -> int:
    """The lock that keeps a second agent from the same node. Raises Busy."""
    descriptor = os.open(config.state_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        os.close(descriptor)
        raise Busy(what=f"{config.state_dir} (an agent)") from exc
    return descriptor
