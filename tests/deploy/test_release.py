"""`./dev release` makes all files of a release. It refuses a checkout that is no release, and says why."""

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.deploy.test_packages import BUILD_SECONDS
from tests.docs.documents import ROOT
from tests.replication.test_version import git

CHANGELOG = """# Changelog

## [Unreleased]

## [1.1.0] - 2026-12-31

- One thing.

## [1.0.0] - 2026-12-01

- Another thing.
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a repository with a tagged commit of release 1.1.0."""
    path = tmp_path / "checkout"
    for name in ("deploy/release.sh", "replication/__init__.py", "replication/version.py"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, path / name)
    (path / "CHANGELOG.md").write_text(CHANGELOG)
    git(tmp_path, "init", "-q", str(path))
    save(path, "v1.1.0")
    return path


def save(checkout: Path, tag: str = "") -> None:
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "saved")
    if tag:
        git(checkout, "tag", tag)


def said(checkout: Path) -> str:
    """Return the output of the check. It ends with status 1 if no release can be made."""
    done = subprocess.run([str(checkout / "deploy/release.sh"), "--check"], capture_output=True, text=True)
    assert done.returncode == (1 if done.stderr else 0)
    return (done.stdout or done.stderr).strip()


def test_a_tagged_commit_with_a_section_in_the_changelog_can_be_released(checkout: Path) -> None:
    assert said(checkout) == "1.1.0 can be released."


def test_a_changed_work_tree_is_refused(checkout: Path) -> None:
    (checkout / "new.txt").write_text("new")
    assert said(checkout) == "No release: the work tree has changes that are not committed:\n?? new.txt"


def test_a_commit_without_a_tag_is_refused(checkout: Path) -> None:
    (checkout / "new.txt").write_text("new")
    save(checkout)
    assert said(checkout).startswith("No release: this commit is 1.1.1.dev2+g")


@pytest.mark.parametrize("heading", ["## [1.1.1] - 2026-12-31", "## [Unreleased]"])
def test_a_version_without_a_section_is_refused(checkout: Path, heading: str) -> None:
    changelog = CHANGELOG.replace("## [1.1.0] - 2026-12-31", heading)
    (checkout / "CHANGELOG.md").write_text(changelog)
    save(checkout, "v1.2.0")
    assert said(checkout).startswith("No release: CHANGELOG.md has no section “## [1.2.0] - ")


def test_an_empty_section_is_refused(checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text(CHANGELOG.replace("- One thing.\n", ""))
    save(checkout)
    git(checkout, "tag", "-f", "v1.1.0")
    assert "CHANGELOG.md has no section" in said(checkout)


@pytest.fixture
def complete_checkout(tmp_path: Path) -> Path:
    """Make a repository of this work tree, with release 1.1.0. It builds in the chroots of this checkout."""
    path = tmp_path / "complete"
    path.mkdir()
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-z"], check=True, capture_output=True
    )
    for name in listed.stdout.decode().split("\0")[:-1]:
        if (ROOT / name).exists():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, path / name)
    (path / "CHANGELOG.md").write_text(CHANGELOG)
    git(tmp_path, "init", "-q", str(path))
    save(path, "v1.1.0")
    (ROOT / "var/package").mkdir(parents=True, exist_ok=True)
    (path / "var").mkdir()
    (path / "var/package").symlink_to(ROOT / "var/package")
    (path / ".venv").symlink_to(ROOT / ".venv")
    return path


@pytest.mark.full(reason="builds packages")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_release_has_the_packages_the_wheel_the_source_and_notes(complete_checkout: Path) -> None:
    subprocess.run([str(complete_checkout / "dev"), "release"], check=True, timeout=BUILD_SECONDS)
    made = complete_checkout / "dist/release-1.1.0"
    expected = {"NOTES.md", "dnspanel-1.1.0.tar.gz", "dnspanel_agent-1.1.0-py3-none-any.whl"}
    for number in (12, 13):
        debs = ("dnspanel_{}_amd64", "dnspanel-agent_{}_amd64", "dnspanel-front_{}_amd64", "dnspanel-cli_{}_all")
        names = [f"{name.format(f'1.1.0+deb{number}')}.deb" for name in debs]
        names += ["dnspanel-panel.cdx.json", "dnspanel-agent.cdx.json", "SHA256SUMS"]
        expected |= {f"debian{number}/{name}" for name in names}
    sums = [line.split() for line in (made / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in sums} == {name for name in expected if not name.endswith("SHA256SUMS")}
    assert {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()} == {*expected, "SHA256SUMS"}
    for folder in (made, made / "debian12", made / "debian13"):
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
    assert (made / "NOTES.md").read_text() == "- One thing.\n"
    bill = json.loads((made / "debian13/dnspanel-panel.cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    assert {"django", "celery", "psycopg"} <= {part["name"].lower() for part in bill["components"]}
    with tarfile.open(made / "dnspanel-1.1.0.tar.gz") as source:
        assert "dnspanel-1.1.0/dnspanel/settings.py" in source.getnames()
