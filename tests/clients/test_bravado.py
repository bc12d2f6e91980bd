"""A client that bravado generates from the API's description, called like Ansible's kpfleming.powerdns_auth does."""

import subprocess
from pathlib import Path

import pytest

from tests.clients.packages import python_programs
from tests.clients.services import Service, expect_answers

pytestmark = pytest.mark.flow

ZONE = "0/26.2.0.192.in-addr.arpa."  # a zone of classless reverse delegation, whose id contains an escape
PROGRAM = Path(__file__).with_name("with_bravado.py")


def step(service: Service, name: str) -> None:
    """Run one step of the program, and check that it exits with 0. The program checks its own results."""
    # Current bravado rejects the real server's description. The collection's users have an older bravado.
    description = "invalid" if service.name == "pdns_server" else "valid"
    command = [str(python_programs("clients") / "python"), str(PROGRAM)]
    done = subprocess.run(
        [*command, service.url, service.key, ZONE, name, description], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_modules_of_ansible_make_change_and_delete_a_zone_and_a_key(service: Service) -> None:
    """Previously, `type: object` made bravado return models instead of dictionaries, and refuse TTLs as strings."""
    step(service, "present")
    expect_answers(service, f"www.{ZONE}", "A", "192.0.2.1")
    step(service, "again")
    expect_answers(service, f"www.{ZONE}", "A", "192.0.2.2")
    step(service, "absent")
    expect_answers(service, ZONE, "SOA")
