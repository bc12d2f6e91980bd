"""A client that openapi-python-client generates from the panel's document, and a program that uses it."""

import os
from pathlib import Path

import pytest

from tests.clients.generated import generate, save_document, take_ten_steps
from tests.clients.packages import python_programs
from tests.clients.services import Service

pytestmark = pytest.mark.flow

PROGRAM = Path(__file__).with_name("with_openapi_python.py")


@pytest.mark.parametrize("service", ["panel"], indirect=True)
def test_the_generated_client_takes_ten_steps(service: Service, tmp_path: Path) -> None:
    programs = python_programs("clients-openapi")
    generate(
        [
            *(str(programs / "openapi-python-client"), "generate", "--meta", "none", "--fail-on-warning"),
            *("--path", str(save_document(service, tmp_path)), "--output-path", str(tmp_path / "panel_client")),
        ],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},  # it formats with the `ruff` in the same folder
    )
    (tmp_path / PROGRAM.name).write_text(PROGRAM.read_text())  # it imports the package next to it
    take_ten_steps([str(programs / "python"), PROGRAM.name], service, "python.steps.test.", cwd=tmp_path)
