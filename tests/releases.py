"""Releases that are kept for the tests of upgrades: what a panel and its nodes had on disk.

    ./dev keep VERSION [COMMIT]      keep the release of the tag vVERSION, or of this commit

A kept release is a folder of `tests/golden/releases`:

    release.json     version, commit and migrations, the places and ports of the stack, a token of the API
    state.tar.xz     database.sql, panel/ (PANEL_VAR), nodes/ (what agents and PowerDNS have on disk), secrets/

The code of a release comes from git. All keys and tokens in the files belong to a stack that ran only for this.
"""

import argparse
import http.client
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import psycopg
from honcho.environ import parse_procfile

from dnspanel.demo import ports, unprivileged
from dnspanel.demo.stack import FIRST, Stack, StackShape
from dnspanel.demo.stores import postgres_programs
from dnspanel.demo.supervision import STORES, Supervisor
from replication import version as versions
from tests.safe_migrations import migrations_of
from tests.stack import NO_RESOLVER, PATIENCE, ROOT, make_person, run_inside, wait_until_in_sync

KEPT = ROOT / "tests" / "golden" / "releases"
SIGNED, EDITED = "example.com.", "edits.test."
SERVER = "/api/v1/servers/localhost"
WEB, PROXY = FIRST
# The name of this checkout, beside those of releases.
HERE = "here"


@dataclass(frozen=True, slots=True)
class Release:
    """A kept release. `directory`, `run_directory` and `ports` are those that its configurations name."""

    version: str
    commit: str
    token: str
    directory: str
    run_directory: str
    ports: dict[str, int]
    migrations: list[str]

    @property
    def folder(self) -> Path:
        return KEPT / self.version


def kept_releases() -> list[Release]:
    """Return all kept releases, the oldest first."""
    found = [Release(**json.loads(path.read_text())) for path in KEPT.glob("*/release.json")]
    return sorted(found, key=lambda release: [int(part) for part in release.version.split(".")])


def write_code(commit: str, version: str, tree: Path) -> None:
    """Write the code of this commit as a tree with this version. Raise CalledProcessError without the commit."""
    tree.mkdir(parents=True)
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive, check=True)
    versions.write_built(version, tree / "replication")
    # The user of the stack cannot write there, so each process would compile all modules.
    compiled = [sys.executable, "-m", "compileall", "-qq", "-j", "2", "dnspanel", "replication"]
    subprocess.run(compiled, cwd=tree, check=False)


class ReleaseStack(Stack):
    """A stack whose processes run from the code of releases. `use` selects the code for processes that start later.

    `trees` has the code of each release. A process stays in its tree until it ends.
    """

    def __init__(self, directory: Path, *, free_ports: Sequence[int], trees: Mapping[str, Path]) -> None:
        shape = StackShape(traffic=False, durable=False)
        super().__init__(directory, shape, free_ports=free_ports, environment=PATIENCE | NO_RESOLVER)
        self.trees = trees
        self.release = ""

    @property
    def env(self) -> dict[str, str]:
        # The current directory of each process is the tree itself, and not the link to it.
        return {**super().env, "PYTHONPATH": "."}

    @cached_property
    def supervisor(self) -> Supervisor:
        """A supervisor for the processes of all releases. Each release has its own commands."""
        names = {name for release in self.trees for name in self.commands(release)}
        commands = {name: f'sh "$STACK_DIR/commands/{name}"' for name in sorted(names)}
        return Supervisor(self.directory, run=self.run_directory, commands=commands)

    def commands(self, release: str) -> dict[str, str]:
        """Return the commands of a release, keyed by the name of the process."""
        every = parse_procfile((self.trees[release] / "Procfile").read_text()).processes
        return {name: command for name, command in every.items() if self._has_process(name)}

    def panel_processes(self, release: str) -> list[str]:
        """Return the names of the panel's own processes in a release, without nginx."""
        return [name for name in self.commands(release) if name not in {*STORES, PROXY} and "-" not in name]

    def use(self, release: str) -> None:
        """Select the code and the commands of this release for processes that start later."""
        self.release = release
        commands = self.directory / "commands"
        unprivileged.make_directory(commands)
        for name, command in self.commands(release).items():
            unprivileged.write(commands / name, f"exec {command}\n")
        following = self.directory / "code.new"
        following.symlink_to(self.trees[release])
        following.rename(self.directory / "code")

    def restart(self, names: Iterable[str], release: str) -> None:
        """Restart these processes, one after the other, from the code of this release."""
        self.use(release)
        for name in names:
            self.supervisor.stop([name])
            if name in self.commands(release):
                self.supervisor.start([name])

    def restart_panel(self, release: str) -> None:
        """Restart the panel from the code of this release: first the pages and APIs, as the package does."""
        self.restart([WEB], release)
        self.wait_for_web()
        self.restart([name for name in self.panel_processes(release) if name != WEB], release)

    @contextmanager
    def opened(self, release: str) -> Iterator[Self]:
        """Run the stack with the code of this release."""
        unprivileged.make_directory(self.directory)
        self.use(release)
        checkout, unprivileged.CHECKOUT = unprivileged.CHECKOUT, self.directory / "code"
        try:
            with self:
                yield self
        finally:
            unprivileged.CHECKOUT = checkout

    def _start_panel(self) -> None:
        self.supervisor.start(self.panel_processes(self.release))
        self._wait("update", self.update_port)

    def call(self, token: str, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Send a request to an API, and return status and answer. Raise OSError or HTTPException without an answer."""
        headers = {"X-API-Key": token, "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with closing(http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
        return answer.status, json.loads(text) if text and answer.status < 400 else text.decode(errors="replace")


class RestoredStack(ReleaseStack):
    """A stack with the files of a kept release. Only its ports and the identities of its machines are new."""

    def __init__(self, directory: Path, kept: Release, *, free_ports: Sequence[int], trees: Mapping[str, Path]) -> None:
        super().__init__(directory, free_ports=free_ports, trees=trees)
        self.kept = kept
        unprivileged.make_directory(directory)
        subprocess.run(["tar", "-x", "-C", str(directory), "-f", str(kept.folder / "state.tar.xz")], check=True)
        for path in (directory, *directory.rglob("*")):
            unprivileged.give(path)

    def prepare_panel(self) -> None:
        """Load the database, and write the new ports into it and into the configurations of the nodes."""
        with psycopg.connect(self.stores.database_url) as connection:
            if connection.execute("SELECT to_regclass('fleet_node')").fetchone() == (None,):
                psql = [
                    str(postgres_programs() / "psql"),
                    "-q",
                    "-v",
                    "ON_ERROR_STOP=1",
                    "-d",
                    self.stores.database_url,
                ]
                with (self.directory / "database.sql").open() as dump:
                    subprocess.run(psql, stdin=dump, check=True, capture_output=True)
            update = "UPDATE fleet_node SET dns_port = %s, agent_port = %s, machine = '' WHERE name = %s"
            for node in self.servers:
                connection.execute(update, (node.dns_port, node.agent_port, node.name))
        super().prepare_panel()

    def _start_nodes(self) -> None:
        for node in self.servers:
            unprivileged.make_directory(node.socket_directory)
            for path in (node.agent_toml, node.pdns / "pdns.conf"):
                unprivileged.write(path, self._with_new_places(path.read_text()))
        self.supervisor.start(name for name in self.commands(self.release) if "-" in name)
        for node in self.servers:
            self._wait(f"{node.name}-pdns", node.dns_port)
            self._wait(f"{node.name}-agent", node.agent_port)

    def _with_new_places(self, text: str) -> str:
        """Return a configuration of the kept release with the directories and ports of this stack."""
        new_ports = {str(old): str(self.ports[name]) for name, old in self.kept.ports.items()}
        text = text.replace(self.kept.run_directory, str(self.run_directory))
        text = text.replace(self.kept.directory, str(self.directory))
        return re.sub(r"\b\d{5}\b", lambda found: new_ports.get(found[0], found[0]), text)


def keep(version: str, commit: str) -> Path:
    """Run a stack with the code of this commit, and keep its files as this release. Return the folder."""
    digits = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", f"{commit}^{{commit}}"], check=True, capture_output=True
    )
    commit = digits.stdout.decode().strip()
    folder = KEPT / version
    with tempfile.TemporaryDirectory(prefix="dnspanel-release-") as temporary:
        place = Path(temporary)
        place.chmod(0o755)
        write_code(commit, version, place / "code-of-release")
        stack = ReleaseStack(place / "stack", free_ports=ports.RANGE, trees={version: place / "code-of-release"})
        with stack.opened(version):
            make_person(stack, "ana")
            token = run_inside(stack, "tokens.make_token", "ana")
            _fill(stack, token)
            wait_until_in_sync(stack, seconds=120)
            dump = [str(postgres_programs() / "pg_dump"), "--no-owner", "-d", stack.stores.database_url]
            (stack.directory / "database.sql").write_bytes(subprocess.run(dump, check=True, capture_output=True).stdout)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        pack = ["tar", "-cJ", "--sparse", "--sort=name", "--owner=0", "--group=0", "--exclude=panel/static"]
        names = ["database.sql", "nodes", "panel", "secrets"]
        subprocess.run([*pack, "-C", str(stack.directory), "-f", str(folder / "state.tar.xz"), *names], check=True)
        release = Release(
            version=version,
            commit=commit,
            token=token,
            directory=str(stack.directory),
            run_directory=str(stack.run_directory),
            ports=stack.ports,
            migrations=migrations_of(stack.trees[version]),
        )
    (folder / "release.json").write_text(json.dumps(asdict(release), indent=1) + "\n")
    return folder


def _fill(stack: ReleaseStack, token: str) -> None:
    """Sign a zone of the sample, and create the zone that the tests edit."""
    made = {"name": EDITED, "kind": "Native", "nameservers": ["ns1.example.net."]}
    for method, path, body in (
        ("POST", f"{SERVER}/zones", made),
        ("PUT", f"{SERVER}/zones/{SIGNED}", {"dnssec": True}),
    ):
        status, answer = stack.call(token, method, path, body)
        assert status < 300, answer


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev keep", description=keep.__doc__)
    parser.add_argument("version")
    parser.add_argument("commit", nargs="?", default="")
    chosen = parser.parse_args()
    folder = keep(chosen.version, chosen.commit or f"v{chosen.version}")
    size = sum(path.stat().st_size for path in folder.iterdir())
    sys.stdout.write(f"{folder.relative_to(ROOT)}: {size} bytes\n")


if __name__ == "__main__":
    main()
