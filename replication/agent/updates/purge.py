"""Purge PowerDNS's caches after a commit. No query sent after the ack then gets an older answer.

One purge is not enough. PowerDNS reads rows first and caches the results later, and the purge can happen in between.
Two kinds of old data can therefore appear *after* a purge:

- rows: a thread read LMDB before our commit, was preempted, and fills the query cache after the purge;
- answers: a thread took rows out of the query cache before they were purged, and fills the packet cache afterwards.
  Releases before 4.9.12 and 5.0.1 make this likely: their purge empties the packet cache first, the query cache last.

Waiting some milliseconds makes both rare, but on a loaded machine a thread can sleep for longer. Instead, `purge_zones`
proves that no thread still has old data. With `distributor-threads=1` and `reuseport=yes` (our `pdns.conf`), a receiver
thread takes a query from its own socket, answers it, fills the caches, sends the answer, and only then takes the next
query. So when a receiver answers a query sent at time t, everything that it began before t is finished, including the
caches. `Receivers` queries through enough sockets that every receiver gets at least one of the queries. The steps after
a commit:

0. Add new zones to PowerDNS's list (`zonecache`) before anything is purged. Until then PowerDNS answers REFUSED, and
   would cache that answer again. New zones of an import are added later, with a separate purge (`apply`).
1. Purge. New data is visible from now on, except for the two races above.
2. Wait for all receivers. Every read of LMDB from before the commit is now finished: from now on no thread *begins* to
   put old rows into the query cache. Old rows can be there since step 1.
3. Purge. No old rows are left. Old answers can still appear, from threads that found such rows between 1 and 3.
4. Wait for all receivers. Those threads are done. Their answers can be in the packet cache.
5. Purge. No old answers are left, no thread has any, and no old data is left to make one from.

The names to purge are determined before step 1 and are the same in all three purges (`stale`): single names if no other
name's answer can have changed, otherwise the zone and all names below it.

PowerDNS runs one command at a time on its control socket. While it reads its list of zones there, which takes most of a
second with hundreds of thousands of zones, a few names are purged over HTTP instead, and TCP connections are assumed to
be open.

Keys and metadata of zones are cached separately from rows, for 30 and 60 s, and `zone$` purges them for all zones. Some
records can only be deleted once no thread uses the previous settings (an NSEC3 chain). In that case the five steps are
done in the middle of a segment: after the main file's commit, before the deletions (`purge_before_late`).

A PowerDNS that caches nothing (`caches = false` in agent.toml, for a private node such as ring 0) needs none of this:
every lookup opens its own read transaction and sees the last commit. Then one query to each receiver is enough. The
agent gets this setting from PowerDNS itself (`running_config`), because agent.toml can be newer than the process.

What this does not cover, and why that is bounded:

- In the answer "no such name" the SOA can have the previous serial for `cache-ttl` (`stale`).
- Queries over TCP are answered by a thread per connection, which no query of ours reaches. While TCP connections are
  open, step 3 is done `TCP_GRACE_SECONDS` later, and the purge is repeated a second later (`sweep`). An old answer
  would need a thread that was stopped for all that time in a few microseconds of code, and would be cached for a
  second.
- The web server also reads, but the agent only requests statistics from it, which touch no zone.
- PowerDNS 4.7 to 4.9 answers a query for *another* zone by following its CNAME into the changed zone. The panel marks
  the zones of such CNAMEs, so they are purged too. It doesn't find CNAMEs that lead to a wildcard's names; `cache-ttl`,
  5 s in our `pdns.conf`, bounds those. From 5.0 on `pdns.conf` turns such answers off.
"""

import math
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from itertools import count

from replication import stats
from replication.agent.powerdns.zonecache import MAX_SINGLE, REDISCOVER_SECONDS, ZoneCache
from replication.dns import rdtypes
from replication.errors import NotServed
from replication.store.applying import POSITION_ZONE
from replication.verify import connect_socket, encode_question
from replication.wire.position import Position

COMMAND_SECONDS = 2.0
DRAIN_SECONDS = 1.5
# A query that was lost in a full socket buffer is sent again after this time.
RETRY_SECONDS = 0.02
TCP_GRACE_SECONDS = 0.01
# If more zones than this have to be purged, everything is purged at once.
MAX_ZONES = 200

# The names to purge, `zone$` for a zone with everything below it; empty means everything.
Targets = tuple[str, ...]
EVERYTHING: Targets = ()

# The probability that a receiver gets none of the queries.
_MISS = 1e-9
_MAX_SOCKETS = 512
# Process, user and group of the creator of a UNIX socket.
_CREDENTIALS = struct.Struct("iii")


def socket_count(receivers: int) -> int:
    """Return the number of sockets needed to reach every receiver with a query, except with a probability of 10^-9.

    The kernel's hash maps sockets to receivers evenly, and stays the same while PowerDNS runs. At most _MAX_SOCKETS.
    """
    if receivers <= 1:
        return 1
    return min(_MAX_SOCKETS, math.ceil(math.log(_MISS / receivers) / math.log((receivers - 1) / receivers)))


class ControlSocket:
    """PowerDNS's control channel. Each connection takes one command and is closed at the end of the reply."""

    def __init__(self, path: str) -> None:
        self._path = path

    def send(self, command: str, *, seconds: float = COMMAND_SECONDS) -> str:
        """Send a command and return the reply.

        Raise NotServed if the connection fails. PowerDNS replies only if it can parse every part of the command.
        """
        deadline = time.monotonic() + seconds
        reply = bytearray()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            try:
                sock.settimeout(seconds)
                sock.connect(self._path)
                sock.sendall(command.encode("ascii") + b"\n")
                while piece := sock.recv(4096):
                    reply += piece
                    sock.settimeout(max(0.001, deadline - time.monotonic()))
            except OSError as exc:
                word = command.split(" ", 1)[0]
                raise NotServed(question=f"{word} on the control socket", expected="a reply", found=str(exc)) from exc
        return reply.decode("ascii", "replace")

    def listener(self) -> int | None:
        """Return the process id of the socket's listener, 0 if the id is hidden, or None if nothing listens."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            try:
                sock.settimeout(COMMAND_SECONDS)
                sock.connect(self._path)
                credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            except OSError:
                return None
        return int(_CREDENTIALS.unpack(credentials)[0])


class Receivers:
    """Sockets that together reach every receiver thread of a PowerDNS process."""

    def __init__(self, address: str, port: int, threads: int) -> None:
        self._address, self._port, self._count = address, port, socket_count(threads)
        self._sockets: dict[int, socket.socket] = {}
        self._poll = select.poll()
        self._ids = count(1)
        self._question = encode_question(0, POSITION_ZONE, rdtypes.TXT)[2:]

    def wait(self, position: Position | None, *, seconds: float = DRAIN_SECONDS) -> None:
        """Wait until every receiver has finished all work that it began before this call.

        Raise NotServed if a receiver doesn't answer in time, or answers with a position other than a given `position`.
        """
        self._open()
        id_ = (next(self._ids) & 0xFFFF).to_bytes(2, "big")
        question, expected = id_ + self._question, b"" if position is None else str(position).encode("ascii")
        deadline = time.monotonic() + seconds
        waiting = set(self._sockets)
        while waiting:
            stats.OWN_QUESTIONS.add(len(waiting))
            for descriptor in waiting:
                with suppress(OSError):  # refused, or no buffer: sent again like a lost question
                    self._sockets[descriptor].send(question)
            retry_at = min(deadline, time.monotonic() + RETRY_SECONDS)
            while waiting and (left := retry_at - time.monotonic()) > 0:
                for descriptor, _ in self._poll.poll(left * 1000):
                    if self._take(self._sockets[descriptor], id_, expected):
                        waiting.discard(descriptor)
            if waiting and time.monotonic() >= deadline:
                found = f"none from {len(waiting)} of {self._count} sockets"
                raise NotServed(question=f"{POSITION_ZONE} TXT", expected="an answer", found=found)

    def close(self) -> None:
        for descriptor, sock in self._sockets.items():
            self._poll.unregister(descriptor)
            sock.close()
        self._sockets = {}

    def _open(self) -> None:
        while len(self._sockets) < self._count:
            sock = connect_socket(self._address, self._port)
            self._sockets[sock.fileno()] = sock
            self._poll.register(sock, select.POLLIN)

    def _take(self, sock: socket.socket, id_: bytes, expected: bytes) -> bool:
        """Read one packet. Return True if it answers the current query. Raise NotServed if its position differs."""
        try:
            packet = sock.recv(512)
        except OSError:
            time.sleep(0.001)  # a refusing port makes the socket readable at once, repeatedly
            return False
        if packet[:2] != id_:
            return False
        if expected not in packet:
            raise NotServed(
                question=f"{POSITION_ZONE} TXT", expected=expected.decode("ascii"), found="another position"
            )
        return True


class Purger:
    """A client that purges one PowerDNS's caches after commits. The module's docstring explains the steps."""

    def __init__(
        self,
        control: ControlSocket,
        receivers: Receivers,
        zone_cache: ZoneCache,
        *,
        has_caches: Callable[[], bool] = lambda: True,
    ) -> None:
        self._control, self._receivers, self._zone_cache = control, receivers, zone_cache
        self.has_caches = has_caches
        self._again: deque[Targets] = deque()

    def purge_zones(
        self,
        zones: Collection[str],
        position: Position | None,
        *,
        names: Collection[str] = (),
        appeared: Collection[str] = (),
    ) -> None:
        """Purge until every later query is answered from the rows committed by now. Idempotent.

        `zones` are changed zones, purged with all names below them. `names` are single changed names. `appeared` are
        zones that can be new. If more than MAX_ZONES zones are given, purge all zones. If NotServed is raised, the
        caller must not acknowledge anything.
        """
        if not self.has_caches():
            self._receivers.wait(position)
            return
        self._zone_cache.learn(appeared)
        self._purge_and_wait(targets(zones, names), position)

    def purge_everything(self, position: Position | None, *, appeared: bool = True) -> None:
        """Purge all zones as in `purge_zones`. If `appeared` is true, first make PowerDNS list all new zones."""
        if not self.has_caches():
            self._receivers.wait(position)
            return
        if appeared:
            self._zone_cache.learn_all()
        self._purge_and_wait(EVERYTHING, position)

    def purge_before_late(self, zones: Collection[str]) -> None:
        """Purge until later queries use the committed keys and metadata of these zones.

        A stopped PowerDNS needs no purge, because it reads keys and metadata when it starts. Raise NotServed if a
        running PowerDNS doesn't respond.
        """
        try:
            self.purge_zones(zones, None)
        except NotServed:
            if self._control.listener() is not None:
                raise

    @property
    def list_due(self) -> float:
        """The earliest monotonic time to reread PowerDNS's zone list, which limits the time spent on reading."""
        return self._zone_cache.due

    @property
    def list_seconds(self) -> float:
        """The seconds that PowerDNS took to read its zone list the last time."""
        return self._zone_cache.seconds

    def read_list(self) -> None:
        """Make PowerDNS add every zone to its list, without a purge. Raise NotServed if it doesn't respond."""
        self._zone_cache.read()

    def _purge_and_wait(self, old: Targets, position: Position | None) -> None:
        self._purge(old)
        self._receivers.wait(None)
        if self._may_have_tcp():
            self._again.append(old)
            time.sleep(TCP_GRACE_SECONDS)
        self._purge(old)
        self._receivers.wait(position)
        self._purge(old)

    def _may_have_tcp(self) -> bool:
        """Return True if TCP connections are open, or if PowerDNS can't report their number at the moment."""
        if self._zone_cache.is_reading:
            return True
        return self._send("show open-tcp-connections").strip() not in ("", "0")

    def sweep(self) -> None:
        """Repeat the purges that were done while TCP connections were open. Runs every second."""
        again = {self._again.popleft() for _ in range(len(self._again))}
        for old in sorted(again):
            self._purge(old)

    def version(self) -> str:
        """Return the release of the running PowerDNS. Raise NotServed if PowerDNS doesn't run."""
        return self._send("version").strip()

    def _send(self, command: str) -> str:
        seconds = REDISCOVER_SECONDS if self._zone_cache.is_reading else COMMAND_SECONDS
        return self._control.send(command, seconds=seconds)

    def _purge(self, old: Targets) -> None:
        stats.PURGES.add()
        if self._zone_cache.is_reading and self._flush(old):
            return
        reply = self._send(" ".join(["purge", *old]))
        if not reply.strip().isdigit():
            raise NotServed(question="purge on the control socket", expected="a number", found=reply[:80] or "nothing")

    def _flush(self, old: Targets) -> bool:
        """Purge a few names, and all names below them, over HTTP.

        Return False for EVERYTHING or too many names, without an API key, or if PowerDNS rejects a name.
        """
        return 0 < len(old) <= MAX_SINGLE and self._zone_cache.flush(target.removesuffix("$") for target in old)


def targets(zones: Iterable[str], names: Iterable[str] = ()) -> Targets:
    """Return the purge targets for these zones and names and the position zone, or EVERYTHING above MAX_ZONES zones."""
    unique = sorted(set(zones))
    if len(unique) > MAX_ZONES:
        return EVERYTHING
    return (*(f"{zone}$" for zone in unique), *sorted(set(names)), POSITION_ZONE)
