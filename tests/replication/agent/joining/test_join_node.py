"""The command that makes a server a node. Tests `joining.install_agent` too."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from replication import __version__
from replication.agent.__main__ import main
from replication.agent.agent_config import Identity, format_identity
from replication.agent.joining.install_agent import CannotJoin, describe_differences, refuse_contradictions
from replication.agent.joining.join_node import (
    AGENT_UNIT,
    Joining,
    _given_settings,
    _settings,
    _values,
    join,
    start_units,
    write_units,
)
from replication.front.__main__ import main as front_main
from replication.wire.enrolment import JoinSettings, Role
from tests.replication.panel import CLUSTER, PUBLIC_KEYS

NOBODY_KNOWS = "nobody-of-this-name"


def joining(directory: Path, **changes: object) -> Joining:
    places = {
        "config": directory / "etc" / "agent.toml",
        "directory": directory / "lib",
        "units": directory / "units",
        "socket_directory": directory / "run",
        "dns_address": "192.0.2.53",
    }
    return Joining(panel="http://127.0.0.1:1", code="x", **(places | changes))  # type: ignore[arg-type]


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


CANARY = JoinSettings(Role.CANARY, "127.0.0.1", 5399, 8600)


def test_the_configuration_has_what_the_panel_has(tmp_path: Path) -> None:
    """Previously, a canary got port 53 instead of the panel's 5399, so no signed zone was served."""
    values = _values(joining(tmp_path, dns_address=""), CANARY)
    names = ("dns_address", "dns_port", "listen_port", "caches")
    assert [values[name] for name in names] == ["127.0.0.1", 5399, 8600, False]
    node = JoinSettings(Role.NODE, "2001:db8::53", 53, 8533)
    assert [_values(joining(tmp_path, dns_address=""), node)[name] for name in names] == [
        "2001:db8::53",
        53,
        8533,
        True,
    ]


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"dns_address": "192.0.2.53"}, "--dns-address says 192.0.2.53, and the panel has 127.0.0.1."),
        ({"dns_port": 53}, "--dns-port says 53, and the panel has 5399."),
        ({"listen_port": 8533}, "--listen-port says 8533, and the panel has 8600."),
    ],
)
def test_what_contradicts_the_panel_is_refused_with_both_values(
    tmp_path: Path, typed: dict[str, object], sentence: str
) -> None:
    chosen = joining(tmp_path, **({"dns_address": ""} | typed))
    with pytest.raises(CannotJoin) as refused:
        refuse_contradictions(CANARY, program="dnspanel-agent", given=_given_settings(chosen, CANARY))
    assert refused.value.faults == [f"{sentence} Leave the option out, or correct the node in the panel."]


def test_what_is_typed_as_the_panel_has_it_is_taken(tmp_path: Path) -> None:
    chosen = joining(tmp_path, dns_address="127.0.0.1", dns_port=5399, listen_port=8600)
    refuse_contradictions(CANARY, program="dnspanel-agent", given=_given_settings(chosen, CANARY))


@pytest.mark.parametrize(("role", "program"), [(Role.FRONT, "dnspanel-agent"), (Role.CANARY, "dnspanel-front")])
def test_a_front_does_not_join_as_a_node_nor_a_node_as_a_front(role: Role, program: str) -> None:
    settings = JoinSettings(role, "192.0.2.1", 53, 8533)
    with pytest.raises(CannotJoin, match=f"The panel has this server as a {role}: run `dnspanel-"):
        refuse_contradictions(settings, program=program, given={})


def test_with_an_older_panel_the_options_are_needed_and_count(tmp_path: Path) -> None:
    identity = tmp_path / "lib" / "identity"
    identity.mkdir(parents=True)
    for name in ("node.key", "node.pem", "ca.pem"):
        (identity / name).touch()
    (identity / "identity.json").write_text(format_identity(Identity("ns1", CLUSTER, 4, PUBLIC_KEYS)))
    with pytest.raises(CannotJoin, match="say --dns-address"):
        _settings(joining(tmp_path, dns_address=""))
    assert _settings(joining(tmp_path)) == JoinSettings(Role.NODE, "192.0.2.53", 53, 8533)


def test_a_configuration_from_before_is_kept_and_what_differs_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    describe_differences(tmp_path / "agent.toml", {"dns_port": (53, 5399), "listen_port": (8600, 8600)}, said.append)
    assert said == [
        f"{tmp_path}/agent.toml has dns_port = 53, and the panel has 5399. Change the file, then run this again."
    ]


def test_the_programs_say_their_version(capsys: pytest.CaptureFixture[str]) -> None:
    for program, name in ((main, "agent"), (front_main, "front")):
        with pytest.raises(SystemExit) as ended:
            program(["--version"])
        assert (ended.value.code, capsys.readouterr().out) == (0, f"dnspanel-{name} {__version__}\n")


def test_the_units_name_the_places_and_nothing_is_left_open(tmp_path: Path) -> None:
    write_units(joining(tmp_path, user="pdns"))
    agent = (tmp_path / "units" / AGENT_UNIT).read_text()
    server = (tmp_path / "units" / "pdns.service.d" / "dnspanel.conf").read_text()
    assert f"run --config {tmp_path}/etc/agent.toml" in agent
    assert f"ReadWritePaths={tmp_path}/lib" in agent
    assert f"--config-dir={tmp_path}/lib/pdns" in server
    assert "{" not in agent + server


def test_a_second_powerdns_on_a_server_has_units_of_its_own(tmp_path: Path) -> None:
    write_units(joining(tmp_path, user="pdns", agent_unit="dnspanel-canary.service", pdns_unit="pdns@canary.service"))
    assert "After=network-online.target pdns@canary.service" in (tmp_path / "units/dnspanel-canary.service").read_text()
    written = sorted(str(path.relative_to(tmp_path / "units")) for path in (tmp_path / "units").rglob("*.*"))
    assert written == ["dnspanel-canary.service", "pdns@canary.service.d", "pdns@canary.service.d/dnspanel.conf"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_agents_unit_and_finds_it_well_protected(tmp_path: Path) -> None:
    write_units(joining(tmp_path, user="root"))
    unit = str(tmp_path / "units" / AGENT_UNIT)
    verified = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    assert AGENT_UNIT not in verified.stderr
    # 10 is an ordinary service, and 0 one without any rights. Below 20 tenths systemd calls it "OK".
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit], capture_output=True, text=True
    )
    assert judged.returncode == 0, judged.stdout


@pytest.mark.skipif(Path("/run/systemd/system").is_dir(), reason="systemd runs here, and would be asked")
def test_without_systemd_nothing_is_started_and_a_message_tells_so() -> None:
    messages: list[str] = []
    start_units(messages.append, ("pdns.service", AGENT_UNIT))
    assert messages == ["systemd does not run here. Start PowerDNS and the agent with the commands in their units."]
