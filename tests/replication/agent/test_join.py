"""A server becomes a node with one command. Tests `agent.installing` too."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from replication.agent.installing import CannotJoin
from replication.agent.join import AGENT_UNIT, Joining, join, start_units, write_units

NOBODY_KNOWS = "nobody-of-this-name"


def joining(directory: Path, **changes: object) -> Joining:
    places = {
        "config": directory / "etc" / "agent.toml",
        "directory": directory / "lib",
        "units": directory / "units",
        "socket_directory": directory / "run",
    }
    return Joining(panel="http://127.0.0.1:1", code="x", dns_address="192.0.2.53", **(places | changes))  # type: ignore[arg-type]


def test_every_obstacle_is_reported_before_anything_is_written(tmp_path: Path) -> None:
    unfit = joining(tmp_path, user=NOBODY_KNOWS, pdns_server="no-such-program")
    with pytest.raises(CannotJoin) as refused:
        join(unfit, render_pdns_conf=lambda config: "", say=lambda reason: None)
    assert f"There is no user {NOBODY_KNOWS}" in str(refused.value)
    assert "no-such-program is not installed" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="says what only others than root are told")
def test_who_is_not_root_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(CannotJoin, match="Run this as root"):
        join(joining(tmp_path), render_pdns_conf=lambda config: "", say=lambda reason: None)


def test_the_units_name_the_places_and_nothing_is_left_open(tmp_path: Path) -> None:
    write_units(joining(tmp_path, user="pdns"))
    agent = (tmp_path / "units" / AGENT_UNIT).read_text()
    server = (tmp_path / "units" / "pdns.service.d" / "dnspanel.conf").read_text()
    assert f"run --config {tmp_path}/etc/agent.toml" in agent
    assert f"ReadWritePaths={tmp_path}/lib" in agent
    assert f"--config-dir={tmp_path}/lib/pdns" in server
    assert "{" not in agent + server


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_agents_unit_and_finds_it_well_protected(tmp_path: Path) -> None:
    write_units(joining(tmp_path, user="root"))
    unit = str(tmp_path / "units" / AGENT_UNIT)
    verified = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    assert AGENT_UNIT not in verified.stderr
    # 10 is an ordinary service, 0 one that can do nothing; below 20 tenths systemd calls it "OK".
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit], capture_output=True, text=True
    )
    assert judged.returncode == 0, judged.stdout


@pytest.mark.skipif(Path("/run/systemd/system").is_dir(), reason="systemd runs here, and would be asked")
def test_without_systemd_nothing_is_started_and_a_message_tells_so() -> None:
    messages: list[str] = []
    start_units(messages.append)
    assert messages == ["systemd does not run here. Start PowerDNS and the agent with the commands in their units."]
