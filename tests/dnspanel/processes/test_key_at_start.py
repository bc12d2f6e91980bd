"""No process of the panel starts with a master key that is not the database's, and each says why."""

import os
import subprocess

import pytest
from cryptography.fernet import Fernet

from dnspanel.backup.drill import url_of
from dnspanel.backup.programs import panel_database
from dnspanel.demo import unprivileged
from dnspanel.demo.supervision import procfile
from tests.full import Sample

PROCESSES = ("web", "publish", "bulk", "beat", "collector", "update")


@pytest.mark.django_db
def test_no_process_starts_with_a_master_key_that_is_not_the_databases(tmp_path: object, sample: Sample) -> None:
    keys = {"PANEL_MASTER_KEY": Fernet.generate_key().decode(), "PANEL_DATABASE": url_of(panel_database())}
    environment = {name: value for name, value in os.environ.items() if name != "PANEL_MASTER_KEY_FILE"} | keys
    environment |= {"PANEL_VAR": str(tmp_path), "STACK_WEB_SOCKET": f"{tmp_path}/web"}
    started = {
        name: subprocess.Popen(
            ["setpriv", "--pdeathsig=KILL", "--", "sh", "-c", f"exec {procfile()[name]}"],
            env=environment,
            cwd=unprivileged.CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name in sample.turn(PROCESSES, 2, reason="processes that start with another master key")
    }
    try:
        ended = {name: process.communicate(timeout=120)[0] for name, process in started.items()}
    finally:
        for process in started.values():
            process.kill()
            process.wait()
    for name, process in started.items():
        assert process.returncode == 1, (name, ended[name])
        assert "PANEL_MASTER_KEY is not the key of this database" in ended[name], name
