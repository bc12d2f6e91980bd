"""Tests of API v2 with schemathesis: every answer to generated requests matches the OpenAPI document."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django.live_server_helper import LiveServer

from dnspanel.fleet.nodes import node_lifecycle
from tests.dnspanel.api.callers import Caller, secret_of
from tests.dnspanel.api.described import described
from tests.dnspanel.api.schemathesis_hooks_v2 import FIRST_OWN_ID
from tests.dnspanel.api.test_schemathesis_v1 import operations_of
from tests.full import Sample
from tests.people import NOW

HERE = Path(__file__).parent
SEED = 4
EXAMPLES = 10  # per operation
SECONDS = 900  # on a busy machine; on a free one it takes about forty


@pytest.fixture
def far_ids(transactional_db: None) -> None:
    """Give the caller's account and token high ids, so that no generated request closes or revokes them."""
    with connection.cursor() as cursor:
        for table in ("accounts_user", "accounts_token"):
            cursor.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {FIRST_OWN_ID})")


def test_no_request_that_schemathesis_makes_is_answered_otherwise_than_described(
    far_ids: None,
    live_server: LiveServer,
    settings: Any,
    tmp_path: Path,
    make_zone: Any,
    active_node: Any,
    sample: Sample,
) -> None:
    settings.API_REQUESTS_PER_MINUTE = 1_000_000
    settings.TRANSFER_DIR = tmp_path / "transfer"
    make_zone("www 300 A 192.0.2.1")
    # Without pushes: otherwise every request that waits for all nodes would take its whole minute.
    node_lifecycle.drain(node=active_node("ns1"), now=NOW, by=None)
    secret = secret_of(Caller.ADMINISTRATOR)
    (tmp_path / "openapi.json").write_text(json.dumps(described()))
    operations = sample.some(operations_of(described()), 15, reason="operations of API v2 that schemathesis tries")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(HERE / "schemathesis_v2.toml")),
            *("run", str(tmp_path / "openapi.json"), "--url", live_server.url),
            # Both headers, because schemathesis invents the one that it isn't given.
            *("--header", f"Authorization: Bearer {secret}", "--header", f"X-API-Key: {secret}"),
            *("--checks", "all", "--phases", "fuzzing", "--mode", "all"),
            *("--seed", str(SEED), "--max-examples", str(EXAMPLES), "--continue-on-failure"),
            *(f"--include-operation-id={operation}" for operation in operations),
        ],
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(HERE / "schemathesis_hooks_v2.py")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    assert f"Tested: {len(operations)}" in done.stdout
