"""Tests of conditional writes to objects without a revision: of simultaneous writers, exactly one succeeds."""

import threading

import pytest
from django.db import connection

from dnspanel.accounts.models import Team
from dnspanel.advisory_locks import Lock
from tests.dnspanel.api.callers import MakeApi

TEAMS = "/api/v2/teams"
WRITERS = 6


@pytest.mark.django_db(transaction=True)
def test_of_writers_at_the_same_moment_exactly_one_wins(api: MakeApi) -> None:
    client = api()
    made = client.post(TEAMS, {"name": "Web"})
    url, tag = made.headers["Location"], made.headers["ETag"]
    start, statuses = threading.Barrier(WRITERS), {}

    def write(number: int) -> None:
        start.wait()
        try:
            statuses[number] = client.patch(url, {"name": f"By {number}"}, headers={"If-Match": tag}).status_code
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(statuses.values()) == [200] + [412] * (WRITERS - 1)
    winner = next(number for number, status in statuses.items() if status == 200)
    assert Team.objects.get().name == f"By {winner}"


def test_the_lock_is_given_back_also_after_a_refusal(api: MakeApi) -> None:
    url = api().post(TEAMS, {"name": "Web"}).headers["Location"]
    assert api().patch(url, {"name": "x"}, headers={"If-Match": '"stale"'}).status_code == 412
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND classid = %s",
            [Lock.RESOURCE],
        )
        assert cursor.fetchone()[0] == 0


def test_a_star_matches_whatever_there_is(api: MakeApi) -> None:
    url = api().post(TEAMS, {"name": "Web"}).headers["Location"]
    assert api().patch(url, {"name": "Any"}, headers={"If-Match": "*"}).status_code == 200
    assert api().patch(url, {"name": "None"}, headers={"If-None-Match": "*"}).status_code == 412
