"""The command-line client with a complete panel: imports, exports and waits until all three name servers answer.

Tests `zones.exports`, `zones.imports` and `cli.waiting` too.
"""

import gzip
import json
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dnspanel.demo.stack import Stack
from tests.dnspanel.cli.in_process import Ran, run_command
from tests.stack import Answer, ask_all, make_person, run_inside

pytestmark = pytest.mark.flow

Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def run(stack: Stack, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Run:
    """Return a function that runs the client as an administrator. Each module has a separate person."""
    person = request.module.__name__.rpartition(".test_")[2]
    make_person(stack, person)
    secret = run_inside(stack, "command_line.make_token", person)
    home = tmp_path_factory.mktemp("home")
    told = {"DNSPANEL_URL": stack.url, "DNSPANEL_TOKEN": secret}
    return lambda *args, input=None: run_command(*args, environment=told, home=home, input=input)


def test_the_command_of_a_stack_asks_its_panel(stack: Stack, tmp_path: Path) -> None:
    """Previously `./dev run` installed no `dnspanel`. Its program runs with only a token and Debian's Python."""
    make_person(stack, "cora")
    token = run_inside(stack, "command_line.make_token", "cora")
    environ = {"PATH": f"{stack.command_line.parent}:/usr/bin:/bin", "HOME": str(tmp_path), "DNSPANEL_TOKEN": token}
    done = subprocess.run(
        ["dnspanel", "whoami"], env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "cora" in done.stdout


def zone_file(name: str, address: str) -> str:
    return (
        f"$ORIGIN {name}.\n$TTL 300\n@ SOA ns1.{name}. hostmaster.{name}. 1 10800 3600 604800 3600\n"
        f"@ NS ns1.{name}.\nns1 A 192.0.2.53\nwww A {address}\n"
    )


def answered(stack: Stack, name: str, *rdata: str) -> bool:
    return ask_all(stack, name) == [Answer("NOERROR", rdata)] * len(stack.nodes)


def test_what_is_waited_for_is_answered_by_all_nodes(stack: Stack, run: Run) -> None:
    created = run("zones", "create", "waited.test", "--wait")
    assert (created.code, created.err) == (0, "")
    assert "is answered by all 3 nodes." in created.out
    written = run("records", "set", "waited.test", "www", "A", "192.0.2.7", "--wait", "--output", "json")
    assert answered(stack, "www.waited.test", "192.0.2.7")
    sequence = written.json["publication"]["sequence"]
    waited = run("wait", str(sequence))
    assert (waited.code, "3 of 3 nodes" in waited.out, "ns2" in waited.out) == (0, True, True)
    assert run("wait", "--zone", "waited.test", "--output", "json").json["everywhere"] is True


def test_a_wait_for_nodes_that_do_not_come_ends_with_3_and_their_names(stack: Stack, run: Run) -> None:
    run("zones", "create", "late.test", "--wait")
    stack.supervisor.stop(["ns3-agent"])
    try:
        late = run("records", "set", "late.test", "www", "A", "192.0.2.8", "--wait", "--timeout", "2")
        assert (late.code, "2 of 3 nodes" in late.err, "ns3:" in late.err) == (3, True, True)
    finally:
        stack.supervisor.start(["ns3-agent"])
    assert run("wait", "--zone", "late.test", "--timeout", "30").code == 0


def test_wait_wants_one_thing(run: Run) -> None:
    assert run("wait").code == 0, "the newest publication"
    assert run("wait", "7", "--zone", "x.test").code == 2


def test_a_folder_is_imported_after_a_dry_run(stack: Stack, run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "zones"
    folder.mkdir()
    for number in range(3):
        (folder / f"i{number}.test.zone").write_text(zone_file(f"i{number}.test", "192.0.2.1"))
    looked = run("import", str(folder))
    assert looked.code == 0, looked.err
    assert "Nothing was written." in looked.err
    assert "creates    3" in looked.out
    number = looked.err.split()[1]
    applied = run("imports", "apply", number, "--wait", "--output", "json")
    assert applied.code == 0, applied.err
    assert applied.json["progress"]["applied"] == 3
    assert answered(stack, "www.i1.test", "192.0.2.1")
    assert "done" in run("imports", "show", number).out
    assert number in run("imports", "list").out

    undone = run("imports", "undo", number, "--wait", "--confirm")
    assert (undone.code, "undone" in undone.out) == (0, True)


def test_a_zone_with_an_error_is_told_with_its_line_and_the_others_go_in(
    stack: Stack, run: Run, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.zone", tmp_path / "bad.zone"
    good.write_text(zone_file("good.test", "192.0.2.1"))
    bad.write_text(zone_file("bad.test", "192.0.2.300"))
    done = run("import", str(good), str(bad), "--apply", "--wait")
    assert done.code == 1
    assert "bad.zone:6:" in done.err
    assert answered(stack, "www.good.test", "192.0.2.1")


def test_standard_input_is_imported(stack: Stack, run: Run) -> None:
    text = zone_file("piped.test", "192.0.2.77")
    done = run("import", "-", "--name", "piped.test.zone", "--apply", "--wait", "--output", "json", input=text)
    assert (done.code, done.json["title"]) == (0, "piped.test.zone")
    assert answered(stack, "www.piped.test", "192.0.2.77")


def test_many_files_travel_as_one_archive(run: Run, tmp_path: Path) -> None:
    files = [tmp_path / f"m{number}.test.zone" for number in range(25)]
    for number, file in enumerate(files):
        file.write_text(zone_file(f"m{number}.test", "192.0.2.1"))
    done = run("import", *map(str, files), "--output", "json", "--title", "many")
    assert done.code == 0, done.err
    assert (done.json["plan"]["creates"], done.json["title"]) == (25, "many")
    assert run("imports", "cancel", str(done.json["id"])).code == 0


def test_a_zone_is_exported_as_text_and_many_as_an_archive(run: Run, tmp_path: Path) -> None:
    run("zones", "create", "exported.test")
    run("records", "set", "exported.test", "www", "A", "192.0.2.9", "--ttl", "60")
    exported = run("export", "exported.test")
    assert exported.code == 0, exported.err
    [line] = [line.split() for line in exported.out.splitlines() if "192.0.2.9" in line]
    assert line == ["www", "60", "IN", "A", "192.0.2.9"]
    file = tmp_path / "all.tar.gz"
    assert run("export", "--all", "-o", str(file)).code == 0
    with tarfile.open(file) as archive:
        assert "zones/exported.test.zone" in archive.getnames()
    lines = tmp_path / "found.jsonl.gz"
    assert run("export", "-q", "exported.test", "--format", "json", "-o", str(lines)).code == 0
    with gzip.open(lines) as found:
        assert [json.loads(line)["zone"] for line in found] == ["exported.test."]
    assert run("export").code == 2
    assert run("export", "nowhere.test").code == 1
    assert run("export", "exported.test", "-o", str(tmp_path / "no" / "such")).code == 2
