"""The panel's systemd units agree with the Procfile and docker-compose.yml, and systemd accepts them.

Also `watchdog.write_life_sign` under systemd, and the scripts of the Debian packages.
"""

import re
import shlex
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
import yaml

from dnspanel import watchdog
from dnspanel.demo.supervision import procfile
from tests.docs.documents import ROOT

DEBIAN = ROOT / "deploy" / "debian"
UNITS = DEBIAN / "units"
BIN = "/usr/lib/dnspanel/bin/"
# The exposure that `systemd-analyze security` reports, times ten.
MOST_EXPOSED = 25


def processes() -> dict[str, str]:
    """Return the drop-in file of each process, keyed by the process's name."""
    paths = sorted((UNITS / "processes").glob("dnspanel@*.service.d/process.conf"))
    return {path.parent.name.removeprefix("dnspanel@").removesuffix(".service.d"): path.read_text() for path in paths}


def value_of(unit: str, name: str) -> str:
    (found,) = re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)
    return str(found)


def expected_command(line: str) -> str:
    """Return a process's command in a unit: absolute, without the watchdog and `nice`, and with our host's name."""
    command = line.partition(" -- ")[2]
    command = re.sub(r"^nice -n 5 ", "", command).replace("@localhost", "@%%h")
    command = command.replace('"unix:$STACK_WEB_SOCKET"', "unix:/run/dnspanel/web.sock")
    return BIN + re.sub(r"^python ", "python3 ", command)


def test_each_process_of_the_procfile_has_a_unit_with_its_command() -> None:
    lines = {name: line for name, line in procfile().items() if "dnspanel.watchdog" in line and name != "proxy"}
    units = processes()
    assert units.keys() == lines.keys()
    for name, line in lines.items():
        command = value_of(units[name], "ExecStart")
        if name == "bulk":
            command = shlex.split(command)[-1].removeprefix("exec ").replace("$$", "$")
            command = command.replace('"${PANEL_TRANSFER_PROCESSES:-$(nproc)}"', "${PANEL_TRANSFER_PROCESSES:-2}")
        assert command == expected_command(line)
        assert ("Nice=5" in units[name]) == ("nice -n 5" in line)


def test_the_target_starts_every_process() -> None:
    wanted = " ".join(re.findall(r"^Wants=(.*)$", (UNITS / "dnspanel.target").read_text(), re.MULTILINE)).split()
    assert sorted(wanted) == sorted(f"dnspanel@{name}.service" for name in processes())


def test_limits_of_memory_are_those_of_the_containers() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert {name: value_of(unit, "MemoryMax").lower() for name, unit in processes().items()} == {
        name: services[name]["mem_limit"] for name in processes()
    }


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a root with the units, as the package installs them, and with programs that they name."""
    root = tmp_path_factory.mktemp("root")
    units = root / "usr/lib/systemd/system"
    shutil.copytree(UNITS / "processes", units)
    for name in ("dnspanel.target", "dnspanel@.service"):
        shutil.copy(UNITS / name, units)
    # Without the units that come with systemd, ours cannot be loaded.
    for name in ("sysinit.target", "basic.target", "shutdown.target", "network-online.target", "multi-user.target"):
        (units / name).write_text(f"[Unit]\nDescription={name}\n")
    for slice_name in ("system.slice", "-.slice", "system-dnspanel.slice", "-.mount", "tmp.mount", "var.mount"):
        (units / slice_name).write_text("[Unit]\nDescription=stands in\n")
    for program in (f"{BIN}gunicorn", f"{BIN}celery", f"{BIN}python3", "/bin/sh"):
        path = root / program.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    return root


def test_systemd_accepts_the_units(installed: Path) -> None:
    names = [f"dnspanel@{name}.service" for name in processes()]
    done = subprocess.run(
        ["systemd-analyze", "verify", f"--root={installed}", "--man=no", "--recursive-errors=no", *names],
        capture_output=True,
        text=True,
    )
    ours = [line for line in done.stderr.splitlines() if "dnspanel" in line]
    assert (done.returncode, ours) == (0, [])


def test_the_units_are_hardened(installed: Path) -> None:
    names = [f"dnspanel@{name}.service" for name in processes()]
    options = ["--offline=true", f"--threshold={MOST_EXPOSED}", f"--root={installed}", "--no-pager"]
    done = subprocess.run(["systemd-analyze", "security", *options, *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_life_sign_reaches_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(path))
        receiver.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(path))
        watchdog.write_life_sign()
        assert receiver.recv(100) == b"READY=1\nWATCHDOG=1"
    watchdog.write_life_sign()  # systemd is away, which is no error


@pytest.mark.parametrize("path", sorted((DEBIAN / "scripts").iterdir()), ids=lambda path: path.name)
def test_maintainer_scripts_are_valid_for_sh(path: Path) -> None:
    assert path.read_text().startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n", str(path)], check=True)


@pytest.mark.parametrize("path", sorted((DEBIAN / "packages").glob("*.yaml")), ids=lambda path: path.stem)
def test_recipes_of_packages_name_files_that_exist(path: Path) -> None:
    recipe = yaml.safe_load(path.read_text().replace("@", ""))
    assert recipe["name"] == path.stem
    files = [content["src"] for content in recipe["contents"]] + list(recipe.get("scripts", {}).values())
    ours = [file.removeprefix("files/") for file in files if file.startswith("files/") and file != "files/copyright"]
    # The template's name contains the character that marks a value of the build.
    names = [name.replace("units/dnspanel.service", "units/dnspanel@.service") for name in ours]
    assert [name for name in names if not (DEBIAN / name).exists()] == []
    assert {content["dst"] for content in recipe["contents"]} >= {
        f"/usr/share/doc/{path.stem}/copyright",
        f"/usr/share/doc/{path.stem}/changelog.gz",
    }


def test_the_watchdog_of_systemd_has_the_limits_of_ours() -> None:
    template = (UNITS / "dnspanel@.service").read_text()
    assert float(value_of(template, "WatchdogSec")) == watchdog.KILL_AFTER
    assert float(value_of(template, "TimeoutStartSec")) == watchdog.START_SECONDS
