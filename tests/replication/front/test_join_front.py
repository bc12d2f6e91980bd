"""The files that `join` writes for a front. `tests/flow/test_join` runs the command on a whole server."""

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from replication.agent.joining.install_agent import CannotJoin
from replication.front.front_config import FrontConfig
from replication.front.join_front import FRONT_UNIT, Joining, join, start_units, write_units


def joining(directory: Path, **changes: object) -> Joining:
    places = {"config": directory / "etc" / "front.toml", "directory": directory / "lib", "units": directory / "units"}
    return Joining(panel="http://127.0.0.1:1", code="x", listen=("192.0.2.1:53",), **(places | changes))  # type: ignore[arg-type]


def config_of(joining: Joining) -> FrontConfig:
    return FrontConfig(state_dir=joining.directory / "state", listen=(), backends=())


def test_every_obstacle_is_reported_before_anything_is_written(tmp_path: Path) -> None:
    unfit = joining(tmp_path, user="nobody-of-this-name", dnsdist="no-such-program")
    with pytest.raises(CannotJoin) as refused:
        join(unfit, say=lambda reason: None)
    assert "There is no user nobody-of-this-name; on Debian: apt install dnsdist" in str(refused.value)
    assert "no-such-program is not installed" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_the_units_name_the_places_and_nothing_is_left_open(tmp_path: Path) -> None:
    chosen = joining(tmp_path)
    write_units(chosen, config_of(chosen))
    front = (tmp_path / "units" / FRONT_UNIT).read_text()
    dnsdist = (tmp_path / "units" / "dnsdist.service.d" / "dnspanel.conf").read_text()
    assert f"replication.front run --config {tmp_path}/etc/front.toml" in front
    assert f"ReadWritePaths={tmp_path}/lib" in front
    assert re.findall(r"^ExecStart=(.*)$", dnsdist, re.MULTILINE)[-1].endswith(
        f"replication.front start --config {tmp_path}/etc/front.toml"
    )
    assert "{" not in front + dnsdist
    assert "xdp" not in dnsdist
    assert "dnsdist.service" not in front, "each would wait for the other"


def test_with_an_interface_dnsdist_may_have_its_packets_and_nothing_else_may(tmp_path: Path) -> None:
    chosen = joining(tmp_path)
    write_units(chosen, replace(config_of(chosen), xdp_interface="eth0"))
    dnsdist = (tmp_path / "units" / "dnsdist.service.d" / "dnspanel.conf").read_text()
    assert f"ExecStartPre=-+{sys.executable} -m replication.front xdp --config {tmp_path}/etc/front.toml\n" in dnsdist
    assert "LimitMEMLOCK=infinity" in dnsdist
    assert "CAP_NET_RAW" in dnsdist
    assert "CAP_NET_RAW" not in (tmp_path / "units" / FRONT_UNIT).read_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_front_s_unit_and_finds_it_well_protected(tmp_path: Path) -> None:
    chosen = joining(tmp_path, user="root")
    write_units(chosen, config_of(chosen))
    unit = str(tmp_path / "units" / FRONT_UNIT)
    verified = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    assert FRONT_UNIT not in verified.stderr
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit], capture_output=True, text=True
    )
    assert judged.returncode == 0, judged.stdout


@pytest.mark.skipif(Path("/run/systemd/system").is_dir(), reason="systemd runs here, and would be asked")
def test_without_systemd_nothing_is_started_and_a_message_tells_so() -> None:
    messages: list[str] = []
    start_units(messages.append)
    assert messages == ["systemd does not run here. Start dnsdist and the front with the commands in their units."]
