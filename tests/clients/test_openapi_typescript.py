"""Types that openapi-typescript generates from the panel's document without options, and a program that uses them."""

import shutil
from pathlib import Path

import pytest

from tests.clients.generated import generate, save_document, take_ten_steps
from tests.clients.packages import NODE_PACKAGES, node_command, node_packages
from tests.clients.services import Service

pytestmark = pytest.mark.flow

PACKAGES = "openapi-typescript"


@pytest.mark.parametrize("service", ["panel"], indirect=True)
def test_the_generated_types_compile_and_the_client_takes_ten_steps(service: Service, tmp_path: Path) -> None:
    for name in ("package.json", "tsconfig.json", "main.ts"):
        shutil.copy(NODE_PACKAGES / PACKAGES / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(node_packages(PACKAGES) / "node_modules")
    document = save_document(service, tmp_path)
    generate([*node_command(PACKAGES, "openapi-typescript"), str(document), "-o", "schema.ts"], cwd=tmp_path)
    generate([*node_command(PACKAGES, "tsc"), "--project", "."], cwd=tmp_path)
    take_ten_steps([*node_command(PACKAGES, "node"), "main.js"], service, "typescript.steps.test.", cwd=tmp_path)
