"""A panel and its nodes are upgraded from each kept release while edits arrive, and go back to it.

The steps are those of the Debian package and of `docs/operate/upgrade.md`. Run with -s to see what was measured.
Between the steps, agents of the kept release work with this panel, and agents of this checkout with the panel of the
release.

Edits are refused while the process of the pages and APIs is restarted, and the seconds depend on the machine. With the
package, they wait instead, so `tests/deploy/test_package_upgrade.py` checks how long edits are refused.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import dns.exception
import psycopg
import pytest

from dnspanel.demo import unprivileged
from replication import __version__
from tests.arriving_edits import Edits, Publish
from tests.ports import OF_STACKS
from tests.releases import EDITED, HERE, SERVER, SIGNED, Release, ReleaseStack, RestoredStack, kept_releases, write_code
from tests.stack import ROOT, ask, until, wait_until_in_sync
from tests.workers import FOLDER

pytestmark = [pytest.mark.flow, pytest.mark.full(reason="upgrades from each release that is kept")]

AGENTS = ("ns1-agent", "ns2-agent", "ring0-agent")
LATE_AGENT = "ns3-agent"


class Answers:
    """A client that asks all nodes for records which exist throughout, and records each other answer."""

    NAMES = ((f"www.{SIGNED}", "A"), (EDITED, "SOA"))

    def __init__(self, stack: ReleaseStack) -> None:
        self.stack = stack
        self.queries = 0
        self.wrong: list[str] = []
        self._stop = threading.Event()

    def _run(self) -> None:
        while not self._stop.wait(0.02):
            for node in self.stack.nodes:
                for name, rdtype in self.NAMES:
                    self.queries += 1
                    try:
                        answer = ask(node, name, rdtype)
                    except (dns.exception.DNSException, OSError) as exc:
                        self.wrong.append(f"{node.name} {name} {exc!r}")
                        continue
                    if answer.rcode != "NOERROR" or not answer.rdata:
                        self.wrong.append(f"{node.name} {name} {answer}")

    @contextmanager
    def wanted(self) -> Iterator["Answers"]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join()


@pytest.fixture(params=kept_releases(), ids=lambda release: release.version)
def kept(request: pytest.FixtureRequest) -> Release:
    release: Release = request.param
    return release


@pytest.fixture
def stack(kept: Release) -> Iterator[RestoredStack]:
    """Start the kept release with its own code, with PowerDNS and the agents of its nodes."""
    directory = FOLDER / "upgrade"
    subprocess.run(["rm", "-rf", str(directory)], check=True)
    tree = directory / "code-of-release"
    try:
        write_code(kept.commit, kept.version, tree)
    except subprocess.CalledProcessError:
        pytest.skip(f"this clone has no commit {kept.commit}")
    trees = {kept.version: tree, HERE: ROOT}
    with RestoredStack(directory / "stack", kept, free_ports=OF_STACKS, trees=trees).opened(kept.version) as running:
        wait_until_in_sync(running, seconds=120)
        yield running


def test_no_edit_is_lost_and_no_answer_fails_during_an_upgrade_and_the_way_back(
    stack: RestoredStack, kept: Release
) -> None:
    with Answers(stack).wanted() as answers, Edits(publisher(stack, kept)).arriving() as edits:
        edits.continue_for(20)
        wait_until(stack, dict.fromkeys(("web", "push", "ns1", "ns2", "ns3", "ring0"), kept.version))
        stack.restart(AGENTS, HERE)
        edits.continue_for(20)
        wait_until(stack, {"web": kept.version, "push": kept.version, "ns1": __version__, "ns3": kept.version})
        with timed("migrations, while edits arrive"):
            upgrade_database(stack)
        with timed("restart of the panel's processes"):
            stack.restart_panel(HERE)
            edits.continue_for(20)
        wait_until(stack, {"web": __version__, "push": __version__, "ns1": __version__, "ns3": kept.version})
        sys.stdout.write(f"upgrade of the panel: {edits}\n")
        stack.restart([LATE_AGENT], HERE)
        wait_until(stack, {"web": __version__, "push": __version__, "ns3": __version__})
        with timed("way back: the panel's processes"):
            stack.restart_panel(kept.version)
            edits.continue_for(20)
        wait_until(stack, {"web": kept.version, "push": kept.version, "ns3": __version__})
        stack.restart(["ns1-agent"], kept.version)
        wait_until(stack, {"web": kept.version, "push": kept.version, "ns1": kept.version, "ns3": __version__})
        edits.continue_for(20)
    sys.stdout.write(f"all steps: {edits}\n{answers.queries} answers\n")
    wait_until_in_sync(stack, seconds=120)
    assert answers.wrong == []
    check_edits(stack, edits)


def publisher(stack: ReleaseStack, kept: Release) -> Publish:
    """Return a function that publishes a record through API v1, and returns the status and the answer."""

    def publish(number: int) -> tuple[int, str]:
        name, address = record(number)
        rrset = {"name": name, "type": "A", "ttl": 60, "changetype": "REPLACE"}
        rrset |= {"records": [{"content": address, "disabled": False}]}
        status, answer = stack.call(kept.token, "PATCH", f"{SERVER}/zones/{EDITED}", {"rrsets": [rrset]})
        return status, str(answer)

    return publish


def record(number: int) -> tuple[str, str]:
    """Return the name and the address of an edit."""
    return f"e{number}.{EDITED}", f"192.0.2.{number % 250}"


def upgrade_database(stack: ReleaseStack) -> None:
    """Migrate the database and collect the static files with the code of this checkout, as its processes would."""
    for words in (("migrate", "--noinput", "--verbosity=0"), ("collectstatic", "--noinput", "--verbosity=0")):
        command = [*unprivileged.prefix(), sys.executable, "manage.py", *words]
        subprocess.run(command, cwd=ROOT, env=stack.env, check=True, capture_output=True)


def versions(stack: RestoredStack) -> dict[str, str]:
    """Return the versions of the pages (`web`), of the process that sends to the nodes (`push`), and of each node."""
    _, me = stack.call(stack.kept.token, "GET", "/api/v2/me")
    with psycopg.connect(stack.stores.database_url) as connection:
        nodes = connection.execute("SELECT name, report -> 'versions' ->> 'agent' FROM fleet_node").fetchall()
        newest = "SELECT name, version FROM fleet_panelprocess WHERE name = 'push' ORDER BY started_at"
        return {**dict(nodes), **dict(connection.execute(newest).fetchall()), "web": me["panel_version"]}


def wait_until(stack: RestoredStack, wanted: dict[str, str]) -> None:
    """Wait until these versions work together: they are reported, and all nodes have a new edit."""
    until(lambda: wanted.items() <= versions(stack).items(), seconds=90, what=lambda: f"{wanted}: {versions(stack)}")
    with psycopg.connect(stack.stores.database_url, autocommit=True) as connection:
        head = connection.execute("SELECT sequence FROM zones_loghead").fetchone()
        behind = "SELECT count(*) = 0 FROM fleet_node WHERE acked < %s"
        until(
            lambda: connection.execute(behind, head).fetchone() == (True,),
            seconds=90,
            what=f"all nodes at {head} with {wanted}",
        )


def check_edits(stack: RestoredStack, edits: Edits) -> None:
    """Check that the panel and each node have all acknowledged edits."""
    wanted = dict(record(number) for number in edits.acknowledged)
    status, zone = stack.call(stack.kept.token, "GET", f"{SERVER}/zones/{EDITED}")
    assert status == 200
    stored = {each["name"]: each["records"][0]["content"] for each in zone["rrsets"] if each["type"] == "A"}
    assert {name for name, address in wanted.items() if stored.get(name) != address} == set()
    for node in stack.nodes:
        lost = [name for name, address in wanted.items() if ask(node, name).rdata != (address,)]
        assert lost == [], node.name


@contextmanager
def timed(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    sys.stdout.write(f"{what}: {time.monotonic() - began:.1f} s\n")
