"""Replace the LMDB files that PowerDNS serves from, on a node that can't be repaired in place.

The files are replaced if they are unreadable, or if PowerDNS needs another schema. Until they are replaced, PowerDNS
keeps answering as long as it can. The agent accepts no segments, reports the reason, and waits for a snapshot. When the
snapshot is received and verified, its two files are exactly the files that PowerDNS needs:

1. Link (or copy) them next to the old files as `<lmdb_path>.next`, open and check them, and decrypt their DNSSEC keys.
2. Write `swap.json` in the agent's directory. It commits the swap.
3. Put the new files and their lock files in place with four renames. Processes that have the old files open keep them.
4. Write identity.json and, if agent.toml names it, pdns.conf for the new schema.
5. Make PowerDNS quit. Its supervisor restarts it, with the new files.
6. Delete `swap.json`, and restart the agent.

An agent that finds `swap.json` when it starts does steps 3 to 6 first.

    <state_dir>/quarantine      the reason why the files aren't used any longer, as text; deleted by the swap
    <state_dir>/swap.json       {"schema": n}: the new files must replace the old ones
    <state_dir>/running         exists while an agent runs; if it exists at the start, the last agent crashed
    <state_dir>/stand-in/       an empty store that the agent opens while it can't use the node's files
"""

import contextlib
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from replication.agent.agent_config import AgentConfig
from replication.agent.agent_identity import IdentityKeeper, write_atomically
from replication.agent.powerdns.installed import InstalledPowerdns, schema_of_release
from replication.agent.powerdns.powerdns_computed_types import pdns_conf_of
from replication.agent.updates.purge import ControlSocket
from replication.codec.sealed import SecretOf
from replication.disk import sync_directory
from replication.errors import BadBytes, BadSnapshot, DiskFull, NotServed
from replication.store.store import Store
from replication.wire.position import Position

QUARANTINE_FILE, SWAP_FILE, RUNNING_FILE, STAND_IN = "quarantine", "swap.json", "running", "stand-in"
# The longest wait at the agent's start until every row was read. After that, reading continues in the background.
PROBE_SECONDS = 1.5
QUIT_SECONDS = 5.0
_QUIT_PAUSE_SECONDS = 0.1
# The records file before the main file, each after its lock file: PowerDNS opens them in the opposite order.
_PARTS = ("-0-lock", "-0", "-lock", "")

logger = logging.getLogger(__name__)


class Rebuild:
    """The replacement of this node's files. `reason` is the reason for it, or "" while the files are in use."""

    def __init__(
        self, config: AgentConfig, identity: IdentityKeeper, control: ControlSocket, *, sealing_keys: SecretOf
    ) -> None:
        self._config, self._identity, self._control = config, identity, control
        self._sealing_keys = sealing_keys
        self._installed = InstalledPowerdns(config.pdns_server)
        self.anew = threading.Event()
        self.probed = threading.Event()
        self.reason = ""
        self.is_open = False
        self._finish_swap()

    @property
    def installed_release(self) -> str:
        """The release of the PowerDNS installed on disk, or "" if it is unknown."""
        return self._installed.release

    def needed_schema(self, running_release: str) -> int:
        """Return the schema that the installed PowerDNS needs. If its release is unknown, use the running release.

        Return 0 if the schema is unknown.
        """
        return schema_of_release(self.installed_release or running_release)

    def open_store(self) -> Store:
        """Open the node's files. If they are unusable, set `reason` and open a stand-in store that accepts nothing."""
        self.reason = self._quarantine_reason() or self._probe()
        if not self.reason:
            try:
                store = open_store(self._config, self._identity.identity.schema, self._sealing_keys)
                self.is_open = True
                return store
            except BadBytes as exc:
                self.reason = str(exc)
        self.probed.set()
        logger.error("quarantined: %s", self.reason)
        directory = self._config.state_dir / STAND_IN
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(mode=0o700)
        identity = self._identity.identity
        store = Store.open(directory / "lmdb", identity.schema, self._config.map_size, cluster=identity.cluster)
        store.refuse_segments()
        return store

    def close(self) -> None:
        """Record that this agent shuts down cleanly."""
        (self._config.state_dir / RUNNING_FILE).unlink(missing_ok=True)

    def _probe(self) -> str:
        """Mark this agent as running. After a crash, check the files. Return the damage found, or "".

        If a check longer than PROBE_SECONDS finds damage, the agent restarts. The integrity scan waits for the end of
        the check.
        """
        running, path = self._config.state_dir / RUNNING_FILE, self._config.lmdb_path
        is_first = not running.exists() or not path.exists()
        running.touch()
        if is_first:
            self.probed.set()
            return ""
        reading = self._start_reading()
        reading.join(PROBE_SECONDS)
        return self._quarantine_reason()

    def suspect_damage(self, reason: str) -> None:
        """Check every row in a separate process, unless one runs. Quarantine the files if a row can't be read."""
        if self.is_open and self.probed.is_set():
            logger.warning("reading every row, because: %s", reason)
            self.probed.clear()
            self._start_reading()

    def _start_reading(self) -> threading.Thread:
        """Start a process that reads every row. Return the thread that waits for it and then sets `probed`.

        If the process fails, the thread quarantines the files first.
        """
        path = os.path.realpath(self._config.lmdb_path)
        command = [sys.executable, "-m", "replication.agent.probe", path]
        probe = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

        def wait() -> None:
            _, stderr = probe.communicate()
            if probe.returncode:
                ended = f"reading it ended with signal {-probe.returncode}" if probe.returncode < 0 else stderr.strip()
                self.quarantine(f"{path} is damaged ({ended[-200:]})")
            self.probed.set()

        reading = threading.Thread(target=wait, name="probe", daemon=True)
        reading.start()
        return reading

    def quarantine(self, reason: str) -> None:
        """Stop the use of damaged files: store the reason, and restart this agent if it has the files open."""
        write_atomically(self._config.state_dir / QUARANTINE_FILE, reason)
        if self.is_open and not self.reason:
            self.anew.set()

    def start_anew(self) -> None:
        """Restart this agent once the requests in progress are answered."""
        self.anew.set()

    def is_needed_for(self, schema: int) -> bool:
        """Return True if a snapshot of this schema cannot be installed in place."""
        return bool(self.reason) or schema != self._identity.identity.schema

    def refuse_other_schema(self, schema: int, running_release: str = "") -> None:
        """Raise BadSnapshot unless the files have this schema, PowerDNS needs it, or PowerDNS's schema is unknown."""
        ours, needed = self._identity.identity.schema, self.needed_schema(running_release)
        if schema not in (ours, needed or schema):
            raise BadSnapshot(reason=f"it is for schema {schema}; this node has {ours}, its PowerDNS needs {needed}")

    def place(self, path: Path, schema: int, position: Position) -> None:
        """Replace the node's files with those at `path`, and stop PowerDNS, which restarts with the new files.

        The DNSSEC keys in the new files are decrypted first. Raise BadSnapshot if these files are at another position,
        UnknownSealingKey if a key can't be decrypted, or DiskFull. An error leaves the node's files unchanged.
        """
        beside = _beside(self._config.lmdb_path)
        try:
            for part in _PARTS:
                Path(f"{beside}{part}").unlink(missing_ok=True)
            for part in ("-0", ""):
                _link(Path(f"{path}{part}"), Path(f"{beside}{part}"))
        except OSError as exc:
            raise DiskFull(path=str(beside), reason=str(exc)) from exc
        cluster = self._identity.identity.cluster
        with Store.open(
            beside, schema, self._config.map_size, cluster=cluster, create=False, sealing_keys=self._sealing_keys
        ) as store:
            if store.position() != position:
                raise BadSnapshot(reason=f"its files are at {store.position()}, the manifest says {position}")
            store.open_keys()
        write_atomically(self._config.state_dir / SWAP_FILE, json.dumps({"schema": schema}))
        self._finish_swap()

    def _finish_swap(self) -> None:
        """Finish a committed swap: steps 3 to 6 of the module's docstring, without the restart of the agent."""
        swap = self._config.state_dir / SWAP_FILE
        if not swap.exists():
            return
        schema = int(json.loads(swap.read_text())["schema"])
        path = self._config.lmdb_path
        for part in _PARTS:
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{_beside(path)}{part}", f"{os.path.realpath(path)}{part}")
        sync_directory(path.parent)
        self._identity.change_schema(schema)
        if self._config.pdns_conf is not None:
            write_atomically(self._config.pdns_conf, pdns_conf_of(self._config, schema=schema))
        self.end_powerdns()
        (self._config.state_dir / QUARANTINE_FILE).unlink(missing_ok=True)
        swap.unlink()
        logger.warning("whole new files are in place path=%s schema=%d", path, schema)

    def end_powerdns(self) -> bool:
        """Make PowerDNS quit, and wait up to QUIT_SECONDS until it exits. Return False if it wasn't running."""
        before = self._control.listener()
        if before is None:
            return False
        with contextlib.suppress(NotServed):
            self._control.send("quit")  # PowerDNS answers "Exiting", and exits a second later
        until = time.monotonic() + QUIT_SECONDS
        while self._control.listener() == before:
            if time.monotonic() > until:
                logger.warning("PowerDNS was told to quit %.0f s ago and did not", QUIT_SECONDS)
                break
            time.sleep(_QUIT_PAUSE_SECONDS)
        return True

    def _quarantine_reason(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            return (self._config.state_dir / QUARANTINE_FILE).read_text() or "the files are damaged"
        return ""


def open_store(config: AgentConfig, schema: int, sealing_keys: SecretOf | None = None) -> Store:
    """Open the node's LMDB files, creating missing ones. Raise BadBytes if the files are unusable."""
    config.lmdb_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Store.open(
        config.lmdb_path, schema, config.map_size, cluster=config.identity.cluster, sealing_keys=sealing_keys
    )


def _beside(path: Path) -> str:
    return os.path.realpath(path) + ".next"


def _link(source: Path, target: Path) -> None:
    """Link the file under a new name, or copy it if the target is on another file system. Sync the new file."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
        os.chmod(target, 0o600)
    descriptor = os.open(target, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
