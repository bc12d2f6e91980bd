"""The panel's connections to PostgreSQL have the names of their processes, within the bounds of sizing.md."""

import re
from collections import Counter

import psycopg
import pytest

from dnspanel.demo.stack import Stack
from dnspanel.fleet.processes.process_roles import NAMES, PROXY
from tests.docs.documents import ROOT
from tests.stack import until, wait_until_in_sync

pytestmark = pytest.mark.flow

_NAMES = """
    SELECT application_name, count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() GROUP BY application_name"""
ROW = re.compile(r"^\| `dnspanel-(\w+)` \| [^|]* \| (\d+) ", re.MULTILINE)


def test_each_connection_names_its_process_and_sizing_has_the_bounds(stack: Stack) -> None:
    wait_until_in_sync(stack)
    bounds = {name: int(most) for name, most in ROW.findall((ROOT / "docs/operate/sizing.md").read_text())}
    assert bounds.keys() == {*NAMES} - {PROXY}
    with psycopg.connect(stack.stores.database_url, autocommit=True) as connection:

        def found() -> dict[str, int]:
            return dict(connection.execute(_NAMES).fetchall())

        until(lambda: bounds.keys() <= {name.split("-")[1] for name in found()}, seconds=60, what=lambda: str(found()))
        names = found()
    assert [name for name in names if not name.startswith("dnspanel-")] == []
    by_process: Counter[str] = Counter()
    for name, count in names.items():
        by_process[name.split("-")[1]] += count
    assert {name: count for name, count in by_process.items() if count > bounds.get(name, 1)} == {}
