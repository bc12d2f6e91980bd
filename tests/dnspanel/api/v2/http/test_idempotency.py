"""Tests of Idempotency-Key: a repeated request gets the same answer and writes once, even after a lost connection."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from dnspanel.api.models import RememberedAnswer
from dnspanel.api.tasks import forget_answers
from dnspanel.api.v2.http import idempotency
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.publishing import zone_patches
from replication.dns import rdtypes
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, content

pytestmark = pytest.mark.django_db(transaction=True)

WWW_NAME = "www.example.test."
WWW = f"/zones/example.test./rrsets/{WWW_NAME}/A"


def test_a_retry_gets_the_same_answer_and_writes_nothing(call: Caller, zone: Zone) -> None:
    first = call("PATCH", WWW, {"add": ["192.0.2.7"]}, idempotency_key="k1")
    again = call("PATCH", WWW, {"add": ["192.0.2.7"]}, idempotency_key="k1")
    assert (again.status_code, again.content, again["ETag"]) == (first.status_code, first.content, first["ETag"])
    assert again["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first
    assert Publication.objects.count() == 2


def test_a_refusal_is_remembered_too(call: Caller, zone: Zone) -> None:
    first = call("DELETE", "/zones/example.test./rrsets/none/A", idempotency_key="k1")
    again = call("DELETE", "/zones/example.test./rrsets/none/A", idempotency_key="k1")
    assert (again.status_code, again.content) == (404, first.content)
    assert again["Content-Type"] == "application/problem+json"


def test_a_key_means_one_request_of_one_token(call: Caller, make_caller: MakeCaller, zone: Zone) -> None:
    call.good("PUT", WWW, content("192.0.2.7"), idempotency_key="k1")
    problem = call.problem(422, "PUT", WWW, content("192.0.2.8"), idempotency_key="k1")
    assert problem["code"] == "key-reused"
    call.problem(422, "PUT", WWW + "?confirm=true", content("192.0.2.7"), idempotency_key="k1")
    make_caller().good("PUT", WWW, content("192.0.2.8"), idempotency_key="k1")


def test_keys_are_printable_and_short(call: Caller, zone: Zone) -> None:
    for key in ("", "x" * 256, "\x01", "schlüssel"):
        problem = call.problem(400, "PUT", WWW, content("192.0.2.7"), idempotency_key=key)
        assert problem["errors"][0]["header"] == "Idempotency-Key"


def test_while_the_first_is_under_way_a_retry_waits(call: Caller, zone: Zone) -> None:
    call.good("PUT", WWW, content("192.0.2.7"), idempotency_key="k1")
    RememberedAnswer.objects.update(status=None, at=timezone.now())
    answer = call("PUT", WWW, content("192.0.2.7"), idempotency_key="k1")
    assert (answer.status_code, answer["Retry-After"]) == (409, "1")


def test_a_retry_after_a_lost_answer_writes_once(call: Caller, zone: Zone) -> None:
    first = call.good("PATCH", WWW, {"add": ["192.0.2.7"]}, idempotency_key="k1")
    call.good("PATCH", WWW, {"remove": ["192.0.2.7"]})  # a later change by another client
    _lose_the_answer()
    answer = call("PATCH", WWW, {"add": ["192.0.2.7"]}, idempotency_key="k1")
    replayed = json.loads(answer.content)
    assert (answer.status_code, answer["Idempotency-Replayed"]) == (202, "true")
    assert replayed["publication"]["sequence"] == first["publication"]["sequence"]
    assert replayed["zones"] == first["zones"]
    assert call.get(WWW)["rdata"] == ["192.0.2.1", "192.0.2.2"]


def test_a_deletion_whose_answer_was_lost_is_not_said_to_be_unknown(call: Caller, zone: Zone) -> None:
    first = call.good("DELETE", "/zones/example.test.", idempotency_key="k1")
    _lose_the_answer()
    assert call.good("DELETE", "/zones/example.test.", idempotency_key="k1")["publication"] == first["publication"]


def test_a_process_that_died_before_it_wrote_is_taken_over(call: Caller, zone: Zone) -> None:
    call("DELETE", "/zones/example.test./rrsets/none/A", idempotency_key="k1")
    _lose_the_answer()
    call.problem(404, "DELETE", "/zones/example.test./rrsets/none/A", idempotency_key="k1")


@pytest.fixture
def commit_is_lost(zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the connection right after PostgreSQL commits the next publication."""
    commit, before = psycopg.Connection.commit, Publication.objects.count()

    def is_lost(conn: "psycopg.Connection[Any]") -> None:
        (published,) = conn.execute("SELECT count(*) FROM zones_publication").fetchone() or (0,)
        commit(conn)
        if published > before:
            monkeypatch.setattr(psycopg.Connection, "commit", commit)
            conn.close()
            raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(psycopg.Connection, "commit", is_lost)


@pytest.mark.usefixtures("commit_is_lost")
def test_a_commit_in_doubt_is_said_to_be(call: Caller) -> None:
    problem = call.problem(503, "PATCH", WWW, {"add": ["192.0.2.7"]})
    assert problem["in_doubt"] is True
    assert "Check whether it was saved" in problem["detail"]


@pytest.mark.usefixtures("commit_is_lost")
def test_a_commit_in_doubt_is_looked_up_by_its_key(call: Caller) -> None:
    first = call.good("PATCH", WWW, {"add": ["192.0.2.7"]}, idempotency_key="k1")
    again = call.good("PATCH", WWW, {"add": ["192.0.2.7"]}, idempotency_key="k1")
    assert first["publication"] == again["publication"]
    assert Publication.objects.count() == 2


def test_the_log_takes_what_one_key_asks_for_once(call: Caller, zone: Zone) -> None:
    """Two processes both consider the key theirs. The second one gets the publication of the first."""
    form_id = idempotency.form_id_of(7)
    patch = zone_patches.patch_of_steps(zone, [((WWW_NAME, rdtypes.A), zone_patches.without(["192.0.2.1"]))])
    first, second = (
        zone_patches.publish_patches(
            patches=[patch], acting=Acting(None, Channel.API, timezone.now(), form_id=form_id)
        ).publication
        for _ in range(2)
    )
    assert first is not None
    assert second is None  # nothing was left to change
    assert Publication.objects.filter(form_id=form_id).count() == 1


def test_of_many_at_once_one_writes(call: Caller, zone: Zone) -> None:
    together = Barrier(4)

    def write(_: int) -> int:
        together.wait()
        try:
            return call("PATCH", WWW, {"add": ["192.0.2.7"]}, idempotency_key="k1").status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        statuses = set(pool.map(write, range(4)))
    assert statuses <= {202, 409}
    assert 202 in statuses
    assert Publication.objects.count() == 2


def test_after_a_day_keys_are_free(call: Caller, zone: Zone) -> None:
    call.good("PUT", WWW, content("192.0.2.7"), idempotency_key="k1")
    call.good("PUT", WWW, content("192.0.2.8"))
    RememberedAnswer.objects.update(at=timezone.now() - timedelta(hours=25))
    call.good("PUT", WWW, content("192.0.2.7"), idempotency_key="k1")
    assert call.get(WWW)["rdata"] == ["192.0.2.7"]


def test_beat_forgets_answers_after_a_day(call: Caller, zone: Zone) -> None:
    call.good("PUT", WWW, content("192.0.2.7"), idempotency_key="k1")
    call.good("PUT", WWW, content("192.0.2.8"), idempotency_key="k2")
    RememberedAnswer.objects.filter(key="k1").update(at=timezone.now() - timedelta(hours=24, seconds=1))
    assert forget_answers() == "forgot answers=1"
    assert list(RememberedAnswer.objects.values_list("key", flat=True)) == ["k2"]


def test_reads_do_not_remember(call: Caller, zone: Zone) -> None:
    call("GET", WWW, idempotency_key="k1")
    assert not RememberedAnswer.objects.exists()


def _lose_the_answer() -> None:
    """Remove the stored answers, as if the process had died after its commit."""
    long_ago = timezone.now() - idempotency.LEASE - timedelta(seconds=1)
    RememberedAnswer.objects.update(status=None, body=b"", headers={}, at=long_ago)
