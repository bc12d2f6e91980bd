"""Log lines: one line for each record, in text or JSON, with the request id."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from replication import log_lines
from replication.log_lines import JSON, TEXT, LineFormatter, WithoutTraceback, of_request

Record = Callable[..., logging.LogRecord]


def record(message: str, *args: object, failed: bool = False) -> logging.LogRecord:
    try:
        raise ValueError("why")
    except ValueError:
        info = sys.exc_info() if failed else None
    found = logging.LogRecord("dnspanel.fleet", logging.INFO, "x.py", 1, message, args, info)
    found.created, found.msecs = 1_796_060_000.25, 250.0
    return found


def test_a_line_of_text_ends_with_the_id_of_its_request() -> None:
    line = LineFormatter(TEXT).format(record("pushed node=%s", "ns1"))
    assert line.endswith(",250 INFO dnspanel.fleet pushed node=ns1")
    with of_request("req-7"):
        assert LineFormatter(TEXT).format(record("pushed")).endswith(" pushed request_id=req-7")
        with of_request(""):
            assert log_lines.request_id.get() == "req-7"
    assert log_lines.request_id.get() == ""


def test_a_line_of_json_has_the_same_facts() -> None:
    with of_request("req-7"):
        line = LineFormatter(JSON).format(record("a “%s”\nline", "quoted", failed=True))
    assert "\n" not in line
    found = json.loads(line)
    assert found.pop("traceback").splitlines()[-1] == "ValueError: why"
    assert found == {
        "time": "2026-11-30T17:33:20.250+00:00",
        "level": "INFO",
        "logger": "dnspanel.fleet",
        "message": "a “quoted”\nline",
        "request_id": "req-7",
    }
    assert "request_id" not in json.loads(LineFormatter(JSON).format(record("alone")))


def test_a_client_cannot_write_lines_of_its_own() -> None:
    line = LineFormatter(TEXT).format(record("path=%s", "/a\r\n2026-11-30 00:00:00,000 INFO forged", failed=True))
    assert line.splitlines()[0].endswith("path=/a\\r\\n2026-11-30 00:00:00,000 INFO forged")
    assert line.splitlines()[-1] == "ValueError: why"


def test_what_a_client_causes_is_one_line() -> None:
    found = record("Invalid HTTP_HOST header", failed=True)
    assert WithoutTraceback().filter(found)
    assert LineFormatter(TEXT).format(found).endswith(" WARNING dnspanel.fleet Invalid HTTP_HOST header")


@pytest.mark.parametrize(("form", "start"), [("text", "20"), ("json", '{"time": "20')])
def test_agents_write_the_same_lines(form: str, start: str) -> None:
    code = (
        "import logging; from replication.agent.__main__ import main; main(['prepare', '--config', '/nowhere'])\n"
        "logging.getLogger('replication.agent').info('applied from=57')"
    )
    environment = os.environ | {"AGENT_LOG_FORMAT": form}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    last = done.stderr.splitlines()[-1]
    assert last.startswith(start)
    assert "applied from=57" in last
    assert (json.loads(last)["logger"] if form == JSON else last.split()[3]) == "replication.agent"
