"""The OpenAPI linters redocly and spectral find no error in the panel's document."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.packages import node_command
from tests.dnspanel.api.described import described

PACKAGES = "openapi-lint"


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(described()))
    return path


def lint(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-10_000:]


def test_redocly_has_nothing_to_say(document: Path) -> None:
    lint(*node_command(PACKAGES, "redocly"), "lint", str(document), cwd=document.parent)


def test_spectral_has_nothing_to_say(document: Path) -> None:
    rules = document.with_name("spectral.yaml")
    rules.write_text('extends: ["spectral:oas"]\n')
    lint(
        *node_command(PACKAGES, "spectral"), "lint", "--ruleset", str(rules), "--quiet", str(document), cwd=rules.parent
    )
