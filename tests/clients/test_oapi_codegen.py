"""A Go client that oapi-codegen generates from the panel's unmodified document, and a program that uses it."""

import shutil
from pathlib import Path

import pytest

from tests.clients.generated import generate, save_document, take_ten_steps
from tests.clients.packages import GO_MODULES, go_build, go_programs
from tests.clients.services import Service

pytestmark = pytest.mark.flow

MODULE = "oapi-codegen"


@pytest.mark.parametrize("service", ["panel"], indirect=True)
def test_the_generated_client_is_built_and_takes_ten_steps(service: Service, tmp_path: Path) -> None:
    module = tmp_path / MODULE
    shutil.copytree(GO_MODULES / MODULE, module)
    (module / "panel").mkdir()
    document = save_document(service, tmp_path)
    # Without skip-prune, it omits the webhook types, but generates functions that need them.
    command = [str(go_programs(MODULE) / "oapi-codegen"), "-package", "panel", "-generate", "types,client,skip-prune"]
    generate([*command, "-o", "panel/panel.gen.go", str(document)], cwd=module)
    go_build(MODULE, module, tmp_path, "./steps")
    take_ten_steps([str(tmp_path / "steps")], service, "go.steps.test.", cwd=tmp_path)
