"""The same corpus in two databases for each PowerDNS: one loaded by pdnsutil, the other written by dnspanel."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from replication.compile import compile_zone
from tests.oracle import lmdb_file, powerdns
from tests.oracle.corpus import rrsets_of, zone_texts
from tests.oracle.powerdns import Place, PowerDNS

INSTALLATIONS = {
    "native": powerdns.native,
    "trixie": lambda: powerdns.of_suite("trixie"),
    "sid": lambda: powerdns.of_suite("sid"),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.oracle)


@dataclass(frozen=True)
class Pair:
    """Two databases of one installation with the same zones."""

    theirs: Place
    ours: Place
    texts: dict[str, str]

    @property
    def schema(self) -> int:
        return self.theirs.powerdns.schema


@pytest.fixture(scope="session", params=INSTALLATIONS)
def installation(request: pytest.FixtureRequest) -> PowerDNS:
    try:
        return INSTALLATIONS[request.param]()
    except powerdns.Unavailable as exc:
        pytest.skip(str(exc))


@pytest.fixture(scope="session")
def pair(installation: PowerDNS) -> Iterator[Pair]:
    texts = zone_texts()
    with installation.place("theirs") as theirs, installation.place("ours") as ours:
        for zone, text in texts.items():
            theirs.load_zone(zone, text)
        theirs.pdnsutil("rectify-all-zones")
        ids = {name: obj.id for name, obj in lmdb_file.read(theirs.database, installation.schema).zones.items()}
        compiled = {zone: (ids[zone], compile_zone(zone, rrsets_of(zone, text))) for zone, text in texts.items()}
        lmdb_file.write(ours.database, installation.schema, compiled)
        # On first use, 5.x creates empty tables for views, networks and comments, and prints a line.
        ours.pdnsutil("list-zone", "test101.org")
        yield Pair(theirs, ours, texts)
