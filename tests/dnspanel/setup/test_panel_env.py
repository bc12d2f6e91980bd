"""The file of the panel's environment: what systemd reads from it, and what setup adds."""

import os
import pwd
from pathlib import Path

from dnspanel.setup.panel_env import missing_in, read_env, set_variables

ME = pwd.getpwuid(os.getuid()).pw_name


def test_the_file_is_read_as_systemd_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "panel.env"
    path.write_text("# PANEL_A=1\n;PANEL_B=2\n\nPANEL_C=a b=c\nPANEL_D=\"x y\"\n PANEL_E='z'\nnothing\n")
    assert read_env(path) == {"PANEL_C": "a b=c", "PANEL_D": "x y", "PANEL_E": "z"}
    assert read_env(tmp_path / "missing") == {}


def test_only_missing_variables_are_added_and_no_one_else_reads_the_file(tmp_path: Path) -> None:
    path = tmp_path / "panel.env"
    values = {"PANEL_URL": "https://new", "PANEL_SECRET_KEY": "new", "PANEL_MASTER_KEY": "new"}
    path.write_text("# mine\nPANEL_URL=https://old\nPANEL_MASTER_KEY_FILE=/run/key")
    path.chmod(0o644)
    missing = missing_in(read_env(path), values)
    assert missing == {"PANEL_SECRET_KEY": "new"}
    assert set_variables(path, missing, owner=ME, group=ME) == ["PANEL_SECRET_KEY"]
    expected = "# mine\nPANEL_URL=https://old\nPANEL_MASTER_KEY_FILE=/run/key\nPANEL_SECRET_KEY=new\n"
    assert path.read_text() == expected
    assert path.stat().st_mode & 0o777 == 0o640
    assert set_variables(path, missing, owner=ME, group=ME) == []
    assert path.read_text() == expected


def test_variables_are_replaced_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "panel.env"
    path.write_text("# PANEL_A=0\nPANEL_A=1\nPANEL_B=2\n PANEL_C = 3\n")
    assert set_variables(path, {"PANEL_A": "4", "PANEL_B": None, "PANEL_C": "3"}, owner=ME, group=ME) == [
        "PANEL_A",
        "PANEL_B",
    ]
    assert path.read_text() == "# PANEL_A=0\n PANEL_C = 3\nPANEL_A=4\n"
