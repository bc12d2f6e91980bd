"""The library python-powerdns: servers, zones, comments, search, and backup and restoration of all fields."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.packages import python_programs
from tests.clients.services import Service, call, expect_answers

pytestmark = pytest.mark.flow

ZONE = "library.test."
PROGRAM = Path(__file__).with_name("with_python_powerdns.py")


@pytest.fixture
def created(service: Service) -> Iterator[Any]:
    yield step(service, "create")
    call(service, "DELETE", f"zones/{ZONE}")
    expect_answers(service, ZONE, "SOA")


def step(service: Service, name: str) -> Any:
    """Run one step of the program that uses the library, and return its result."""
    command = [str(python_programs("clients") / "python"), str(PROGRAM), service.url, service.key, ZONE, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_a_zone_is_created_with_records_a_disabled_one_and_a_comment(service: Service, created: Any) -> None:
    assert (created["sid"], created["daemon"], created["suggested"]) == ("localhost", "authoritative", ZONE)
    assert created["before"] is None
    assert created["config"] > 1
    expect_answers(service, f"www.{ZONE}", "A", "192.0.2.1")
    expect_answers(service, f"mail.{ZONE}", "MX", f"10 mx.{ZONE}")
    expect_answers(service, f"alias.{ZONE}", "CNAME", f"www.{ZONE}")
    seen = step(service, "look")
    assert (seen["details"]["kind"], seen["details"]["masters"], seen["details"]["id"]) == ("Native", [], ZONE)
    [mail] = seen["mail"]
    comment = {"account": "alice", "content": "asked for by the help desk", "modified_at": 1_700_000_000}
    assert mail["comments"] == [comment]
    [www] = seen["www"]
    assert www["comments"] == []
    assert sorted((record["content"], record["disabled"]) for record in www["records"]) == [
        ("192.0.2.1", False),
        ("192.0.2.2", True),
    ]


def test_search_finds_the_zone_its_records_and_its_comment(service: Service, created: Any) -> None:
    seen = step(service, "look")
    assert {"record", "zone"} <= set(seen["searched"])
    [comment] = seen["comments"]
    assert (comment["name"], comment["zone_id"]) == (f"mail.{ZONE}", ZONE)
    assert comment["content"] == "asked for by the help desk"


def test_records_change_and_go(service: Service, created: Any) -> None:
    step(service, "change")
    expect_answers(service, f"www.{ZONE}", "A", "192.0.2.3")
    expect_answers(service, f"alias.{ZONE}", "CNAME")


def test_a_patch_with_one_bad_rrset_changes_nothing(service: Service, created: Any) -> None:
    refusal = step(service, "refused")
    assert refusal["status"] == 422
    assert f"bad.{ZONE}" in refusal["message"]
    expect_answers(service, f"good.{ZONE}", "A")


def test_a_zone_is_made_again_from_all_that_the_server_said_of_it(service: Service, created: Any) -> None:
    assert step(service, "restore") == {"gone": None, "different": []}
    expect_answers(service, f"www.{ZONE}", "A", "192.0.2.1")
    expect_answers(service, f"mail.{ZONE}", "MX", f"10 mx.{ZONE}")
