"""Management commands as the panel's user, and errors that people can read.

Modules that only a machine with the package can run are in tests/deploy/test_packages.py: `setup.local_nodes`,
`setup.local_stores`, `setup.system_units`, `setup.rotate_master_key` and `setup.__main__`.
"""

from pathlib import Path

import pytest

from dnspanel.setup import run_as_panel
from dnspanel.setup.local_nodes import CANARY, public_node


def test_without_a_panel_the_command_says_what_to_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_as_panel, "PANEL_ENV", tmp_path / "panel.env")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert run_as_panel.main(["manage", "invite"]) == 1
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert run_as_panel.main(["manage", "invite"]) == 1
    assert run_as_panel.main(["invite"]) == 2
    errors = capsys.readouterr().err
    assert "Run dnspanel setup first" in errors
    assert "Run this as root" in errors


def test_the_canary_and_a_public_node_share_nothing() -> None:
    node = public_node("ns1", "192.0.2.1")
    assert CANARY.units == ("pdns@canary.service", "dnspanel-canary.service")
    assert node.units == ("pdns.service", "dnspanel-agent.service")
    ours, theirs = CANARY.join_options(), node.join_options()
    assert [option for option, other in zip(ours[1::2], theirs[1::2], strict=True) if option == other] == []
    assert "/run/pdns-canary" in ours
    assert {CANARY.port, CANARY.agent_port, CANARY.api_port}.isdisjoint({node.port, node.agent_port, node.api_port})
