"""A small program with the library go-powerdns, which Terraform and OpenTofu providers use."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.clients.packages import go_programs
from tests.clients.services import Service, expect_answers

pytestmark = pytest.mark.flow

ZONE = "terraform.test."


def go_powerdns(service: Service, step: str) -> None:
    """Run one step of the program, and check that it exits with 0. The program checks its own results."""
    program = str(go_programs("go-powerdns") / "go-powerdns")
    done = subprocess.run([program, service.url, service.key, ZONE, step], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def created(service: Service) -> Iterator[None]:
    go_powerdns(service, "create")
    yield
    go_powerdns(service, "delete")
    expect_answers(service, ZONE, "SOA")


@pytest.mark.usefixtures("created")
def test_a_zone_with_records_comments_metadata_and_settings_comes_and_goes(service: Service) -> None:
    expect_answers(service, f"www.{ZONE}", "A", "192.0.2.2", "192.0.2.3")
    expect_answers(service, f"alias.{ZONE}", "CNAME")


# The real server with SQLite answers 500 to one of several simultaneous changes.
@pytest.mark.parametrize("service", ["panel"], indirect=True)
@pytest.mark.usefixtures("created")
def test_ten_changes_of_one_zone_at_once_all_succeed(service: Service) -> None:
    go_powerdns(service, "parallel")
    for number in range(10):
        expect_answers(service, f"host{number}.{ZONE}", "A", f"192.0.2.{100 + number}")
