"""Query every agent once a second for samples and state, and store the results. Verbs.

Samples go to Redis. Contact times and versions go to PostgreSQL. Either store can be unavailable for a while: agents
keep samples for an hour, so a restart of Redis, PostgreSQL or the collector loses none.
"""

import logging
import ssl
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from django.db import DatabaseError, InterfaceError, close_old_connections
from django.utils import timezone
from redis.exceptions import RedisError

from dnspanel.database.database_away import reason_of
from dnspanel.fleet import telemetry, zone_queries
from dnspanel.fleet.integrity.unknown_history import hold_if_ahead
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import machines
from dnspanel.fleet.nodes.authority import client_of, client_ssl_context, ensure_authority
from dnspanel.fleet.nodes.heartbeats import COLLECTOR, beat
from dnspanel.fleet.processes.alive import Turns
from dnspanel.fleet.push import acks
from dnspanel.fleet.rollup import MINUTES, roll_up
from dnspanel.fleet.tasks import wake_repair
from replication.errors import BadBytes, NodeUnreachable, NotServed, Refused, ReplicationError
from replication.node_client import NodeClient
from replication.troubles import Troubles
from replication.wire.position import Position
from replication.wire.protocol import Sample, Status

TICK_SECONDS = 1.0
ANSWER_SECONDS = 3.0
# How often the top lists of a node are fetched while a person looks at them.
TOP_EVERY_SECONDS = 5.0
# The busiest zones of each node are fetched once a minute, from one node after another, the last one at this second.
LATEST_SECOND = 50
# A node that the first repair did not help is repaired again only after this pause.
REPAIR_EVERY_SECONDS = 15.0
# How often the collector records contact in PostgreSQL and reads the list of nodes.
RECORD_SECONDS = 4.0
MAX_THREADS = 32
# A node's clock can be this far off before its samples are moved to the panel's time.
CLOCK_TOLERANCE = 2.0

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Poller:
    """The collector's connection to one node, and the node's last known state. Not safe for concurrent use."""

    node_id: int
    name: str
    client: NodeClient
    # The agent's time of the newest stored sample; None until Redis was queried.
    seen: int | None = None
    kept: bool = False  # True if this process has added samples to the stream
    running: "Future[None] | None" = None
    problem: str = ""  # why the last poll did not reach the agent
    problem_recorded: str | None = None
    polled: bool = False  # True if a poll has ended, successfully or not
    heard: bool = False
    status: Status | None = None  # the agent's last status, and its time
    status_at: datetime | None = None
    diverged: tuple[tuple[int, str, str], ...] = ()
    repair_woken_at: float = float("-inf")
    position: Position | None = None
    minute_told: int = 0  # the minute of Unix time whose busiest zones were stored
    top_looked: float = float("-inf")  # when Redis was last asked if a person wants top lists
    versions: Mapping[str, str] = field(default_factory=dict)
    versions_recorded: Mapping[str, str] = field(default_factory=dict)
    # The machines that answered since the last record in PostgreSQL, with their addresses, and True if two alternated.
    seen_machines: dict[str, str] = field(default_factory=dict)
    second: bool = False
    sightings: machines.Sightings = field(default_factory=machines.Sightings)

    def poll(self) -> None:
        """Store new samples and due top lists. Wake a repair if zones differ. Raise ReplicationError or RedisError."""
        samples: list[Sample] | None = None
        if self.seen is None:
            status = self.client.status()
        else:
            status, samples = self.client.status_and_samples(self.seen)
        self.heard, self.problem = True, ""
        self.versions, self.position = status.versions, status.position
        self.status, self.status_at = status, timezone.now()
        self._repair_if_different(status, time.monotonic())
        self.seen_machines[status.machine] = self.client.peer
        self.second |= self.sightings.is_second(status.started_at)
        ahead = _clock_offset(status, time.time())
        if self.seen is None:
            newest = telemetry.newest_at(node_id=self.node_id)
            self.seen = newest + ahead if newest else 0
        elif status.clock < self.seen - CLOCK_TOLERANCE:
            self.seen, samples = int(status.clock), None  # its clock was set back: continue from its current time
        if samples is None:
            samples = self.client.samples(self.seen)
        samples = [_shift_sample(sample, -ahead) for sample in samples]
        length = telemetry.keep_samples(node_id=self.node_id, samples=samples)
        if self.kept and length <= len(samples):
            telemetry.forget_samples(node_id=self.node_id)  # Redis was emptied: fetch the whole hour again
            self.seen, self.kept = None, False
        elif samples:
            if not self.kept or MINUTES.end_of(samples[-1].at) != MINUTES.end_of(self.seen - ahead):
                roll_up(node_id=self.node_id)
            self.seen, self.kept = samples[-1].at + ahead, True
        self._fetch_top(time.monotonic())

    def _repair_if_different(self, status: Status, now: float) -> None:
        """Wake the repair task if the agent reports zones that differ from the panel's data.

        The same report wakes the task again only after REPAIR_EVERY_SECONDS.
        """
        if status.diverged and (status.diverged != self.diverged or now - self.repair_woken_at > REPAIR_EVERY_SECONDS):
            self.repair_woken_at = now
            wake_repair(self.node_id)
        self.diverged = status.diverged

    def _fetch_top(self, now: float) -> None:
        """Fetch the node's top lists and log while someone views the node's page.

        Also fetch the busiest zones once a minute, and lists of watched zones. Skip requests that an old agent refuses.
        """
        if now - self.top_looked < TOP_EVERY_SECONDS:
            return
        self.top_looked = now
        with suppress(Refused, NotServed, BadBytes):
            self._fetch_zones(time.time())
        if not telemetry.is_watched(node_id=self.node_id):
            return
        with suppress(Refused, NotServed, BadBytes):
            telemetry.keep_log(node_id=self.node_id, lines=self.client.log())
        with suppress(Refused, NotServed, BadBytes):
            telemetry.keep_top(node_id=self.node_id, top=self.client.top())

    def _fetch_zones(self, at: float) -> None:
        minute = (int(at) - self.node_id % LATEST_SECOND) // zone_queries.MINUTE
        if minute != self.minute_told:
            self.minute_told = minute
            zone_queries.keep_minute(node_id=self.node_id, top=self.client.top(), at=at)
        if zones := zone_queries.watched_zones():
            for zone, top in self.client.top_of_zones(zones).items():
                zone_queries.keep_zone_top(node_id=self.node_id, zone=zone, top=top)

    def leave(self) -> None:
        """Close the connection. If a poll is running, close it after the poll."""
        if self.running is None:
            self.client.close()
        else:
            self.running.add_done_callback(lambda _: self.client.close())


class Collector:
    """The loop that polls all active and drained nodes concurrently. A slow or dead node delays only its own poll."""

    def __init__(self) -> None:
        self._pollers: dict[int, Poller] = {}
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="poll")
        self._recorded_at = float("-inf")
        self._troubles = Troubles(logger)
        self._learned = False
        self._knows_contact = False
        self.turns = Turns()

    def run(self, stop: threading.Event) -> None:
        """Call `tick` every TICK_SECONDS until `stop` is set."""
        while not stop.wait(TICK_SECONDS - time.time() % TICK_SECONDS):
            self.tick(time.monotonic())
            self.turns.mark()
        self.close()

    def tick(self, now: float) -> None:
        """Start a poll of each node that isn't being polled. Exchange data with PostgreSQL every RECORD_SECONDS."""
        if now - self._recorded_at >= RECORD_SECONDS:
            self._recorded_at = now
            self._exchange()
        for poller in self._pollers.values():
            if poller.running is None or poller.running.done():
                poller.running = self._threads.submit(self._poll, poller)

    def settle(self) -> None:
        """Wait until all running polls have ended."""
        for poller in self._pollers.values():
            if poller.running is not None:
                poller.running.result()

    def close(self) -> None:
        self._threads.shutdown(wait=True)
        for poller in self._pollers.values():
            poller.leave()

    def _poll(self, poller: Poller) -> None:
        try:
            poller.poll()
        except ReplicationError as exc:
            poller.problem = exc.reason if isinstance(exc, NodeUnreachable) else str(exc)
            self._say(poller.name, f"no numbers of {poller.name}: {exc}")
        except RedisError as exc:
            self._say("redis", f"Redis keeps no live numbers: {exc}")
        except Exception:
            logger.exception("poll of %s failed", poller.name)
        else:
            self._say(poller.name, "")
            self._say("redis", "")
        finally:
            poller.polled = True

    def _exchange(self) -> None:
        """Record the nodes' contact and reports, hold publishing if a node is ahead, and load the list of nodes.

        If PostgreSQL is unavailable, the collector continues with the nodes it knows.
        """
        try:
            close_old_connections()
            self._record()
            self._learn()
        except (DatabaseError, InterfaceError) as exc:
            self._say("postgresql", f"PostgreSQL does not answer: {reason_of(exc)}")
        else:
            self._say("postgresql", "")

    def _record(self) -> None:
        heard = [poller for poller in self._pollers.values() if poller.heard]
        fresh = {p.node_id: p.versions for p in heard if p.versions != p.versions_recorded}
        acks.record_contact(node_ids=[p.node_id for p in heard], versions=fresh, now=timezone.now())
        self._record_problems()
        at = [(poller.name, poller.position) for poller in heard if poller.position is not None]
        hold_if_ahead(positions=at, now=timezone.now())
        reports = {p.node_id: (p.status_at, p.status.to_json()) for p in heard if p.status and p.status_at}
        acks.record_reports(reports=reports)
        for poller in heard:
            poller.heard, poller.versions_recorded = False, poller.versions
        # A heartbeat means that unheard nodes are silent. A process that has just started has not asked all nodes yet.
        self._knows_contact |= self._learned and all(poller.polled for poller in self._pollers.values())
        if self._knows_contact:
            beat(process=COLLECTOR, now=timezone.now())

    def _record_problems(self) -> None:
        """Store the reason why the panel can't reach an agent in PostgreSQL, each time the reason changes."""
        for poller in self._pollers.values():
            if poller.polled and (problem := poller.problem) != poller.problem_recorded:
                acks.record_contact_problem(node_id=poller.node_id, problem=problem)
                poller.problem_recorded = problem

    def _learn(self) -> None:
        nodes = {node.pk: node for node in Node.objects.filter(state__in=(NodeState.ACTIVE, NodeState.DRAINED))}
        context = client_ssl_context(ensure_authority(now=timezone.now()))
        for node_id, poller in list(self._pollers.items()):
            node = nodes.get(node_id)
            if node is None or not _leads_to(poller.client, node, context):
                self._pollers.pop(node_id).leave()
            else:
                _tell_machines(poller, node)
        if new := [node for node_id, node in nodes.items() if node_id not in self._pollers]:
            for node in new:
                client = client_of(node, context, answer_seconds=ANSWER_SECONDS)
                self._pollers[node.pk] = Poller(node.pk, node.name, client)
        self._learned = True

    def _say(self, about: str, trouble: str) -> None:
        """Log a problem when it begins and when it ends. A node's problem ends with its next successful poll."""
        self._troubles.say(about, trouble, time.monotonic())


def _clock_offset(status: Status, now: float) -> int:
    """Return the number of seconds that the node's clock is ahead, or 0 if the offset is within CLOCK_TOLERANCE."""
    offset = status.clock - now
    return round(offset) if abs(offset) > CLOCK_TOLERANCE else 0


def _shift_sample(sample: Sample, seconds: int) -> Sample:
    return sample._replace(at=sample.at + seconds) if seconds else sample


def _tell_machines(poller: Poller, node: Node) -> None:
    """Store the machines that responded as this node in PostgreSQL. A known machine needs no statement."""
    seen, second = poller.seen_machines, poller.second
    poller.seen_machines, poller.second = {}, False
    for machine, address in seen.items():
        if second or (machine, address) != (node.machine, node.machine_address):
            machines.see(node=node, machine=machine, address=address, second=second, now=timezone.now())


def _leads_to(client: NodeClient, node: Node, context: ssl.SSLContext) -> bool:
    """Return True if the client uses the node's current address and pins, and the panel's current certificate."""
    agent = (node.agent_host, node.agent_port, node.pins, context)
    return (client.host, client.port, client.certificate_sha256, client.ssl_context) == agent
