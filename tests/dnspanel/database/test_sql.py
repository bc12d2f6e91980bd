"""SQL statements outside of the ORM (`database.sql`)."""

import pytest

from dnspanel.database.sql import execute, fetch_all, fetch_one

pytestmark = pytest.mark.django_db


def test_statements_return_their_rows_or_the_number_of_changed_rows() -> None:
    assert fetch_all("SELECT n, n * %s FROM generate_series(1, 2) n", [10]) == [(1, 10), (2, 20)]
    assert fetch_one("SELECT %(word)s::text", {"word": "one"}) == ("one",)
    assert fetch_one("SELECT 1 WHERE false") is None
    assert execute("CREATE TEMPORARY TABLE kept ON COMMIT DROP AS SELECT generate_series(1, 3) AS n") == 3
    assert execute("DELETE FROM kept WHERE n > %s", [1]) == 2
