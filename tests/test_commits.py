"""Commit subjects that the hook and `./dev check` accept, and those that they refuse."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.commits import (
    AREAS,
    BASE,
    HOOK,
    MOST_CHARACTERS,
    UnknownHistory,
    complaint,
    complaints,
    install_hook,
    subject_of,
)

ROOT = Path(__file__).resolve().parent.parent
GOOD = "zones: Refuse a CNAME beside other RRsets"
BAD = "zones: Refused a CNAME"


@pytest.mark.parametrize(
    "subject",
    [
        GOOD,
        "zones, web: Read forms of new zones in modules of their own",
        "tests: Bring the nodes up once",
        "agent: Pass the clock: it is an argument",
        "dev: Re-lock the requirements",
        "docs: Say who signs, what and when...",
        "zones: " + "A".ljust(MOST_CHARACTERS - 9, "d") + " b",
        f'Revert "{BAD}"',
        f'Reapply "{BAD}"',
        f"fixup! {BAD}",
        f"squash! {BAD}",
        f"amend! {BAD}",
        "Merge branch 'main' of hub",
        "Merge remote-tracking branch 'origin/main'",
        "Merge pull request #3 from someone/branch",
    ],
)
def test_a_good_subject_passes(subject: str) -> None:
    assert complaint(subject) == ""


@pytest.mark.parametrize(
    ("subject", "wrong"),
    [
        ("Refuse a CNAME beside other RRsets", "write area: Verb object"),
        ("zones:Refuse a CNAME", "write area: Verb object"),
        ("zones: Refuse", "write area: Verb object"),
        ("zones : Refuse a CNAME", "'zones ' is not an area, perhaps zones"),
        ("zone: Refuse a CNAME", "'zone' is not an area, perhaps zones"),
        ("zones,web: Refuse a CNAME", "'zones,web' is not an area"),
        ("Merge catalogs: Join them", "'Merge catalogs' is not an area"),
        ("zones: refuse a CNAME", "not with 'refuse'"),
        (BAD, "not with 'Refused'"),
        ("zones: Refusing a CNAME", "not with 'Refusing'"),
        ("zones: Refuses a CNAME", "not with 'Refuses'"),
        ("zones: Of a thousand RRsets that change, what cannot matter is not read", "not with 'Of'"),
        ("zones: The zone exists", "not with 'The'"),
        ("zones: RRsets become rows", "not with 'RRsets'"),
        ("zones: DNSSEC works", "not with 'DNSSEC'"),
        ("zones: 12 zones more", "not with '12'"),
        (GOOD.ljust(MOST_CHARACTERS + 1, "s"), "shorten it from 73 to 72 characters"),
        (f"{GOOD}.", "leave out the full stop"),
    ],
)
def test_a_wrong_subject_gets_one_line_that_says_what_is_right(subject: str, wrong: str) -> None:
    assert wrong in complaint(subject)
    assert "\n" not in complaint(subject)


def test_every_package_is_an_area() -> None:
    packages = {path.parent.name for path in ROOT.glob("dnspanel/*/__init__.py")} | {"replication", "tests"}
    packages |= {path.parent.name for path in ROOT.glob("replication/*/__init__.py")}
    assert packages - AREAS == set()


@pytest.mark.parametrize(
    ("message", "subject"),
    [
        ("zones: Add a\n\nBody\n", "zones: Add a"),
        ("# comment\n\nzones: Add a\n# comment\nof b\n\nBody", "zones: Add a of b"),
        ("\n# only comments\n", ""),
    ],
)
def test_the_subject_is_read_as_git_reads_it(message: str, subject: str) -> None:
    assert subject_of(message) == subject


class Repository:
    """A temporary Git repository that contains this checkout's subject check."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        for name in [name for name in os.environ if name.startswith("GIT_")]:
            monkeypatch.delenv(name)
        for name, value in {
            "HOME": str(path),  # without the user's own configuration
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ana",
            "GIT_AUTHOR_EMAIL": "ana@example.com",
            "GIT_COMMITTER_NAME": "Ana",
            "GIT_COMMITTER_EMAIL": "ana@example.com",
        }.items():
            monkeypatch.setenv(name, value)
        self.git("init", "--quiet", "--initial-branch=main")
        (path / "tests").mkdir()
        for name in ("__init__.py", "commits.py"):
            (path / "tests" / name).write_text((ROOT / "tests" / name).read_text())

    def git(self, *args: str) -> str:
        return subprocess.run(["git", *args], cwd=self.path, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, message: str, *args: str) -> str:
        """Make an empty commit with this message. Return the commit's hash."""
        self.git("commit", "--quiet", "--allow-empty", "--message", message, *args)
        return self.git("rev-parse", "HEAD")

    def refused(self, message: str) -> str:
        """Return Git's error output when it refuses a commit with this message."""
        with pytest.raises(subprocess.CalledProcessError) as failed:
            self.commit(message)
        return failed.value.stderr

    @property
    def hook(self) -> Path:
        return self.path / ".git" / "hooks" / "commit-msg"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    return Repository(tmp_path, monkeypatch)


def test_the_hook_refuses_a_wrong_subject_with_one_line(repository: Repository) -> None:
    install_hook(repository.path)
    repository.commit(GOOD)
    said = repository.refused(BAD)
    assert said.startswith("Commit subject refused: begin with a capitalized verb")
    assert said.count("\n") == 1
    assert repository.git("log", "--format=%s") == GOOD


def test_the_hook_lets_merges_fixups_and_reverts_pass(repository: Repository) -> None:
    first = repository.commit("An old subject")
    install_hook(repository.path)
    repository.git("checkout", "--quiet", "-b", "other")
    repository.commit("zones: Add a")
    repository.git("checkout", "--quiet", "main")
    repository.commit("zones: Add b")
    repository.git("merge", "--quiet", "--no-edit", "other")
    repository.git("commit", "--quiet", "--allow-empty", f"--fixup={first}")
    repository.git("add", "tests")
    changed = repository.commit(GOOD)
    repository.git("revert", "--no-edit", changed)
    subjects = repository.git("log", "-4", "--format=%s").splitlines()
    assert subjects == [f'Revert "{GOOD}"', GOOD, "fixup! An old subject", "Merge branch 'other'"]


def test_the_hook_lets_a_checkout_from_before_the_rule_alone(repository: Repository) -> None:
    install_hook(repository.path)
    (repository.path / "tests" / "commits.py").unlink()
    repository.commit(BAD)


def test_the_hook_replaces_its_own_old_text_and_no_other_hook(repository: Repository) -> None:
    install_hook(repository.path)
    repository.hook.write_text(HOOK + "old\n")
    install_hook(repository.path)
    assert repository.hook.read_text() == HOOK
    repository.hook.write_text("#!/bin/sh\n")
    install_hook(repository.path)
    assert repository.hook.read_text() == "#!/bin/sh\n"


def test_no_hook_is_installed_beside_a_folder_of_hooks_or_outside_a_repository(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    repository.git("config", "core.hooksPath", "own")
    install_hook(repository.path)
    assert not repository.hook.exists()
    bare = tmp_path_factory.mktemp("no_repository")
    install_hook(bare)
    assert list(bare.iterdir()) == []


def test_a_work_tree_beside_the_clone_has_the_same_hook(repository: Repository) -> None:
    repository.git("add", ".")
    repository.git("commit", "--quiet", "--message", GOOD)
    repository.git("worktree", "add", "--quiet", "beside")
    install_hook(repository.path / "beside")
    assert os.access(repository.hook, os.X_OK)
    assert "Commit subject refused" in repository.refused(BAD)


def test_the_subjects_since_the_base_are_checked(repository: Repository) -> None:
    repository.commit("An old subject")
    base = repository.commit("Another one")
    assert list(complaints(repository.path, base)) == []
    repository.commit(GOOD)
    wrong = repository.commit(BAD)
    (said,) = complaints(repository.path, base)
    assert said.startswith(f"commit {wrong[:7]}")
    assert BAD in said


def test_merges_are_not_checked(repository: Repository) -> None:
    base = repository.commit("An old subject")
    repository.git("checkout", "--quiet", "-b", "other")
    repository.commit("zones: Add a")
    repository.git("checkout", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "Bring both together", "other")
    assert list(complaints(repository.path, base)) == []


def test_shallow_and_bare_clones_are_checked(repository: Repository) -> None:
    base = repository.commit("An old subject")
    for message in (BAD, GOOD, BAD):
        repository.commit(message)
    source = f"file://{repository.path}"
    repository.git("clone", "--quiet", "--bare", source, "bare")
    repository.git("clone", "--quiet", "--depth=2", source, "shallow")
    assert len(list(complaints(repository.path / "bare", base))) == 2
    assert len(list(complaints(repository.path / "shallow", base))) == 1


def test_without_the_base_or_any_history_the_reason_is_said(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnknownHistory, match="there is no history"):
        list(complaints(repository.path))
    repository.commit(BAD)
    with pytest.raises(UnknownHistory, match=f"does not hold {BASE[:8]}"):
        list(complaints(repository.path))
    with pytest.raises(UnknownHistory, match="there is no history"):
        list(complaints(tmp_path_factory.mktemp("no_repository")))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnknownHistory, match="there is no history"):
        list(complaints(repository.path))


def test_a_check_without_history_ends_well_and_says_so(repository: Repository) -> None:
    done = subprocess.run(
        ["/usr/bin/python3", "-m", "tests.commits"], cwd=repository.path, capture_output=True, text=True, check=True
    )
    assert done.stderr == "Subjects of commits were not checked: there is no history.\n"
