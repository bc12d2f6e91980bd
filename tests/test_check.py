"""`./dev check` has nothing to complain of; as a test, it runs beside the others, and its complaints fail the run."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_format_lint_types_imports_and_templates_are_in_order() -> None:
    done = subprocess.run(["./dev", "check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
