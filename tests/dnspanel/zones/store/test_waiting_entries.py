"""New entries of GIN indexes, before and after PostgreSQL merges them into the index."""

import pytest
from django.db import connection

from dnspanel.zones.store import waiting_entries
from tests.dnspanel.api.v1.calls import make_zone


@pytest.mark.django_db
def test_what_was_written_waits_until_it_is_sorted_in() -> None:
    both = waiting_entries.RDATA + waiting_entries.NAMES_AND_TEXTS
    waiting_entries.sort_in(both)
    assert waiting_entries.sort_in(both) == 0
    make_zone("example.test.", "www A 192.0.2.1", "@ MX 10\twww.example.test.")
    assert [waiting_entries.sort_in((name,)) for name in waiting_entries.RDATA] == [1, 1]
    assert waiting_entries.sort_in(waiting_entries.NAMES_AND_TEXTS) == 1
    assert waiting_entries.sort_in(both) == 0


@pytest.mark.django_db
def test_every_index_in_which_more_than_usual_waits_is_one_of_these() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE reloptions::text LIKE '%gin_pending_list_limit%'")
        patient = {name for (name,) in cursor.fetchall()}
    assert patient == {*waiting_entries.RDATA, *waiting_entries.NAMES_AND_TEXTS}
