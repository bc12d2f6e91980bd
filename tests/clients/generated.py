"""Helpers for tests of generated clients: the panel's OpenAPI document, and the ten steps that each client runs."""

import json
import subprocess
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.clients.services import Service

# Each program prints these lines, one after each successful step.
STEPS = [
    "me",
    "create a zone",
    "records",
    "bulk",
    "dry run",
    "wait for nodes",
    "typed errors",
    "list with cursor",
    "undo",
    "delete, restore",
]


def save_document(service: Service, folder: Path) -> Path:
    """Write the panel's OpenAPI document into the folder, and return its path."""
    with urllib.request.urlopen(f"{service.url}/api/v2/openapi.json", timeout=60) as answer:
        document = json.load(answer)
    path = folder / "openapi.json"
    path.write_text(json.dumps(document))
    return path


def generate(command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None) -> None:
    """Run a generator or compiler. Raise AssertionError if it fails or prints a warning."""
    done = subprocess.run(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-10_000:]
    assert "warning" not in done.stdout.lower(), done.stdout[-10_000:]


def take_ten_steps(command: Sequence[str], service: Service, zone: str, *, cwd: Path) -> None:
    """Run a client program with URL, TOKEN and ZONE. Raise AssertionError unless it completes all steps."""
    done = subprocess.run(
        [*command, service.url, service.key, zone], cwd=cwd, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.splitlines() == STEPS, done.stdout + done.stderr[-5000:]
    assert done.returncode == 0, done.stderr[-5000:]
