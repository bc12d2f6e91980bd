import pytest
from django.db import connection

from dnspanel.zones.store.analyze_tables import GROWTH, analyze_if_grown
from dnspanel.zones.store.find_zones import ids_of_living
from tests.dnspanel.zones.publishing.test_bulk import content, create

pytestmark = pytest.mark.django_db


def pages_known() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relpages FROM pg_class WHERE oid = 'zones_zone'::regclass")
        return int(cursor.fetchone()[0])


@pytest.fixture(autouse=True)
def few_zones() -> None:
    """Fill the table of zones with 20 rows, without other tests' dead rows, and analyze it."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE zones_zone CASCADE")
        create(*((f"first-{number}.test.", content(f"first-{number}.test.")) for number in range(20)))
        cursor.execute("ANALYZE zones_zone")


def plan_of(statement: str) -> str:
    """Return PostgreSQL's plan for a statement that this connection has prepared."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM pg_prepared_statements WHERE statement LIKE %s", [statement])
        [(name,)] = cursor.fetchall()
        cursor.execute(f"EXPLAIN EXECUTE {name} ('{{a.test.}}')")
        return "\n".join(line for (line,) in cursor.fetchall())


def test_a_name_is_looked_up_by_its_index_however_few_zones_there_were_when_that_was_planned() -> None:
    for _ in range(10):
        ids_of_living(["a.test."])
    before = pages_known()
    create(*((f"z{number}.test.", content(f"z{number}.test.")) for number in range(GROWTH * 1_000)))
    assert pages_known() > GROWTH * before, "it was looked at"
    assert "zone_name_unique_alive" in plan_of("%zones_zone WHERE deleted_at IS NULL AND name = wanted.name%")
    assert not analyze_if_grown(), "once is enough"


def test_a_few_more_zones_are_no_reason() -> None:
    before = pages_known()
    create(*((f"z{number}.test.", content(f"z{number}.test.")) for number in range(20)))
    assert pages_known() == before
