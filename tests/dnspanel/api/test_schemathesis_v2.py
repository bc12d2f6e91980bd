"""API v2 answers as its OpenAPI document says, whatever schemathesis comes up with; nothing breaks it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from dnspanel.fleet import enroll
from tests.dnspanel.api.callers import Caller, secret_of
from tests.dnspanel.api.described import described
from tests.people import NOW

HERE = Path(__file__).parent
SEED = 4
EXAMPLES = 2  # per operation, besides those that cover the description
SECONDS = 300  # on a busy machine; it takes a quarter of that on a free one


@pytest.mark.django_db(transaction=True)
def test_no_request_that_schemathesis_makes_is_answered_otherwise_than_described(
    live_server: LiveServer, settings: Any, tmp_path: Path, make_zone: Any, active_node: Any
) -> None:
    settings.API_REQUESTS_PER_MINUTE = 1_000_000
    settings.TRANSFER_DIR = tmp_path / "transfer"
    make_zone("www 300 A 192.0.2.1")
    # It takes no pushes: else every request that waits for all nodes would do so for its whole minute.
    enroll.drain(node=active_node("ns1"), now=NOW, by=None)
    secret = secret_of(Caller.EDITOR)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(HERE / "schemathesis_v2.toml")),
            *("run", f"{live_server.url}/api/v2/openapi.json"),
            *("--header", f"Authorization: Bearer {secret}"),
            *("--checks", "all", *os.environ.get("H5", "--phases examples,coverage,fuzzing").split()),
            *("--seed", str(SEED), "--max-examples", str(EXAMPLES), "--continue-on-failure"),
        ],
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(HERE / "schemathesis_hooks.py")},
        stdout=open("/tmp/h5_st.out", "w"),
        stderr=subprocess.STDOUT,
        text=True,
        timeout=int(os.environ.get("H5S", SECONDS)),
        check=False,
    )
    done.stdout = open("/tmp/h5_st.out").read()
    assert done.returncode == 0, done.stdout[-20_000:]
    operations = sum(len(operations) for operations in described()["paths"].values())
    assert f"Tested: {operations}" in done.stdout
