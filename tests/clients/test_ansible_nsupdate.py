"""Ansible's module community.general.nsupdate, run by `ansible-playbook`. It reads back its records, and writes only
changes.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.packages import client_environment, python_programs
from tests.clients.services import LOOPBACK, Service, TsigKey, call, create_zone, expect_answers, rrset

pytestmark = pytest.mark.flow

ZONE = "ansible.test."
HOST = f"host.{ZONE}"
LOCK = "clients-ansible"


@pytest.fixture
def key(service: Service) -> Iterator[TsigKey]:
    create_zone(service, ZONE, rrset(f"www.{ZONE}", "A", "192.0.2.1"))
    yield service.tsig_key(ZONE)
    call(service, "DELETE", f"zones/{ZONE}")


def play(service: Service, key: TsigKey, directory: Path, *tasks: dict[str, Any]) -> list[bool]:
    """Run a playbook. Return True for each task that changed something. Raise AssertionError if a task fails."""
    common = {
        "server": LOOPBACK,
        "port": service.update_port,
        "key_name": key.name,
        "key_secret": key.secret,
        "key_algorithm": key.algorithm,
    }
    listed = [{"community.general.nsupdate": {**common, **task}} for task in tasks]
    playbook = directory / "playbook.json"  # JSON is YAML
    playbook.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": listed}]))
    programs = python_programs(LOCK)
    done = subprocess.run(
        [str(programs / "ansible-playbook"), "-i", "localhost,", "-c", "local", str(playbook)],
        cwd=directory,
        env=client_environment(
            ANSIBLE_STDOUT_CALLBACK="ansible.posix.json",
            ANSIBLE_LOCALHOST_WARNING="false",
            ANSIBLE_PYTHON_INTERPRETER=str(programs / "python"),
            ANSIBLE_HOME=str(directory),
            LC_ALL="C.UTF-8",
        ),
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    report = json.loads(done.stdout[done.stdout.index("{") :])
    return [task["hosts"]["localhost"]["changed"] for play in report["plays"] for task in play["tasks"]]


@pytest.mark.parametrize("zone", [{"zone": ZONE}, {}], ids=["zone", "found"])
def test_records_are_created_kept_changed_and_deleted(
    service: Service, key: TsigKey, tmp_path: Path, zone: dict[str, str]
) -> None:
    """Without `zone`, the module finds the zone by SOA queries for the name and its parents."""
    address = {**zone, "record": HOST if not zone else "host", "type": "A", "ttl": 60}
    created = {**address, "value": ["192.0.2.7", "192.0.2.8"]}
    assert play(service, key, tmp_path, created, created) == [True, False]
    expect_answers(service, HOST, "A", "192.0.2.7", "192.0.2.8")
    changed, other_ttl = {**address, "value": "192.0.2.9"}, {**address, "value": "192.0.2.9", "ttl": 120}
    assert play(service, key, tmp_path, changed, changed, other_ttl, other_ttl) == [True, False, True, False]
    expect_answers(service, HOST, "A", "192.0.2.9")
    gone = {**address, "state": "absent"}
    assert play(service, key, tmp_path, gone, gone) == [True, False]
    expect_answers(service, HOST, "A")
    text = {**address, "type": "TXT", "value": "a text with spaces"}
    assert play(service, key, tmp_path, text, text, {**text, "state": "absent"}) == [True, False, True]
    expect_answers(service, HOST, "TXT")
