"""Tests of `--confirm`: each guarded operation has a command with this option, and the refusal names it."""

import json
import re
import shlex
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from dnspanel.api.v2.schema.document import document
from tests.dnspanel.cli.in_process import run_command
from tests.dnspanel.cli.test_main import ALL

# A command for each operation, with arguments that trigger it. `api` reaches all other operations.
COMMANDS = {
    "POST /bulk": "apply .",
    "POST /bulk/deletions": "zones delete a.test --yes",
    "POST /bulk/rrsets": "records change -q x --delete",
    "POST /bulk/zones": "zones change -q x --delete",
    "POST /change-runs": "zones change -q x --delete --job",
    "POST /draft/publish": "drafts publish",
    "POST /drafts/{key}/publish": "drafts publish 00000000-0000-0000-0000-000000000001",
    "POST /imports/{import_id}/{act}": "imports undo 1",
    "POST /publications/{sequence}/undo": "publications undo 1",
    "POST /requests": "requests ask name",
    "POST /zones/{zone_name}/changes": "records delete a.test www A",
    "POST /zones/{zone_name}/revisions/{number}/restore": "zones revert a.test 1",
    "POST /zones/{zone_name}/revisions/{number}/undo": "zones undo a.test 1",
    "POST /zones/{zone_name}/apply-template": "templates apply a.test 1",
}
# Another operation of the list does the same, the command asks the user itself, or only `api` reaches the operation.
ELSEWHERE = {
    "DELETE /produced-catalogs/{zone_name}": "api",
    "DELETE /zones/{zone_name}": "zones delete",
    "PUT /zones/{zone_name}/rrsets/{owner}/{type_name}": "records set",
    "PATCH /zones/{zone_name}/rrsets/{owner}/{type_name}": "records add and remove",
    "DELETE /zones/{zone_name}/rrsets/{owner}/{type_name}": "records delete",
    # The guard only concerns deleting the DS, and `dnssec cds ZONE delete` asks the user.
    "POST /bulk/dnssec": "dnssec cds",
    "PATCH /zones/{zone_name}/dnssec": "dnssec cds",
}
REASON = "This deletes much."
PROBLEM = {
    "code": "needs-confirmation",
    "detail": REASON,
    "reasons": [REASON],
    "zones": [{"zone": "a.test.", "reasons": [REASON], "removed": 5, "rrsets": 5}],
    "left_out": 0,
    "totals": {"zones": 1, "removed": 5, "rrsets": 5},
    "status": 409,
}
ZONE = {"name": "a.test.", "revision": 1, "rrset_count": 5, "id": 1}


class Panel(BaseHTTPRequestHandler):
    """A panel that answers each read, and refuses each write until it is confirmed."""

    writes: list[tuple[str, str, Any]] = []

    def answer(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.removeprefix("/api/v2").partition("?")[0]
        is_question = self.command == "GET"
        if not is_question:
            self.writes.append((self.command, path, body))
        is_run = path == "/change-runs" and "dry_run_of" not in body
        done = {
            "id": 1,
            "state": "done",
            "failure": "",
            "counts": {"change": 3},
            "dry_run": True,
            "items": [{"name": "1", "id": 1}],
        }
        value: Any = {**ZONE, **done, "next_cursor": None} if is_question or is_run else PROBLEM
        content = json.dumps(value).encode()
        self.send_response(200 if value is not PROBLEM else 409)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    Panel.writes = []
    running = ThreadingHTTPServer(("127.0.0.1", 0), Panel)
    running.daemon_threads = True
    thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()
    thread.join()
    running.server_close()


def guarded() -> set[str]:
    """Return the ids of all operations with the parameter `confirm`."""
    found = document()
    schemas = found["components"]["schemas"]
    names = set()
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            schema = content.get("schema", {})
            schema = schemas.get(schema.get("$ref", "").rpartition("/")[2], schema)
            query = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
            if "confirm" in query or "confirm" in schema.get("properties", {}):
                names.add(f"{method.upper()} {path.removeprefix('/api/v2')}")
    return names


def test_each_operation_that_a_guard_can_stop_has_a_command() -> None:
    assert guarded() == COMMANDS.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("operation", COMMANDS)
def test_a_command_that_a_guard_can_stop_takes_confirm(operation: str, url: str, tmp_path: Path) -> None:
    words = shlex.split(COMMANDS[operation])
    (tmp_path / "a.test.zone").write_text("")
    words = [str(tmp_path) if word == "." else word for word in words]
    told = {"DNSPANEL_URL": url, "DNSPANEL_TOKEN": "dnsp_x"}
    refused = run_command(*words, environment=told, home=tmp_path)
    assert (refused.code, REASON in refused.err) == (1, True), refused.err
    assert "--confirm" in refused.err
    Panel.writes.clear()
    run_command(*words, "--confirm", environment=told, home=tmp_path)
    method, path, body = Panel.writes[-1]
    expected = re.sub(r"\{[a-z_]+\}", "[^/]+", operation)
    assert re.fullmatch(expected, f"{method} {path}"), path
    assert method == "DELETE" or body["confirm"] is True


def test_no_option_of_this_kind_is_without_a_guard() -> None:
    having = {words for words, command in ALL.items() if any(each.name == "confirm" for each in command.params)}
    named = {tuple(word for word in shlex.split(words)[:2] if word != ".") for words in COMMANDS.values()}
    others = {("import",), ("imports", "apply"), ("undo",), *(("records", act) for act in ("add", "remove", "set"))}
    assert having == named | others
