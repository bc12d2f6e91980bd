"""dns-lexicon creates, lists, updates and deletes records, and keeps other values of the same RRset."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.packages import client_environment, python_programs
from tests.clients.services import Service, call, create_zone, expect_answers, rrset

pytestmark = pytest.mark.flow

# Below a real top-level domain, because lexicon splits names by the public suffix list.
ZONE = "lexicon.example.org."
WWW = f"www.{ZONE}"
CHALLENGE = f"_acme-challenge.{ZONE}"
PROGRAM = Path(__file__).with_name("with_lexicon.py")


@pytest.fixture
def zone(service: Service) -> Iterator[None]:
    create_zone(service, ZONE, rrset(CHALLENGE, "TXT", '"a foreign value"'))
    yield
    call(service, "DELETE", f"zones/{ZONE}")


def lexicon(service: Service, key: str, method: str, **arguments: str) -> Any:
    """Call one method of lexicon's client, and return its result."""
    command = [str(python_programs("clients") / "python"), str(PROGRAM), service.url, key, ZONE.rstrip(".")]
    command += [method, json.dumps(arguments)]
    done = subprocess.run(command, env=client_environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.usefixtures("zone")
def test_lexicon_creates_lists_updates_and_deletes(service: Service) -> None:
    assert lexicon(service, service.key, "create_record", rtype="A", name="www", content="192.0.2.1")
    expect_answers(service, WWW, "A", "192.0.2.1")
    [listed] = lexicon(service, service.key, "list_records", rtype="A", name="www")
    assert (listed["content"], listed["ttl"], listed["id"]) == ("192.0.2.1", 60, f"A/{WWW}=192.0.2.1")
    new = {"rtype": "A", "name": "www", "content": "192.0.2.2"}
    assert lexicon(service, service.key, "update_record", identifier=listed["id"], **new)
    expect_answers(service, WWW, "A", "192.0.2.2")
    assert lexicon(service, service.key, "create_record", rtype="CNAME", name="alias", content=WWW)
    expect_answers(service, f"alias.{ZONE}", "CNAME", WWW)
    assert lexicon(service, service.key, "delete_record", rtype="A", name="www")
    expect_answers(service, WWW, "A")
    assert lexicon(service, service.key, "list_records", rtype="A") == []


@pytest.mark.usefixtures("zone")
def test_overlapping_challenges_at_one_name_leave_each_other_and_a_foreign_value_alone(service: Service) -> None:
    key = service.acme_key(ZONE, ZONE)
    first, second = ({"rtype": "TXT", "name": "_acme-challenge", "content": content} for content in ("first", "second"))
    lexicon(service, key, "create_record", **first)
    lexicon(service, key, "create_record", **second)
    expect_answers(service, CHALLENGE, "TXT", '"a foreign value"', '"first"', '"second"')
    lexicon(service, key, "create_record", **second)
    lexicon(service, key, "delete_record", **first)
    expect_answers(service, CHALLENGE, "TXT", '"a foreign value"', '"second"')
    lexicon(service, key, "delete_record", **second)
    expect_answers(service, CHALLENGE, "TXT", '"a foreign value"')
