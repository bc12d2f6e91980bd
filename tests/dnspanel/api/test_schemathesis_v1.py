"""Tests of API v1 with schemathesis: every answer to generated requests matches the description."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import User
from dnspanel.api.v1.docs import document_json
from tests.dnspanel.api.v1.calls import Caller, caller
from tests.full import Sample
from tests.people import bob

__all__ = ["bob"]
HERE = Path(__file__).parent
SEED = 4
EXAMPLES = 10  # per operation, in addition to those that cover the description
SECONDS = 900  # on a busy machine


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("phases", "config"),
    [
        ("examples,coverage", "schemathesis_v1.toml"),
        ("fuzzing", "schemathesis_v1.toml"),
        ("stateful", "schemathesis_v1_stateful.toml"),
    ],
)
def test_no_request_that_schemathesis_makes_is_answered_otherwise_than_described(
    phases: str, config: str, live_server: LiveServer, bob: User, settings: Any, tmp_path: Path, sample: Sample
) -> None:
    settings.API_REQUESTS_PER_MINUTE = 1_000_000
    ask = caller(bob, permissions=[Permission.FLEET])
    make_what_the_examples_are_about(ask)
    (tmp_path / "swagger.json").write_text(json.dumps(typed_document()))
    operations, examples = operations_of(json.loads(document_json())), EXAMPLES
    if phases == "stateful":  # it chains operations, so it needs them all
        examples = sample.few(3, EXAMPLES, reason="sequences of requests that schemathesis makes of API v1")
    else:
        operations = sample.some(operations, 6, reason=f"operations of API v1 that schemathesis tries ({phases})")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(HERE / config)),
            *("run", str(tmp_path / "swagger.json"), "--url", f"{live_server.url}/api/v1"),
            *("--header", f"X-API-Key: {ask.key}", "--header", "Accept: application/json"),
            *("--checks", "all", "--seed", str(SEED), "--max-examples", str(examples), "--continue-on-failure"),
            *("--phases", phases),
            *(f"--include-operation-id={operation}" for operation in operations),
        ],
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(HERE / "schemathesis_hooks.py")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
    assert f"Selected: {len(operations)}/34" in done.stdout


def typed_document() -> Any:
    """Return the description with the type of each object. The real one omits it because of bravado."""
    found = json.loads(document_json())
    for definition in found["definitions"].values():
        if "properties" in definition:
            definition["type"] = "object"
    return found


def operations_of(document: Any) -> list[str]:
    """Return the operation ids in the description."""
    methods = {"get", "put", "post", "patch", "delete"}
    return [
        operation["operationId"] for path in document["paths"].values() for method, operation in path.items()
        if method in methods
    ]  # fmt: skip


def make_what_the_examples_are_about(ask: Caller) -> None:
    """Create the zones, keys and metadata of the description's examples and of the configuration."""
    for name in ("example.org.", "gone.example.org."):
        ask.value("POST", "/zones", {"name": name, "kind": "Native"}, status=201)
    for name in ("updates.example.org", "gone.example.org"):
        ask.value("POST", "/tsigkeys", {"name": name, "algorithm": "hmac-sha256"}, status=201)
    ask.value("POST", "/zones/example.org./metadata", {"kind": "X-Owner", "metadata": ["dept-7"]}, status=201)
