"""A Knot DNS with the zone of these tests and a journal of its changes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.dnspanel.primaries.conftest import TEXT, ZONE
from tests.dnspanel.transfer.running import listening, run, running


@dataclass(frozen=True, slots=True)
class Knot:
    """A running Knot, its configuration file and its control program."""

    conf: Path
    control_program: str | Path

    def control(self, *words: str) -> None:
        run(self.control_program, "-b", "-c", self.conf, *words)

    def add(self, *record: str) -> None:
        for words in (["zone-begin", ZONE], ["zone-set", ZONE, *record], ["zone-commit", ZONE]):
            self.control(*words)


@contextmanager
def running_knot(
    directory: Path, port: int, *, server: str, acl: str, programs: Sequence[str | Path] = ("knotd", "knotc")
) -> Iterator[Knot]:
    """Run Knot at this port with the settings `server`. The ACL `acl`, with the id `panel`, controls transfers."""
    daemon, control = programs
    conf = directory / "knot.conf"
    (directory / "zone").write_text(TEXT)
    conf.write_text(
        f"server:\n{server}    rundir: {directory}\n    user: root\n"
        f"database:\n    storage: {directory}\nlog:\n  - target: stderr\n    any: info\n"
        f"{acl}zone:\n  - domain: {ZONE}\n    storage: {directory}\n    file: zone\n    zonefile-sync: -1\n"
        "    zonefile-load: whole\n    journal-content: changes\n    acl: panel\n    dnssec-signing: off\n"
    )
    with running([daemon, "-c", conf], directory / "log", listening(port)):
        knot = Knot(conf, control)
        knot.control("zone-reload", ZONE)
        yield knot
