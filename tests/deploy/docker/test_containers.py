"""Builds the images and runs docker-compose.yml in a real Docker engine, while edits arrive and parts fail.

No acknowledged edit is lost, and all services recover without help. `-s` shows the printed measurements.
"""

import contextlib
import fcntl
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy.docker import client, images
from tests.deploy.docker.client import Edits
from tests.deploy.docker.engine import Engine, Missing, running_engine
from tests.deploy.docker.installation import LASTING, Installation
from tests.oracle.powerdns import Unavailable
from tests.stack import until
from tests.workers import CACHE, FOLDER

pytestmark = pytest.mark.full(reason="the images and docker-compose.yml in a real Docker engine, with compose 1 and 2")

ZONE = "containers.test."
CACHED = CACHE / "docker"
CACHE_LIMIT = "4GB"
# Simulates a busy machine: the number of processes that compete for its CPUs.
HOGS = 4
HOG_SECONDS = 600
START_SECONDS = 600
RETURN_SECONDS = 600
MEASURED_EDITS = 20
EDITS_BEFORE = 10
# Each check of the containers starts programs.
PAUSE = 0.5


@dataclass(frozen=True)
class Site:
    """An engine with a panel that docker-compose version 2 installed, and the edits sent to it."""

    engine: Engine
    programs: dict[str, list[str]]
    installation: Installation
    edits: Edits


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Start an engine that has all images. ~/.cache/dnspanel/docker keeps them for the next run."""
    CACHED.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="dnspanel-docker-"))
    try:
        with (CACHED / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for half in CACHED.glob("debian-*"):  # left by a killed run
                shutil.rmtree(half)
            with running_engine(place / "builds", CACHED / "data", has_network=False) as builder:
                _remove_leftovers(builder)
                _build(builder)
            with running_engine(place / "runs", CACHED / "data") as runs:
                yield runs
                _remove_leftovers(runs)
    except (Missing, Unavailable) as exc:
        pytest.skip(str(exc))
    finally:
        place.rmdir()


@pytest.fixture(scope="module")
def site(engine: Engine) -> Iterator[Site]:
    """Install the panel with `up` on a busy machine, sign in the first administrator, and create a zone."""
    programs = images.compose_programs(engine.place)
    installation = Installation(engine, programs["v2"])
    with _logs_of_failures(installation):
        began = time.monotonic()
        with _busy_machine():
            edits = Edits(engine, _install(installation), ZONE)
        say(f"first up with {HOGS} processes beside it: a zone is on all nodes after {time.monotonic() - began:.0f} s")
        yield Site(engine, programs, installation, edits)
        installation.down(with_volumes=True)


def test_every_container_comes_back_from_a_restart_and_from_a_crash(site: Site) -> None:
    """A crash happens without a request to the engine, as when memory is short. `docker kill` would count as a stop."""
    acts: dict[str, Callable[[str], object]] = {
        "restart": lambda service: site.engine.docker("restart", site.installation.container(service)),
        "crash": site.installation.crash,
    }
    with site.edits.arriving():
        for service in LASTING:
            for word, act in acts.items():
                before, began = site.installation.starts(service), time.monotonic()
                act(service)
                _wait_for_start(site, service, before)
                _wait_until_well(site, what=f"after {word} of {service}")
                say(f"{word} {service}: all is well after {time.monotonic() - began:.1f} s")
    _expect_nothing_lost(site)


def test_containers_that_were_killed_all_at_once_are_started_by_up(site: Site) -> None:
    with site.edits.arriving():
        _wait_for_edits(site)
        site.engine.docker("kill", *(site.installation.container(service) for service in LASTING))
        began = time.monotonic()
        site.installation.up()
        _wait_until_well(site, what="after kill of all")
        say(f"kill of all, then up: all is well after {time.monotonic() - began:.0f} s")
    _expect_nothing_lost(site)


def test_down_and_up_keep_everything(site: Site) -> None:
    with site.edits.arriving():
        _wait_for_edits(site)
        began = time.monotonic()
        site.installation.down()
        site.installation.up()
        _wait_until_well(site, what="after down and up")
        say(f"down and up: all is well after {time.monotonic() - began:.0f} s")
    _expect_nothing_lost(site)


def test_everything_comes_back_after_the_host_lost_its_power(site: Site) -> None:
    """Engine, containerd and all containers die at the same moment. The restarted engine starts them again."""
    with site.edits.arriving():
        _wait_for_edits(site)
        began = time.monotonic()
        site.engine.power_off()
        site.engine.start()
        _wait_until_well(site, what="after the loss of power")
        say(f"power off and on: all is well after {time.monotonic() - began:.0f} s")
    _expect_nothing_lost(site)


def test_version_1_of_docker_compose_installs_the_same(site: Site) -> None:
    site.installation.down()
    first = Installation(site.engine, site.programs["v1"], project="dnspanel1")
    with _logs_of_failures(first):
        edits = Edits(site.engine, _install(first), ZONE)
        assert edits.send_one()
        until(lambda: not edits.lost(), seconds=60, what=lambda: str(edits.lost()))
        first.down(with_volumes=True)
    site.installation.up()
    _wait_until_well(site, what="after version 1")
    _expect_nothing_lost(site)


def test_an_edit_is_on_all_nodes_without_a_wait_that_somebody_notices(site: Site) -> None:
    """The time is printed but not checked, because others may use the machine. `./dev run` prints a comparable time."""
    seconds = []
    for number in range(MEASURED_EDITS):
        began = time.monotonic()
        done = site.engine.inside(client.edit, site.edits.token, ZONE, f"measured.{ZONE}", f"{number} {began}", wait=30)
        seconds.append(time.monotonic() - began)
        assert done.json()["publication"]["everywhere"], done.text
    say(f"an edit until all nodes answer: median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s")


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def _build(builder: Engine) -> None:
    """Build all images, and the panel's own with both versions of docker-compose."""
    images.make_images_of_others(builder)
    settings = images.write_build_settings(builder.place / "build.yml")
    for version, program in images.compose_programs(builder.place).items():
        began = time.monotonic()
        Installation(builder, program).run("build", files=(settings,))
        say(f"build by docker-compose {version}: {time.monotonic() - began:.0f} s")
    for name, size in images.image_sizes(builder).items():
        say(f"image {name}: {size / 1e6:.0f} MB")


def _install(installation: Installation) -> str:
    """Run the first `up`, sign in by the link, and create a zone on all nodes. Return an API token."""
    installation.up()
    until(
        lambda: installation.link() is not None,
        seconds=START_SECONDS,
        what=lambda: installation.log_of("ready"),
        pause=PAUSE,
    )
    token = installation.engine.inside(client.first_token, str(installation.link()))
    installation.engine.inside(client.create_zone, token, ZONE)
    return token


def _wait_for_edits(site: Site) -> None:
    """Wait for several more acknowledged edits, so that a loss would be noticed."""
    wanted = site.edits.acknowledged + EDITS_BEFORE
    until(lambda: site.edits.acknowledged >= wanted, seconds=RETURN_SECONDS, what=f"{EDITS_BEFORE} more edits")


def _wait_for_start(site: Site, service: str, before: str) -> None:
    """Wait until the start time of a service's container differs from `before`."""
    until(
        lambda: site.installation.starts(service) != before,
        seconds=RETURN_SECONDS,
        what=f"start of {service}",
        pause=PAUSE,
    )


def _wait_until_well(site: Site, *, what: str) -> None:
    """Wait until all services run and are healthy, and all nodes have a new edit."""
    until(
        lambda: not site.installation.faults(),
        seconds=RETURN_SECONDS,
        what=lambda: f"{what}: {site.installation.faults()}",
        pause=PAUSE,
    )

    def arrives() -> bool:
        with contextlib.suppress(OSError):
            text = str(time.monotonic())
            done = site.engine.inside(client.edit, site.edits.token, ZONE, f"well.{ZONE}", text, wait=5)
            return bool(done.ok and done.json()["publication"]["everywhere"])
        return False

    until(arrives, seconds=RETURN_SECONDS, what=f"{what}: an edit on all nodes")


def _expect_nothing_lost(site: Site) -> None:
    """Check that all nodes answer with the last acknowledged edit of each name."""
    edits = site.edits
    assert edits.acknowledged > 0
    until(lambda: not edits.lost(), seconds=60, what=lambda: "; ".join(edits.lost()[:5]))
    say(f"{edits.acknowledged} edits acknowledged, {edits.failed} not, 0 lost")


@contextlib.contextmanager
def _busy_machine() -> Iterator[None]:
    """Let busy processes use most of the CPU time inside the block."""
    hogs = [
        subprocess.Popen(["timeout", str(HOG_SECONDS), sys.executable, "-c", "while True: pass"]) for _ in range(HOGS)
    ]
    try:
        yield
    finally:
        for hog in hogs:
            hog.terminate()
        for hog in hogs:
            hog.wait()


@contextlib.contextmanager
def _logs_of_failures(installation: Installation) -> Iterator[None]:
    """Write the logs of all services to var/test if the block fails."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            (FOLDER / "containers.log").write_text(installation.run("logs", "--no-color", "--tail=500"))
        raise


def _remove_leftovers(engine: Engine) -> None:
    """Remove all that earlier runs left, except images and a limited build cache."""
    if containers := engine.docker("ps", "--all", "--quiet").split():
        engine.docker("rm", "--force", "--volumes", *containers)
    if volumes := engine.docker("volume", "ls", "--quiet").split():
        engine.docker("volume", "rm", "--force", *volumes)
    engine.docker("network", "prune", "--force")
    engine.docker("image", "prune", "--force")
    engine.docker("builder", "prune", "--force", f"--keep-storage={CACHE_LIMIT}")
