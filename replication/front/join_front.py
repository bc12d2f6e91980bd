"""Turn a server into a front: enroll it, and write its configuration, a systemd unit and a drop-in for dnsdist.

    /etc/dnspanel-front/front.toml       the front's configuration, which an operator can change
    /var/lib/dnspanel-front/identity/    key and certificate; the key never leaves the server
    /var/lib/dnspanel-front/state/       dnsdist's configuration, written by the agent, and the backends out of rotation

The command doesn't change /etc/dnsdist. After an interruption it continues with the next step. On a server that is
already a front it renews the units and keeps the configuration. With a new code it also enrolls the server again.
"""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from replication.agent.agent_config import read_identity
from replication.agent.joining import install_agent
from replication.agent.joining.ask_to_enroll import ensure_enrolled
from replication.front.front_config import FrontConfig, read_config
from replication.wire.enrolment import JoinSettings, Role
from replication.wire.front_messages import Endpoint, parse_endpoint, serves

CONFIG = Path("/etc/dnspanel-front/front.toml")
DIRECTORY = Path("/var/lib/dnspanel-front")
UNITS = Path("/etc/systemd/system")
FRONT_UNIT, DNSDIST_UNIT = "dnspanel-front.service", "dnsdist.service"
# For a panel that doesn't send its port.
OLD_PANEL_PORT = 8534
# The additional rights that dnsdist needs to bypass the kernel. Only root can attach to the interface.
_XDP_LINES = """\
ExecStartPre=-+{python} -m replication.front xdp --config {config}
AmbientCapabilities=CAP_NET_RAW CAP_BPF
CapabilityBoundingSet=CAP_NET_RAW CAP_BPF
RestrictAddressFamilies=AF_XDP
LimitMEMLOCK=infinity"""


@dataclass(frozen=True, slots=True)
class Joining:
    """The operator's choices, and the paths to write to."""

    panel: str
    code: str
    listen: tuple[str, ...] = ()  # "192.0.2.1:53"; empty: the panel's address
    panel_port: int = 0  # 0: the panel's port
    control_port: int = 5199
    api_port: int = 8083
    xdp_interface: str = ""
    user: str = "_dnsdist"
    config: Path = CONFIG
    directory: Path = DIRECTORY
    units: Path = UNITS
    dnsdist: str = "dnsdist"

    @property
    def identity(self) -> Path:
        return self.directory / "identity"


def join(joining: Joining, *, say: install_agent.Say) -> FrontConfig:
    """Turn the server into a front: enroll it, write its configuration and units, and return the configuration.

    1. Check that everything needed is present, before anything is written.
    2. Enroll, unless the server has enrolled with this code. This waits for a person's approval. Typed values that
       contradict the panel are rejected before an administrator approves.
    3. Write front.toml, with the panel's address and ports, unless the file exists.
    4. Write the units. The caller starts them.

    Raise CannotJoin or NotEnrolled if a step fails, BadConfig if front.toml is invalid, and OSError if writing fails.
    """
    install_agent.refuse_unfit(user=joining.user, program=joining.dnsdist, packages="dnsdist")
    _refuse_bad_addresses(joining)
    install_agent.make_directories(joining.directory, ("identity", "state"), config=joining.config, user=joining.user)

    def check(settings: JoinSettings) -> None:
        install_agent.refuse_contradictions(
            settings, program="dnspanel-front", given=_given_settings(joining, settings)
        )

    ensure_enrolled(joining.panel, joining.code, joining.identity, say=say, check=check)
    settings = _settings(joining)
    install_agent.write_config(joining.user, joining.config, _values(joining, settings))
    install_agent.give(joining.directory, joining.user)
    config = read_config(joining.config)
    listens = _listen_texts(tuple(map(str, config.listen)), settings)
    panel_port = (config.panel_port, settings.agent_port)
    install_agent.describe_differences(joining.config, {"listen": listens, "panel_port": panel_port}, say)
    write_units(joining, config)
    say(f"{config.identity.node} is set up: configuration in {joining.config}, everything else in {joining.directory}.")
    return config


def write_units(joining: Joining, config: FrontConfig) -> None:
    """Write the agent's systemd unit, and the drop-in that makes dnsdist.service use the front's configuration."""
    values = {
        "python": sys.executable,
        "config": str(joining.config),
        "directory": str(joining.directory),
        "user": joining.user,
    }
    values["xdp"] = _XDP_LINES.format(**values) if config.xdp_interface else ""
    drop_in = joining.units / f"{DNSDIST_UNIT}.d" / "dnspanel.conf"
    install_agent.write_unit_files(
        "replication.front", {joining.units / FRONT_UNIT: FRONT_UNIT, drop_in: "dnsdist.conf"}, values
    )


def start_units(say: install_agent.Say) -> None:
    """Start dnsdist and the front's agent, now and after each boot (see `start`). Raise CannotJoin on failure."""
    install_agent.start(
        (DNSDIST_UNIT, FRONT_UNIT),
        say,
        running="The front is running; dnsdist starts once nodes are chosen for it in the panel.",
        otherwise="Start dnsdist and the front with the commands in their units.",
        waits=False,
    )


def _refuse_bad_addresses(joining: Joining) -> None:
    faults = []
    for text in joining.listen:
        try:
            parse_endpoint(text)
        except ValueError:
            faults.append(f"{text} is not like 192.0.2.1:53 or [2001:db8::1]:53.")
    if faults:
        raise install_agent.CannotJoin(faults=faults)


def _given_settings(joining: Joining, settings: JoinSettings) -> dict[str, tuple[object, object]]:
    given = {"--panel-port": (joining.panel_port, settings.agent_port)}
    return given | ({"--listen": _listen_texts(joining.listen, settings)} if joining.listen else {})


def _listen_texts(texts: tuple[str, ...], settings: JoinSettings) -> tuple[str, str]:
    """Return the listening addresses and the panel's address as two strings to compare.

    Both strings are the same if the panel's address is a listening address, or if a wildcard address includes it.
    """
    known = Endpoint(settings.dns_address, settings.dns_port)
    if any(serves(parse_endpoint(text), known) for text in texts):
        return str(known), str(known)
    return " ".join(texts), str(known)


def _settings(joining: Joining) -> JoinSettings:
    """Return the panel's settings, or the typed ones if an old panel sent none. Raise CannotJoin if neither is set."""
    faults: list[str] = []
    identity = read_identity(joining.identity, faults)
    if identity is not None and identity.settings is not None:
        return identity.settings
    if not joining.listen and identity is not None:
        faults.append("This panel does not send addresses: say --listen.")
    if faults:
        raise install_agent.CannotJoin(faults=faults)
    first = parse_endpoint(joining.listen[0])
    return JoinSettings(Role.FRONT, first.address, first.port, joining.panel_port or OLD_PANEL_PORT)


def _values(joining: Joining, settings: JoinSettings) -> dict[str, str | int | tuple[str, ...]]:
    """Return the initial values for front.toml. A front can listen on more addresses than the panel has stored."""
    return {
        "state_dir": str(joining.directory / "state"),
        "identity_dir": str(joining.identity),
        "listen": joining.listen or (str(Endpoint(settings.dns_address, settings.dns_port)),),
        "cores": os.cpu_count() or 1,
        "panel_port": settings.agent_port,
        "control_port": joining.control_port,
        "api_port": joining.api_port,
        "xdp_interface": joining.xdp_interface,
        "dnsdist": shutil.which(joining.dnsdist) or joining.dnsdist,
    }
