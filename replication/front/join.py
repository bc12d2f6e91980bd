"""Make a server a front with one command: enrollment, configuration, and the two systemd units.

    /etc/dnspanel-front/front.toml       the front's configuration; what an operator may change
    /var/lib/dnspanel-front/identity/    key and certificate; the key never leaves the server
    /var/lib/dnspanel-front/state/       dnsdist's configuration, written by the agent, and who is out of rotation

/etc/dnsdist stays as it is. Run again after an interruption, it goes on where it was; on a server that is a front
already it renews the units and keeps configuration and identity.
"""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from replication.agent.config import IDENTITY_FILE
from replication.agent.enroll import enroll
from replication.agent.installing import (
    CannotJoin,
    Say,
    give,
    make_directories,
    refuse_unfit,
    start,
    write_config,
    write_unit_files,
)
from replication.front.config import FrontConfig, read_config
from replication.wire.front import parse_endpoint

CONFIG = Path("/etc/dnspanel-front/front.toml")
DIRECTORY = Path("/var/lib/dnspanel-front")
UNITS = Path("/etc/systemd/system")
FRONT_UNIT, DNSDIST_UNIT = "dnspanel-front.service", "dnsdist.service"
# What dnsdist may besides, to be given packets past the kernel; the command that attaches to the interface is root's.
_XDP_LINES = """\
ExecStartPre=-+{python} -m replication.front xdp --config {config}
AmbientCapabilities=CAP_NET_RAW CAP_BPF
CapabilityBoundingSet=CAP_NET_RAW CAP_BPF
RestrictAddressFamilies=AF_XDP
LimitMEMLOCK=infinity"""


@dataclass(frozen=True, slots=True)
class Joining:
    """What the operator chose, and the paths to write to."""

    panel: str
    code: str
    listen: tuple[str, ...]  # "192.0.2.1:53"
    panel_port: int = 8534
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


def join(joining: Joining, *, say: Say) -> FrontConfig:
    """The server is a front: enrolled, configured, its units written. Starting them is the caller's.

    1. Check that everything needed is present, before anything is written.
    2. Directories and front.toml, unless an operator has that already.
    3. Enroll, unless that was done; waits for a person's approval.
    4. Units.

    Raises CannotJoin, NotEnrolled, BadConfig or OSError.
    """
    refuse_unfit(user=joining.user, program=joining.dnsdist, packages="dnsdist")
    _refuse_bad_addresses(joining)
    make_directories(joining.directory, ("identity", "state"), config=joining.config, user=joining.user)
    write_config(joining.user, joining.config, _values(joining))
    if not (joining.identity / IDENTITY_FILE).exists():
        enroll(joining.panel, joining.code, joining.identity, say=say)
    give(joining.directory, joining.user)
    config = read_config(joining.config)
    write_units(joining, config)
    say(f"{config.identity.node} is set up: configuration in {joining.config}, everything else in {joining.directory}.")
    return config


def write_units(joining: Joining, config: FrontConfig) -> None:
    """The front's unit, and the drop-in that gives dnsdist.service the front's configuration, are this release's."""
    values = {
        "python": sys.executable,
        "config": str(joining.config),
        "directory": str(joining.directory),
        "user": joining.user,
    }
    values["xdp"] = _XDP_LINES.format(**values) if config.xdp_interface else ""
    drop_in = joining.units / f"{DNSDIST_UNIT}.d" / "dnspanel.conf"
    write_unit_files("replication.front", {joining.units / FRONT_UNIT: FRONT_UNIT, drop_in: "dnsdist.conf"}, values)


def start_units(say: Say) -> None:
    """dnsdist and the front's agent run, now and after each boot, or it is said what to start. Raises CannotJoin."""
    start(
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
        raise CannotJoin(faults=faults)


def _values(joining: Joining) -> dict[str, str | int | tuple[str, ...]]:
    """What front.toml begins with."""
    return {
        "state_dir": str(joining.directory / "state"),
        "identity_dir": str(joining.identity),
        "listen": joining.listen,
        "cores": os.cpu_count() or 1,
        "panel_port": joining.panel_port,
        "control_port": joining.control_port,
        "api_port": joining.api_port,
        "xdp_interface": joining.xdp_interface,
        "dnsdist": shutil.which(joining.dnsdist) or joining.dnsdist,
    }
