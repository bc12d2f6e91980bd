"""A client that bravado makes from the API's own description, as Ansible's modules do it."""

import subprocess
from pathlib import Path

import pytest

from tests.clients.packages import python_programs
from tests.clients.services import Service, expect_answers

pytestmark = pytest.mark.flow

ZONE = "ansible.test."
PROGRAM = Path(__file__).with_name("with_bravado.py")


def step(service: Service, name: str) -> None:
    """One step of the program, which ends well only if it saw what it has to see."""
    # The real server's own description is not valid.
    checks = "lenient" if service.name == "pdns_server" else "strict"
    command = [str(python_programs("clients") / "python"), str(PROGRAM), service.url, service.key, ZONE, name, checks]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-3000:]


def test_operations_found_in_the_description_make_change_and_delete_a_zone(service: Service) -> None:
    step(service, "create")
    expect_answers(service, f"www.{ZONE}", "A", "192.0.2.1")
    step(service, "delete")
    expect_answers(service, ZONE, "SOA")
