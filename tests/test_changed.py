"""The choice of test files for a change: the nearest first, as many as the time allows."""

import subprocess
from pathlib import Path

import pytest

from tests.changed import (
    CHANGED,
    FOLDER,
    IMPORTS,
    NAMED,
    REACHES,
    ROOT,
    RULE,
    RULES,
    SLOW,
    Module,
    Tree,
    changed_files,
    choose,
    mirror_of,
    reachable,
    read_module,
    read_tree,
)

TREE = Tree(
    {
        "dnspanel/zones/edit.py": Module(imports=("dnspanel.zones.models.Zone", "dnspanel.zones.rules")),
        "dnspanel/zones/models/__init__.py": Module(),
        "dnspanel/zones/rules.py": Module(),
        "dnspanel/web/editor/drawer.py": Module(imports=("dnspanel.zones.edit",), names=("editor/drawer.html",)),
        "tests/people.py": Module(imports=("dnspanel.zones.models.Zone",)),
        "tests/conftest.py": Module(imports=("tests.people.alice",)),
        "tests/test_house.py": Module(),
        "tests/dnspanel/zones/conftest.py": Module(imports=("dnspanel.zones.edit.create_zone",)),
        "tests/dnspanel/zones/test_edit.py": Module(imports=("dnspanel.zones.edit",)),
        "tests/dnspanel/zones/test_texts.py": Module(tells_of=("zones.rules",)),
        "tests/dnspanel/web/editor/test_drawer.py": Module(imports=("dnspanel.web.editor.drawer",)),
        "tests/dnspanel/web/editor/test_tags.py": Module(),
        "tests/dnspanel/web/test_sign_in.py": Module(),
        "tests/dnspanel/cli/test_wait.py": Module(imports=("tests.people.bob",)),
        "tests/flow/test_edits.py": Module(imports=("dnspanel.zones.edit",)),
    },
    {"templates/editor/drawer.html": ("editor/_tags.html",), "templates/editor/_tags.html": ("_tag.html",)},
)
HOUSE = "tests/test_house.py"


def kinds(*changed: str) -> dict[str, str]:
    return {path: kind for path, (kind, _) in reachable(TREE, changed).items() if path != HOUSE}


def test_a_module_leads_to_its_own_tests_to_those_that_import_it_and_to_its_folder() -> None:
    assert kinds("dnspanel/zones/edit.py") == {
        "tests/dnspanel/zones/test_edit.py": NAMED,
        "tests/flow/test_edits.py": IMPORTS,
        "tests/dnspanel/zones/test_texts.py": FOLDER,
        "tests/dnspanel/web/editor/test_drawer.py": REACHES,
    }
    assert kinds("dnspanel/zones/rules.py")["tests/dnspanel/zones/test_texts.py"] == NAMED


def test_a_name_that_a_package_defines_leads_to_the_package() -> None:
    found = reachable(TREE, ["dnspanel/zones/models/__init__.py"])
    assert found["tests/dnspanel/cli/test_wait.py"] == (REACHES, 2)
    assert found["tests/dnspanel/web/editor/test_drawer.py"] == (REACHES, 3)


def test_what_a_conftest_imports_reaches_the_tests_below_it_but_that_of_all_tests_says_nothing() -> None:
    found = reachable(TREE, ["dnspanel/zones/edit.py"])
    assert "tests/dnspanel/web/test_sign_in.py" not in found
    tree = Tree({**TREE.modules, "tests/dnspanel/zones/log/test_log.py": Module()})
    assert reachable(tree, ["dnspanel/zones/edit.py"])["tests/dnspanel/zones/log/test_log.py"] == (REACHES, 2)
    assert "tests/dnspanel/web/test_sign_in.py" not in kinds("tests/people.py")


def test_a_conftest_leads_to_everything_in_its_folder() -> None:
    assert kinds("tests/dnspanel/zones/conftest.py") == {
        "tests/dnspanel/zones/test_edit.py": IMPORTS,
        "tests/dnspanel/zones/test_texts.py": IMPORTS,
    }
    assert len(kinds("tests/conftest.py")) == len([path for path in TREE.modules if "/test_" in path]) - 1


def test_a_template_leads_to_who_names_a_template_that_includes_it_and_to_its_room() -> None:
    assert kinds("templates/_tag.html") == {"tests/dnspanel/web/editor/test_drawer.py": REACHES}
    assert kinds("templates/editor/_tags.html") == {
        "tests/dnspanel/web/editor/test_drawer.py": FOLDER,
        "tests/dnspanel/web/editor/test_tags.py": NAMED,
    }


def test_a_test_that_was_changed_is_the_nearest() -> None:
    assert kinds("tests/flow/test_edits.py", "dnspanel/zones/edit.py")["tests/flow/test_edits.py"] == CHANGED
    assert kinds("tests/flow/test_edits.py") == {"tests/flow/test_edits.py": CHANGED}


def test_python_files_are_held_to_the_house_and_others_to_their_rules() -> None:
    assert reachable(TREE, ["dnspanel/zones/edit.py"])[HOUSE][0] == RULE
    assert HOUSE not in reachable(TREE, ["docs/develop/testing.md"])
    assert reachable(TREE, ["docs/nothing.png", "a/deleted.py"]) == {}


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("dnspanel/web/editor/drawer.py", "tests/dnspanel/web/editor"),
        ("replication/agent/rows.sql", "tests/replication/agent"),
        ("templates/editor/drawer.html", "tests/dnspanel/web/editor"),
        ("static/css/fleet.css", "tests/dnspanel/web/fleet"),
        ("templates/base.html", None),
        ("docs/README.md", None),
    ],
)
def test_a_folder_of_the_code_has_a_folder_of_tests(path: str, folder: str | None) -> None:
    assert mirror_of(path) == folder


def test_the_nearest_come_first_and_the_cheapest_of_them() -> None:
    reasons = {
        "tests/far.py": (REACHES, 3), "tests/near.py": (REACHES, 2), "tests/own.py": (NAMED, 0),
        "tests/cheap.py": (IMPORTS, 1), "tests/dear.py": (IMPORTS, 1), "tests/changed.py": (CHANGED, 0),
        "tests/flow/test_it.py": (IMPORTS, 1),
    }  # fmt: skip
    cost = {"tests/dear.py": 100.0, "tests/changed.py": 50.0}
    found = choose(reasons, lambda path: cost.get(path, 1.0), most=53.5)
    assert found.files == ["tests/changed.py", "tests/own.py", "tests/cheap.py", "tests/near.py"]
    assert found.left_out == ["tests/flow/test_it.py", "tests/dear.py", "tests/far.py"]
    assert (found.cpu, found.cpu_left_out) == (53, 102)
    few = choose(reasons, lambda path: cost.get(path, 1.0), most=1)
    assert few.files == ["tests/changed.py"], "it runs although it takes longer"


def test_imports_are_read_wherever_they_are() -> None:
    text = '''"""Tests `zones.edit` too."""
import a.b
from c.d import e, f as g
def test_one():
    from h import i
    render("editor/drawer.html", "no file", ["x.sql"])
'''
    assert read_module(text) == Module(
        imports=("a.b", "c.d.e", "c.d.f", "h.i"),
        names=("editor/drawer.html", "x.sql"),
        tells_of=("zones.edit",),
        tests=1,
    )


def test_a_tree_is_read_again_only_where_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dnspanel").mkdir()
    (tmp_path / "templates").mkdir()
    (tmp_path / "dnspanel" / "one.py").write_text("import two")
    (tmp_path / "templates" / "page.html").write_text('{% extends "base.html" %} {% include "_a.html" with b=1 %}')
    first = read_tree(tmp_path, tmp_path / "cache")
    assert first.templates == {"templates/page.html": ("base.html", "_a.html")}
    (tmp_path / "dnspanel" / "two.py").write_text("import three")
    read: list[str] = []
    monkeypatch.setattr("tests.changed.read_module", lambda text: read.append(text) or read_module(text))
    second = read_tree(tmp_path, tmp_path / "cache")
    assert read == ["import three"]
    assert second.modules == {**first.modules, "dnspanel/two.py": Module(imports=("three",))}


def test_a_change_is_what_differs_from_main_with_new_files(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        person = ["-c", "user.name=Alice", "-c", "user.email=alice@people.test"]
        subprocess.run(["git", *person, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for name in ("kept", "changed", "gone"):
        (tmp_path / name).write_text(name)
    git("add", ".")
    git("commit", "-qm", "first")
    git("checkout", "-qb", "branch")
    (tmp_path / "committed").write_text("")
    git("add", ".")
    git("commit", "-qm", "second")
    (tmp_path / "changed").write_text("otherwise")
    (tmp_path / "gone").unlink()
    (tmp_path / "new").write_text("")
    assert changed_files(None, root=tmp_path) == ["changed", "committed", "gone", "new"]
    assert changed_files("HEAD", root=tmp_path) == ["changed", "gone", "new"]


def test_every_place_of_a_rule_exists() -> None:
    places = [*SLOW, *(place for _, places in RULES for place in places)]
    assert [place for place in places if not (ROOT / place).exists()] == []
