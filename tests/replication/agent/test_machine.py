"""Tests of the id of a machine."""

import shutil
from pathlib import Path

from replication.agent.machine import ID_FILE, machine_id


def test_a_machine_keeps_its_name(tmp_path: Path) -> None:
    assert machine_id(tmp_path) == machine_id(tmp_path)
    assert len(machine_id(tmp_path)) == 64
    assert (tmp_path / ID_FILE).stat().st_mode & 0o077 == 0


def test_another_installation_and_other_hardware_have_other_names(tmp_path: Path) -> None:
    names = set()
    for text in ("one", "two"):
        (tmp_path / text).write_text(text)
        names.add(machine_id(tmp_path, machine=tmp_path / text))
        names.add(machine_id(tmp_path, product=tmp_path / text))
    assert len(names) == 4


def test_a_copy_of_the_directory_notices_that_it_is_one(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    name = machine_id(one)
    shutil.copytree(one, two)
    assert machine_id(two) != name
    assert machine_id(one) == name
    assert machine_id(two) == machine_id(two)


def test_a_machine_without_ids_of_its_own_has_a_name_too(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    assert machine_id(tmp_path, machine=nothing, product=nothing) == machine_id(
        tmp_path, machine=nothing, product=nothing
    )


def test_an_id_that_was_cut_by_a_crash_is_replaced(tmp_path: Path) -> None:
    name = machine_id(tmp_path)
    (tmp_path / ID_FILE).write_text("")
    assert machine_id(tmp_path) != name
