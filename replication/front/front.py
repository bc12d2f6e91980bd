"""Run a front: write dnsdist's configuration, and regularly correct dnsdist's rotation and cache."""

import base64
import json
import logging
import secrets
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from replication.agent.agent_identity import write_atomically
from replication.dns import rdtypes
from replication.errors import BadBytes, NotServed, ReplicationError
from replication.front import dnsdist_conf, dnsdist_yaml, xdp
from replication.front.bypass import EVERYTHING, RULES, Bypass, rule_of
from replication.front.decisions import Means, Secrets, needs_restart
from replication.front.dnsdist import Configured, Dnsdist, Numbers, ServerNumbers
from replication.front.front_config import FrontConfig
from replication.front.rotation import Known, Rotation, Rules, Verdict
from replication.store.applying import POSITION_ZONE
from replication.troubles import Troubles
from replication.verify import ask, rrset_in
from replication.wire.front_messages import Backend, Endpoint
from replication.wire.position import Position, parse_position

# The interval and the longest wait for a query to each backend. The wait is shorter for one that was silent.
LOOK_SECONDS = 0.25
ANSWER_SECONDS = 0.4
SILENT_SECONDS = 0.1
SECRETS_FILE = "secrets.json"
ROTATION_FILE = "rotation.conf"
FORMER, NEXT = "former", "next"  # with the suffix of the configuration, which shows dnsdist the format
# The kernel takes an interface's queues back some time after a program has ended, without a signal. So the next
# program waits this long, and tries again while the queues are busy.
QUEUE_SECONDS = 0.2
BUSY_SECONDS = 5.0
_LONGEST_REASON = 300
_Stamps = tuple[tuple[int, ...], ...]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Looked:
    """The result of one `Front.look`: the decisions about all backends, and the position that dnsdist serves."""

    verdicts: Mapping[str, Verdict]
    # The lowest position of the nodes in rotation. None if one doesn't answer, none is in rotation, or dnsdist failed.
    served: Position | None
    trouble: str  # the reason that dnsdist didn't follow the check; empty if it did


class Front:
    """A front: it writes dnsdist's configuration, and corrects dnsdist's rotation and cache. Not thread-safe.

    If `bypass` is None, the front doesn't know which zones change. Then the whole cache is emptied whenever the
    rotation or a node's position changes.
    """

    def __init__(self, config: FrontConfig, bypass: Bypass | None = None) -> None:
        self._config = config
        config.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        config.rotation_dir.mkdir(mode=0o700, exist_ok=True)
        self._secrets = _secrets(config)
        self._dnsdist = Dnsdist(config.dnsdist, config.api_port, self._secrets.api_key)
        self._means: Means | None = None
        self._running = ""  # the version of the running dnsdist
        self._others_text = ""  # a dnsdist.yml that this front did not write
        self._out: frozenset[str] | None = None  # as in dnsdist.yml; None until that was read
        rules = Rules(config.minimum, config.most_behind, config.behind_seconds)
        self._rotation = Rotation([backend.name for backend in config.backends], rules)
        self._threads = ThreadPoolExecutor(max(1, len(config.backends)), thread_name_prefix="position")
        self._bypass = bypass
        self._served: Mapping[str, Position | None] = {}
        self._silent: frozenset[str] = frozenset()
        self._down: frozenset[str] = frozenset()
        self._purges = 0  # how many more times the cache must be emptied
        self._troubles = Troubles(logger)
        # The stamps of the certificate and key that dnsdist has read, and of a pair that doesn't match.
        self._tls_told: _Stamps = ()
        self._tls_unfit: _Stamps = ()
        # The position that the panel knows. Nodes that lack it must not answer.
        self.floor: Position | None = None
        if not (config.rotation_dir / ROTATION_FILE).exists():
            write_atomically(config.rotation_dir / ROTATION_FILE, dnsdist_conf.rotation_text(()))

    @property
    def means(self) -> Means:
        """The installed release, and the number of AF_XDP queues with the reason if they aren't used.

        Cached until another dnsdist starts. Raises NotServed if the dnsdist program fails, or BadBytes for invalid
        output.
        """
        if self._means is None:
            release = self._dnsdist.release()
            queues, reason = xdp.queues_for(self._config.xdp_interface, release)
            if queues and self._refused_path.exists():
                queues, reason = 0, self._refused_path.read_text()
            self._means = Means(release, queues, reason)
        return self._means

    @property
    def conf_path(self) -> Path:
        """The path of the configuration file that the installed dnsdist reads. Raises the errors of `means`."""
        return self._config.yaml_path if self.means.release.reads_yaml else self._config.conf_path

    def conf(self) -> str:
        """Render the configuration file for the installed dnsdist. Raise the errors of `means`."""
        return self._render(self.means)

    def write(self) -> bool:
        """Write dnsdist's configuration.

        Return True if dnsdist has to restart to use it. A running dnsdist is then stopped. If only the nodes changed,
        the next `look` applies them to the running dnsdist. If the certificate doesn't match its key, or the installed
        dnsdist can't start with the configuration, raise BadBytes and change nothing. Raise the errors of `means`.
        """
        self._check_tls()
        text, path = self.conf(), self.conf_path
        former_path = path if path.exists() else self._other_path()
        before = former_path.read_text() if former_path.exists() else ""
        if before == text:
            return False
        self._check(path.suffix)
        former = self._config.state_dir / f"{FORMER}{former_path.suffix}"
        if before:
            write_atomically(former, before)
        write_atomically(path, text)
        self._other_path().unlink(missing_ok=True)
        if not needs_restart(before, text):
            return False
        if before:
            try:
                self._dnsdist.shut_down(conf=former)
            except NotServed as exc:
                logger.info("no running dnsdist got the new configuration: %s", exc)
        return True

    def start_path(self) -> Path:
        """Write dnsdist's configuration and return the path to start it with. Raise the errors of `write`.

        Leave AF_XDP out if dnsdist can't start with it. To find out, run dnsdist's own check, which opens the AF_XDP
        sockets. While another process uses the sockets, wait and repeat the check.
        """
        self._refused_path.unlink(missing_ok=True)
        self._means = None
        self.write()
        if self.means.queues:
            try:
                self._check_queues()
            except BadBytes as exc:
                logger.warning("dnsdist starts without AF_XDP: %s", exc)
                write_atomically(self._refused_path, f"no AF_XDP: {' '.join(str(exc).split())[-_LONGEST_REASON:]}")
                self._means = None
                self.write()
        return self.conf_path

    def run(self, stop: threading.Event) -> None:
        """Keep the rotation up to date until `stop` is set. dnsdist also runs before and after this call."""
        while True:
            started = time.monotonic()
            self.look(started)
            if stop.wait(max(0.0, LOOK_SECONDS - (time.monotonic() - started))):
                self.close()
                return

    def close(self) -> None:
        """Stop the threads that query backends."""
        self._threads.shutdown()

    def look(self, now: float) -> Looked:
        """Query every backend once, make dnsdist use those that are allowed to answer, and return the result.

        dnsdist's state is compared with the wanted state each time, also to correct restarts and manual changes.
        """
        positions = self.positions()
        out = {backend.name: backend.sentence for backend in self._config.backends if backend.out}
        verdicts = self._rotation.see(positions, now, Known(self.floor, out, self._down))
        self._write_rotation(verdicts)
        served = _lowest_position(verdicts, positions)
        if self._bypass is not None:
            if any(verdict.is_older(self.floor) for verdict in verdicts.values()):
                # Answers of a node that stays only because too few are left must not be cached.
                self._bypass.hold([EVERYTHING], self.floor)
            self._bypass.settle(served, now)
        try:
            self._close_difference(verdicts, now)
        except ReplicationError as exc:
            self._say(str(exc))
            return Looked(verdicts, None, str(exc))
        self._say("")
        return Looked(verdicts, served, "")

    def verify_position(self) -> Position:
        """Return the position that clients see through the front. Raise NotServed if dnsdist doesn't return one."""
        endpoint = self._config.listen[0]
        address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(endpoint.address, endpoint.address)
        found = position_at(Endpoint(address, endpoint.port), ANSWER_SECONDS)
        if found is None:
            raise NotServed(question=f"{POSITION_ZONE} TXT through dnsdist", expected="a position", found="none")
        return found

    def positions(self) -> dict[str, Position | None]:
        """Query each backend. Return the proved positions by name, with None for backends that don't answer."""
        backends = self._config.backends
        found = list(self._threads.map(self._position_of, backends))
        positions = dict(zip((backend.name for backend in backends), found, strict=True))
        self._silent = frozenset(name for name, position in positions.items() if position is None)
        return positions

    def numbers(self) -> Numbers:
        """Return dnsdist's counters. Raise NotServed if dnsdist doesn't answer."""
        return self._dnsdist.numbers()

    def _position_of(self, backend: Backend) -> Position | None:
        return position_at(backend.endpoint, SILENT_SECONDS if backend.name in self._silent else ANSWER_SECONDS)

    def _check_tls(self) -> None:
        """Raise BadBytes unless the certificate matches its key. dnsdist's own check doesn't read the files."""
        if not self._config.tls_certificate:
            return
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
                self._config.tls_certificate, self._config.tls_key
            )
        except OSError as exc:
            raise BadBytes(what=self._config.tls_certificate, reason=str(exc)) from exc

    def _renewed_tls(self) -> _Stamps:
        """Return the file stamps of a changed certificate and key, or () if dnsdist doesn't need to reload them."""
        stamps = tuple(map(_stamp, filter(None, (self._config.tls_certificate, self._config.tls_key))))
        if stamps in (self._tls_told, self._tls_unfit):
            return ()
        try:
            self._check_tls()
        except BadBytes as exc:
            self._tls_unfit = stamps
            logger.warning("dnsdist goes on with the certificate that it has: %s", exc)
            return ()
        return stamps

    def _close_difference(self, verdicts: Mapping[str, Verdict], now: float) -> None:
        """Make dnsdist query the right nodes, drop outdated answers, and reload renewed certificates.

        Raise NotServed if dnsdist fails, or the errors of `write` if another release has started.
        """
        found = self._dnsdist.read_configuration()
        self._notice_release(found.version)
        servers = {(each.name, each.address, each.weight): each for each in found.servers}
        # A node taken out because it is silent is no longer reported as down, and stays out until it answers.
        self._down = frozenset(each.name for each in found.servers if each.is_down) | (self._down & self._silent)
        commands = self._other_backends(servers)
        for backend in self._config.backends:
            verdict, server = verdicts[backend.name], servers.get(_key(backend))
            is_out = server is not None and server.is_taken_out
            if is_out == verdict.is_in:
                commands.append(
                    f'getServer("{dnsdist_conf.server_id(backend)}"):{"setAuto" if verdict.is_in else "setDown"}()'
                )
                word = "into" if verdict.is_in else "out of"
                logger.info("backend=%s goes %s rotation: %s", backend.name, word, verdict.reason)
        over: Sequence[str] = ()
        if self._bypass is not None and self._config.cache_entries:
            over = self._bypass.over(now)
            commands += self._hold(self._bypass, found, over)
        elif self._config.cache_entries:
            commands += self._empty(verdicts)
        renewed = self._renewed_tls()
        commands += ["reloadAllCertificates()"] if renewed else []
        if commands:
            self._dnsdist.execute("; ".join(commands), conf=self.conf_path)
            self._purges = max(0, self._purges - 1)
            self._tls_told = renewed or self._tls_told
        if self._bypass is not None:
            self._bypass.release(self._bypass.over(now) if not self._config.cache_entries else over)

    def _other_backends(self, servers: Mapping[tuple[str, str, int], ServerNumbers]) -> list[str]:
        """Return the commands that replace dnsdist's backends with those in the configuration."""
        expected = {_key(backend): backend for backend in self._config.backends}
        others = {name for name, _, _ in servers.keys() - expected.keys()}
        # Removed nodes are no longer checked. Threads that get the change late must not query them either.
        commands = dnsdist_conf.take_down_servers(others - {backend.name for backend in self._config.backends})
        commands += dnsdist_conf.remove_servers(others)
        commands += [dnsdist_conf.new_server(expected[key]) for key in expected.keys() - servers.keys()]
        return [*commands, dnsdist_conf.server_policy(self._config.backends)] if commands else []

    def _hold(self, bypass: Bypass, found: Configured, over: Sequence[str]) -> list[str]:
        """Return the commands that make held zones bypass the cache, and purge and release the zones in `over`."""
        present = {rule for rule in found.rules if rule.startswith(RULES)}
        bypassed = bypass.zones(without=over)
        rule = rule_of(bypassed) if bypassed else ""
        # The cache is emptied before a rule is removed, and a new rule is added before the old one is removed.
        commands = dnsdist_conf.expunge(over)
        if rule and rule not in present:
            commands.append(dnsdist_conf.hold_rule(bypassed, rule))
        return commands + [f'rmRule("{other}")' for other in sorted(present - {rule})]

    def _empty(self, verdicts: Mapping[str, Verdict]) -> list[str]:
        served = {name: verdict.position for name, verdict in verdicts.items() if verdict.is_in}
        if served != self._served:
            # The second purge is for answers that were on their way to dnsdist during the first.
            self._served, self._purges = served, 2
        return dnsdist_conf.expunge([EVERYTHING]) if self._purges else []

    def _write_rotation(self, verdicts: Mapping[str, Verdict]) -> None:
        """Write the backends that are out of rotation to both files that dnsdist reads after a restart."""
        self._out = frozenset(name for name, verdict in verdicts.items() if not verdict.is_in)
        path = self._config.rotation_dir / ROTATION_FILE
        text = dnsdist_conf.rotation_text(self._out)
        if not path.exists() or path.read_text() != text:
            write_atomically(path, text)
        if self._means is not None and (path := self._config.yaml_path).exists():
            before, text = path.read_text(), self.conf()
            if not needs_restart(before, text):
                if before != text:
                    write_atomically(path, text)
            elif before != self._others_text:
                # dnsdist started with this. The same release can be a different build.
                self._others_text, self._means, self._running = before, None, ""

    def _render(self, means: Means) -> str:
        if not means.release.reads_yaml:
            return dnsdist_conf.render(self._config, self._secrets, means)
        if self._out is None:
            path = self._config.yaml_path
            self._out = dnsdist_yaml.out_in(path.read_text(), self._config.backends) if path.exists() else frozenset()
        return dnsdist_yaml.render(self._config, self._secrets, means, self._out)

    @property
    def _refused_path(self) -> Path:
        """The file with the reason why dnsdist couldn't use AF_XDP at its last start. It exists only in that case."""
        return self._config.state_dir / "no-af-xdp"

    def _other_path(self) -> Path:
        """Return the path of the configuration in the other format, for other dnsdist releases."""
        return self._config.conf_path if self.means.release.reads_yaml else self._config.yaml_path

    def _check(self, suffix: str) -> None:
        """Raise BadBytes unless the installed dnsdist can start with the new configuration.

        The check leaves out AF_XDP. dnsdist opens AF_XDP sockets even for a check, and only one process can have them,
        so the check would fail while dnsdist runs.
        """
        path = self._config.state_dir / f"{NEXT}{suffix}"
        write_atomically(path, self._render(replace(self.means, queues=0)))
        self._dnsdist.check(path)
        path.unlink()

    def _check_queues(self) -> None:
        """Raise BadBytes unless the installed dnsdist can open the interface's queues.

        If another process uses the queues, wait for it. Afterwards, wait until the queues are free again.
        """
        give_up_at = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._dnsdist.check(self.conf_path)
                break
            except BadBytes as exc:
                if not xdp.is_busy(exc.reason) or time.monotonic() >= give_up_at:
                    raise
                logger.info("dnsdist waits for the interface's queues: %s", exc)
            time.sleep(QUEUE_SECONDS)
        time.sleep(QUEUE_SECONDS)

    def _notice_release(self, running: str) -> None:
        """Write the configuration again if another dnsdist release has started."""
        if running == self._running:
            return
        self._running = running
        if running != self.means.release.version:
            self._means = None
            logger.info("dnsdist=%s runs, installed=%s", running, self.means.release.version)
            self.write()

    def _say(self, trouble: str) -> None:
        """Log a problem once when it starts, and once when it ends."""
        self._troubles.say("dnsdist", trouble, time.monotonic())


def position_at(endpoint: Endpoint, seconds: float) -> Position | None:
    """Return the position that this server proves over DNS, or None if it doesn't answer with one."""
    try:
        answer = ask(endpoint.address, endpoint.port, POSITION_ZONE, rdtypes.TXT, seconds)
        rrset = rrset_in(answer, POSITION_ZONE, rdtypes.TXT)
        if rrset is None:
            return None
        return parse_position(b"".join(next(iter(rrset)).strings).decode("ascii", "replace"))
    except (NotServed, BadBytes, OSError):
        return None


def _stamp(path: str) -> tuple[int, ...]:
    """Return a value that changes when the file is replaced, or () if the file is missing."""
    try:
        found = Path(path).stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _key(backend: Backend) -> tuple[str, str, int]:
    """Return the key under which dnsdist reports this backend."""
    return backend.name, str(backend.endpoint), backend.weight


def _lowest_position(verdicts: Mapping[str, Verdict], positions: Mapping[str, Position | None]) -> Position | None:
    """Return the lowest position of the nodes in rotation.

    Return None if no node is in rotation, one didn't answer, or their histories of the log differ.
    """
    found = [positions[name] for name, verdict in verdicts.items() if verdict.is_in]
    answered = [position for position in found if position is not None]
    if not answered or len(answered) < len(found) or len({position.epoch for position in answered}) > 1:
        return None
    return min(answered, key=lambda position: position.sequence)


def _secrets(config: FrontConfig) -> Secrets:
    """Load this front's secrets, or create them at the first use. Raise BadBytes if their file is invalid."""
    path = config.state_dir / SECRETS_FILE
    if path.exists():
        try:
            return Secrets(**json.loads(path.read_text()))
        except (ValueError, TypeError) as exc:
            raise BadBytes(what=str(path), reason=str(exc)) from exc
    made = Secrets(base64.b64encode(secrets.token_bytes(32)).decode(), secrets.token_urlsafe(32))
    write_atomically(path, json.dumps(made._asdict()) + "\n")
    return made
