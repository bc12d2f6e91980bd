"""Turn a server into a node: enroll it, and write its configuration, LMDB files and two systemd units.

    /etc/dnspanel-agent/agent.toml       the agent's configuration, which an operator can change
    /var/lib/dnspanel-agent/identity/    key and certificate; the key never leaves the server
    /var/lib/dnspanel-agent/state/       the agent's lock, and segments being received
    /var/lib/dnspanel-agent/lmdb/        PowerDNS's files, written by the agent
    /var/lib/dnspanel-agent/pdns/        pdns.conf, written by the agent

The command doesn't change /etc/powerdns or the files of an existing PowerDNS. After an interruption, it continues with
the next step. On a server that is already a node, it renews pdns.conf and the units. With a new code, it also enrolls
the server again.
"""

import os
import pwd
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from replication.agent.agent_config import AgentConfig, read_config, read_identity
from replication.agent.joining import install_agent
from replication.agent.joining.ask_to_enroll import ensure_enrolled
from replication.wire.enrolment import JoinSettings, Role

CONFIG = Path("/etc/dnspanel-agent/agent.toml")
DIRECTORY = Path("/var/lib/dnspanel-agent")
UNITS = Path("/etc/systemd/system")
SOCKET_DIRECTORY = Path("/run/pdns")  # RuntimeDirectory of Debian's unit
AGENT_UNIT = "dnspanel-agent.service"
# For a panel that doesn't send ports.
OLD_DNS_PORT, OLD_LISTEN_PORT = 53, 8533


@dataclass(frozen=True, slots=True)
class Joining:
    """The operator's options, and the paths to write to."""

    panel: str
    code: str
    dns_address: str = ""  # this and the two ports: empty or 0 means the panel's value
    dns_port: int = 0
    listen_port: int = 0
    api_port: int = 8081
    user: str = "pdns"
    config: Path = CONFIG
    directory: Path = DIRECTORY
    socket_directory: Path = SOCKET_DIRECTORY
    units: Path = UNITS
    agent_unit: str = AGENT_UNIT
    pdns_unit: str = "pdns.service"
    pdns_server: str = "pdns_server"
    caches: bool = True

    @property
    def identity(self) -> Path:
        return self.directory / "identity"

    @property
    def pdns_conf(self) -> Path:
        return self.directory / "pdns" / "pdns.conf"


def join(joining: Joining, *, render_pdns_conf: Callable[[AgentConfig], str], say: install_agent.Say) -> AgentConfig:
    """Make the server a node: enroll it, write its configuration and units, and return the configuration.

    1. Check that everything needed is present, before anything is written.
    2. Enroll, unless the server has enrolled with this code. This waits for a person's approval. Typed values that
       contradict the panel are rejected before an administrator approves.
    3. Write agent.toml, with the panel's addresses and ports. An existing agent.toml is kept.
    4. Write the LMDB files and pdns.conf, as the user that PowerDNS runs as.
    5. Write the units. The caller starts them.

    Raise CannotJoin or NotEnrolled if a step fails, also if agent.toml is invalid, and OSError if writing fails.
    """
    install_agent.refuse_unfit(user=joining.user, program=joining.pdns_server, packages="pdns-server pdns-backend-lmdb")
    directories = ("identity", "state", "lmdb", "pdns")
    install_agent.make_directories(joining.directory, directories, config=joining.config, user=joining.user)

    def check(settings: JoinSettings) -> None:
        install_agent.refuse_contradictions(
            settings, program="dnspanel-agent", given=_given_settings(joining, settings)
        )

    ensure_enrolled(joining.panel, joining.code, joining.identity, say=say, check=check)
    settings = _settings(joining)
    install_agent.write_config(joining.user, joining.config, _values(joining, settings))
    install_agent.give(joining.directory, joining.user)
    _run_as_user(joining, "prepare")
    config = read_config(joining.config)
    install_agent.describe_differences(joining.config, _written_settings(config, settings), say)
    install_agent.write_for(joining.user, joining.pdns_conf, render_pdns_conf(config))
    write_units(joining)
    say(f"{config.identity.node} is set up: configuration in {joining.config}, everything else in {joining.directory}.")
    return config


def write_units(joining: Joining) -> None:
    """Write the agent's systemd unit, and the drop-in file that makes PowerDNS's unit use the agent's pdns.conf."""
    values = {
        "python": sys.executable,
        "config": str(joining.config),
        "directory": str(joining.directory),
        "user": joining.user,
        "pdns_server": shutil.which(joining.pdns_server) or joining.pdns_server,
        "pdns_unit": joining.pdns_unit,
    }
    drop_in = joining.units / f"{joining.pdns_unit}.d" / "dnspanel.conf"
    files = {joining.units / joining.agent_unit: AGENT_UNIT, drop_in: "pdns.conf"}
    install_agent.write_unit_files("replication.agent", files, values)


def start_units(say: install_agent.Say, units: tuple[str, str]) -> None:
    """Start PowerDNS and the agent, now and after each boot (see `start`). Raise CannotJoin if systemctl fails."""
    install_agent.start(
        units,
        say,
        running="PowerDNS and the agent are running; the panel brings the zones.",
        otherwise="Start PowerDNS and the agent with the commands in their units.",
    )


def _given_settings(joining: Joining, settings: JoinSettings) -> dict[str, tuple[object, object]]:
    return {
        "--dns-address": (joining.dns_address, settings.dns_address),
        "--dns-port": (joining.dns_port, settings.dns_port),
        "--listen-port": (joining.listen_port, settings.agent_port),
    }


def _written_settings(config: AgentConfig, settings: JoinSettings) -> dict[str, tuple[object, object]]:
    return {
        "dns_address": (config.dns_address, settings.dns_address),
        "dns_port": (config.dns_port, settings.dns_port),
        "listen_port": (config.listen_port, settings.agent_port),
    }


def _settings(joining: Joining) -> JoinSettings:
    """Return the panel's settings, or else the typed ones. Raise CannotJoin if the identity or address is missing."""
    faults: list[str] = []
    identity = read_identity(joining.identity, faults)
    if identity is not None and identity.settings is not None:
        return identity.settings
    if not joining.dns_address and identity is not None:
        faults.append("This panel does not send addresses: say --dns-address, and --dns-port where it is not 53.")
    if faults:
        raise install_agent.CannotJoin(faults=faults)
    dns_port, listen_port = joining.dns_port or OLD_DNS_PORT, joining.listen_port or OLD_LISTEN_PORT
    return JoinSettings(Role.NODE, joining.dns_address, dns_port, listen_port)


def _values(joining: Joining, settings: JoinSettings) -> dict[str, str | int | bool]:
    """Return the initial values for agent.toml. Caching is off on the canary, so nothing has to be purged there."""
    return {
        "identity_dir": str(joining.identity),
        "state_dir": str(joining.directory / "state"),
        "lmdb_path": str(joining.directory / "lmdb" / "pdns.lmdb"),
        "pdns_conf": str(joining.pdns_conf),
        "pdns_server": shutil.which(joining.pdns_server) or joining.pdns_server,
        "control_socket": str(joining.socket_directory / "pdns.controlsocket"),
        "dns_address": settings.dns_address,
        "dns_port": settings.dns_port,
        "receiver_threads": os.cpu_count() or 1,
        "listen_port": settings.agent_port,
        "api_port": joining.api_port,
        "api_key": secrets.token_urlsafe(32),
        "caches": joining.caches and settings.role != Role.CANARY,
    }


def _run_as_user(joining: Joining, command: str) -> None:
    """Run one of the agent's commands as the user who must own the new files. Raise CannotJoin if it fails."""
    account = pwd.getpwnam(joining.user)
    done = subprocess.run(
        [sys.executable, "-m", "replication.agent", command, "--config", str(joining.config)],
        user=account.pw_uid,
        group=account.pw_gid,
        extra_groups=[],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise install_agent.CannotJoin(faults=[done.stderr.strip() or f"{command} failed"])
