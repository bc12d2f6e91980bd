"""The images can be built: the sources of each COPY exist in the context that `.dockerignore` leaves."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.build_context import (
    context_files,
    copy_files,
    files_of,
    is_sent,
    parse_dockerfile,
    parse_dockerignore,
)
from tests.docs.documents import ROOT

PATTERNS = parse_dockerignore((ROOT / ".dockerignore").read_text())
STAGES = parse_dockerfile((ROOT / "Dockerfile").read_text())
CONTEXT = context_files()

# Larger than all source files, including catalogs. Each build sends the whole context again.
LARGEST_FILE, LARGEST_CONTEXT = 2_000_000, 40_000_000


@pytest.mark.parametrize(
    ("text", "path", "sent"),
    [
        ("", "a/b", True),
        ("a", "a", False),
        ("a", "a/b/c", False),
        ("a", "b/a", True),
        ("*", "a/b", False),
        ("*\n!a", "a/b", True),
        ("!a\n*", "a/b", False),
        ("*\n!a\na/b", "a/b/c", False),
        ("*\n!a\na/b\n!a/b/c", "a/b/c/d", True),
        ("*.md", "README.md", False),
        ("*.md", "docs/README.md", True),
        ("**/*.md", "README.md", False),
        ("**/*.md", "docs/use/README.md", False),
        ("docs/**", "docs/use/README.md", False),
        ("docs/**/x", "docs/a/b/x", False),
        ("docs/**/x", "docs/x", False),
        ("**/.env", "a/.env", False),
        ("**/.env", "a/b.env", True),
        ("/a", "a", False),
        ("a/", "a/b", False),
        ("./a/../b", "b/c", False),
        ("# a\na?", "ab", False),
        ("a?", "a/", True),
        ("[ab]c", "bc/d", False),
        (" a ", "a", False),
        (" # a", "# a", False),
    ],
)
def test_patterns_mean_what_they_mean_to_docker(text: str, path: str, sent: bool) -> None:
    assert is_sent(path, parse_dockerignore(text)) is sent


@pytest.mark.parametrize("stage", STAGES)
def test_each_source_of_a_copy_is_there(stage: str) -> None:
    """Previously `COPY locale` failed for weeks, because `.dockerignore` excluded the directory."""
    for copy in STAGES[stage].copies:
        for source in copy.sources:
            found = STAGES[copy.stage].has_made(source) if copy.stage else files_of(source, CONTEXT)
            assert found, f"COPY {source} in the stage {stage}"


def test_each_directory_of_the_context_is_copied_by_a_stage() -> None:
    """Other directories would slow down each build, and their changes would invalidate Docker's cache."""
    copied = {source for stage in STAGES.values() for copy in stage.copies if not copy.stage for source in copy.sources}
    assert sorted({path.split("/")[0] for path in CONTEXT} - {source.split("/")[0] for source in copied}) == []


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".git/config",
        ".venv/bin/python",
        "var/secrets/master-key",
        "var/postgres/PG_VERSION",
        "dist/agent.whl",
        "dnspanel/.env",
        "dnspanel/web/.env.local",
        "dnspanel/.mypy_cache/cache.json",
        "dnspanel/web/views.pyc",
        "dnspanel/web/__pycache__/views.cpython-311.pyc",
        "locale/de/LC_MESSAGES/django.mo",
        "replication/agent/identity/agent.key",
        "replication/agent/identity/agent.pem",
        "static/id_rsa.key",
    ],
)
def test_what_only_a_machine_has_stays_on_it(path: str) -> None:
    assert not is_sent(path, PATTERNS)


def test_the_context_has_no_key_and_nothing_large() -> None:
    sizes = {path: (ROOT / path).stat().st_size for path in CONTEXT}
    assert max(sizes.values()) <= LARGEST_FILE
    assert sum(sizes.values()) <= LARGEST_CONTEXT
    begin = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/]{40}")
    assert [path for path in CONTEXT if begin.search((ROOT / path).read_bytes())] == []


@pytest.mark.parametrize(
    ("stage", "command"),
    [
        ("panel", ["manage.py", "collectstatic", "--noinput", "--verbosity=0", "--skip-checks"]),
        ("panel", ["-c", "import dnspanel.wsgi, dnspanel.celery, dnspanel.urls"]),
        ("node", ["-m", "replication.agent", "--help"]),
    ],
)
def test_the_code_of_an_image_needs_no_file_that_the_image_lacks(
    stage: str, command: list[str], tmp_path: Path
) -> None:
    copy_files(STAGES[stage], tmp_path)
    outside = {key: value for key, value in os.environ.items() if not key.startswith(("PANEL_", "PYTHON", "DJANGO_"))}
    env = {
        **outside,
        **dict.fromkeys(("PANEL_SECRET_KEY", "PANEL_MASTER_KEY"), "build"),
        "PANEL_DATABASE": "postgresql:///panel?host=/nonexistent",  # as if it were down
        "PANEL_REDIS_URL": "redis://",
        "PANEL_STATIC_ROOT": str(tmp_path / "static"),
        "PANEL_VAR": str(tmp_path / "var"),
        "DJANGO_SETTINGS_MODULE": "dnspanel.settings",
    }
    directory = tmp_path / STAGES[stage].directory.lstrip("/")
    done = subprocess.run([sys.executable, *command], cwd=directory, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_step_that_installs_packages_fetches_their_lists_itself() -> None:
    """Docker caches the layers of earlier steps, and old package lists name packages that mirrors no longer have."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    steps = [line for line in text.splitlines() if line.startswith("RUN") and "apt-get install" in line]
    assert len(steps) > 3
    assert [step for step in steps if "apt-get update" not in step] == []
