"""Tests of publications in the API: the list that a token sees, the state per node, and waiting for nodes.

Tests `http.accepted` too.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import BoundedSemaphore
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.api import waiting
from dnspanel.api.v2.resources import publications
from dnspanel.fleet.models import Node
from dnspanel.fleet.push.acks import record_ack
from dnspanel.zones.models import LogHead, Publication, Zone
from replication.wire.position import Position
from replication.wire.protocol import Ack
from tests.dnspanel.api.v2.conftest import Caller, MakeCaller, MakeZone, content, replace
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.taken_back import REASON, take_back

pytestmark = pytest.mark.django_db(transaction=True)

WWW = "/zones/example.test./rrsets/www/A"


def prove(node: Node, sequence: int) -> None:
    """Let the node confirm this sequence."""
    ack = Ack(position=Position(LogHead.objects.get().epoch, sequence), digest_main=b"m" * 16, digest_records=b"r" * 16)
    record_ack(node_id=node.pk, ack=ack, now=timezone.now())


def test_a_publication_shows_what_every_node_has_of_it(call: Caller, zone: Zone, active_node: MakeNode) -> None:
    near, _ = active_node("near"), active_node("far")
    publication = call.good("PUT", WWW, content("192.0.2.7"))["publication"]
    assert [(n["node"], n["state"]) for n in publication["nodes"]] == [("far", "pending"), ("near", "pending")]
    prove(near, publication["sequence"])
    publication = call.get(publication["url"])
    assert [(n["node"], n["state"]) for n in publication["nodes"]] == [("far", "pending"), ("near", "answers")]
    assert publication["nodes"][1]["ms"] > 0
    assert (publication["reached"], publication["of"], publication["everywhere"]) == (1, 2, False)


def test_a_publication_says_what_another_zone_answers_for(
    call: Caller, zone: Zone, make_caller: MakeCaller, make_zone: MakeZone
) -> None:
    make_zone(name="www.example.test.")
    written = call.good("PUT", WWW, content("192.0.2.7"))
    assert [warning["code"] for warning in written["warnings"]] == ["shadowed"]
    call.good("PUT", "/zones/example.test./rrsets/mail/A", content("192.0.2.8"))
    by = "www.example.test."
    shadowed = [{"zone": "example.test.", "name": by, "type": "A", "answering_zone": by}]
    assert call.get(written["publication"]["url"])["shadowed"] == shadowed
    assert call.get(f"/publications/{written['publication']['sequence'] + 1}")["shadowed"] == []
    mail = make_caller(Grant(frozenset({Right.READ}), everywhere=True, names=("mail",)))
    assert mail.get(written["publication"]["url"])["shadowed"] == []


def test_without_nodes_nothing_is_everywhere_and_nobody_waits(call: Caller, zone: Zone) -> None:
    answer = call("PUT", WWW + "?wait=60", content("192.0.2.7"))
    publication = json.loads(answer.content)["publication"]
    assert (answer.status_code, publication["everywhere"], publication["of"]) == (202, False, 0)


def test_a_write_waits_until_all_nodes_answer(
    call: Caller, zone: Zone, active_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, answers = active_node("ns1"), []
    ask = waiting.is_everywhere

    def ask_and_prove(publication: Publication) -> bool | None:
        """Let the node confirm the publication after the first check failed."""
        answers.append(ask(publication))
        if answers == [False]:
            prove(node, publication.sequence)
        return answers[-1]

    monkeypatch.setattr(waiting, "is_everywhere", ask_and_prove)
    answer = call("PUT", WWW, content("192.0.2.7"), prefer="respond-async, wait=20")
    assert (answer.status_code, answer["Preference-Applied"]) == (200, "wait=20")
    assert json.loads(answer.content)["publication"]["everywhere"] is True
    assert answers == [False, True]


def test_a_wait_ends_when_its_time_is_over(call: Caller, zone: Zone, active_node: MakeNode) -> None:
    active_node("ns1")
    assert call("PUT", WWW + "?wait=1", content("192.0.2.7")).status_code == 202
    sequence = LogHead.objects.get().sequence
    assert call.get(f"/publications/{sequence}?wait=1")["everywhere"] is False


def test_who_waits_for_what_is_taken_back_gets_a_problem_at_once(
    call: Caller, zone: Zone, active_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = active_node("ns1")
    ask = waiting.is_everywhere

    def refuse(publication: Publication) -> bool | None:
        """Take the publication back after the first check failed."""
        found = ask(publication)
        take_back(publication.sequence, node)
        return found

    monkeypatch.setattr(waiting, "is_everywhere", refuse)
    problem = call.problem(422, "PUT", WWW + "?wait=20", content("192.0.2.7"), idempotency_key="k")
    assert (problem["code"], problem["reasons"]) == ("taken-back", [REASON])
    monkeypatch.undo()
    assert call.problem(422, "PUT", WWW + "?wait=20", content("192.0.2.7"), idempotency_key="k") == problem
    assert call.problem(422, "GET", f"/publications/{problem['sequence']}?wait=5")["code"] == "taken-back"
    publication = call.get(f"/publications/{problem['sequence']}")
    assert (publication["everywhere"], publication["reached"]) == (False, 0)
    assert publication["taken_back"]["reason"] == REASON
    assert publication["taken_back"]["sequence"] == LogHead.objects.get().sequence
    assert call.get(f"/publications/{LogHead.objects.get().sequence}?wait=5")["taken_back"] is None


def test_a_remembered_answer_does_not_outlive_what_it_told_of(call: Caller, zone: Zone, active_node: MakeNode) -> None:
    node = active_node("ns1")
    written = call.good("PUT", WWW, content("192.0.2.7"), idempotency_key="k")
    take_back(written["publication"]["sequence"], node)
    assert call.problem(422, "PUT", WWW, content("192.0.2.7"), idempotency_key="k")["code"] == "taken-back"


def test_why_it_was_taken_back_is_for_who_sees_all_that_it_changed(
    call: Caller, zone: Zone, make_caller: MakeCaller, make_zone: MakeZone, active_node: MakeNode
) -> None:
    node = active_node("ns1")
    make_zone(name="other.test.")
    change = replace("www", "A", "192.0.2.7")
    body = {"zones": [{"zone": f"{name}.test.", "changes": [change]} for name in ("example", "other")]}
    sequence = call.good("POST", "/bulk", body)["publication"]["sequence"]
    take_back(sequence, node)
    assert call.get(f"/publications/{sequence}")["taken_back"]["reason"] == REASON
    narrow = make_caller(Grant(frozenset({Right.READ}), zones=frozenset({zone.pk})), permissions=frozenset())
    assert narrow.get(f"/publications/{sequence}")["taken_back"]["reason"] == ""
    problem = narrow.problem(422, "GET", f"/publications/{sequence}?wait=5")
    assert (problem["code"], problem["reasons"], "SERVFAIL" in problem["detail"]) == ("taken-back", [], False)


@pytest.mark.parametrize("wait", ["61", "-1", "x", "1.5", "٣"])
def test_a_wait_that_is_none_is_refused_before_anything_is_written(call: Caller, zone: Zone, wait: str) -> None:
    problem = call.problem(422, "PUT", f"{WWW}?wait={wait}", content("192.0.2.7"))
    assert problem["errors"][0]["parameter"] == "wait"
    assert call.get("/zones/example.test.")["revision"] == 1


def test_publications_are_listed_the_newest_first(call: Caller, zone: Zone) -> None:
    call.good("PUT", WWW, content("192.0.2.7"))
    sequences = [item["sequence"] for item in call.all("/publications?limit=1")]
    assert sequences == sorted(sequences, reverse=True)
    for sequence in (0, 77, 2**70):
        call.problem(404, "GET", f"/publications/{sequence}")


def test_only_publications_of_visible_zones_are_shown(
    call: Caller, make_caller: MakeCaller, zone: Zone, make_zone: MakeZone, active_node: MakeNode
) -> None:
    active_node("ns1")
    other = make_zone(name="other.test.")
    narrow = make_caller(Grant(frozenset({Right.READ}), zones=frozenset({zone.pk})), permissions=frozenset())
    (visible,) = narrow.all("/publications")
    narrow.problem(404, "GET", f"/publications/{other.sequence}")
    found = narrow.get(visible["url"])
    assert (found["nodes"], found["of"]) == (None, 1)


def test_a_feed_has_each_publication_once_while_others_publish(call: Caller, zone: Zone) -> None:
    begin = call.get("/publications?limit=1")["up_to"]

    def publish(number: int) -> int:
        try:
            written = call.good("PUT", f"/zones/example.test./rrsets/n{number}/A", content("192.0.2.7"))
            return int(written["publication"]["sequence"])
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        published = [pool.submit(publish, number) for number in range(20)]
        after, found = begin, []
        while len(found) < 20:
            page = call.get(f"/publications?order=asc&after={after}&limit=3&wait=5")
            found += [item["sequence"] for item in page["items"]]
            after = page["up_to"]
    assert found == sorted(job.result() for job in published)
    assert call.get(f"/publications?order=asc&after={after}") == {
        "items": [],
        "next": None,
        "next_cursor": None,
        "up_to": after,
        "epoch": str(LogHead.objects.get().epoch),
    }


def test_a_feed_waits_for_the_first_publication(call: Caller, zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    after = call.get("/publications?limit=1")["up_to"]
    made: list[Any] = []

    def publish(_: float) -> None:
        if not made:
            made.append(call.good("PUT", WWW, content("192.0.2.7")))

    monkeypatch.setattr(publications, "wait_until", partial(waiting.wait_until, sleep=publish))
    (item,) = call.get(f"/publications?order=asc&after={after}&wait=60")["items"]
    assert item["sequence"] == made[0]["publication"]["sequence"]


def test_a_feed_goes_past_what_a_token_may_not_see(
    call: Caller, make_caller: MakeCaller, zone: Zone, make_zone: MakeZone
) -> None:
    narrow = make_caller(Grant(frozenset({Right.READ}), zones=frozenset({zone.pk})))
    after = narrow.get("/publications?limit=1")["up_to"]
    other = make_zone(name="other.test.")
    page = narrow.get(f"/publications?order=asc&after={after}&expand=zones")
    assert (page["items"], page["up_to"]) == ([], other.sequence)
    made = call.good("PUT", WWW, content("192.0.2.7"))["publication"]
    (item,) = narrow.get(f"/publications?order=asc&after={page['up_to']}&expand=zones")["items"]
    assert (item["sequence"], item["zones"], item["more_zones"]) == (made["sequence"], made["zones"], False)


def test_nobody_waits_for_a_feed_when_every_place_is_taken(
    call: Caller, zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    after = call.get("/publications?limit=1")["up_to"]
    monkeypatch.setattr(waiting, "_places", BoundedSemaphore(1))
    waiting._places.acquire()
    answer = call("GET", f"/publications?after={after}&wait=60")
    assert (answer.status_code, answer["Retry-After"]) == (200, "1")


def test_all_zones_of_a_large_publication_are_listed(
    call: Caller, make_caller: MakeCaller, zone: Zone, make_zone: MakeZone
) -> None:
    zones = [make_zone(name=f"z{number:03}.test.") for number in range(102)]
    deletion = {"zones": [{"zone": zone.name} for zone in zones], "confirm": True}
    sequence = call.good("POST", "/bulk/deletions", deletion)["publication"]["sequence"]
    (item,) = call.get(f"/publications?after={sequence - 1}&expand=zones")["items"]
    assert (len(item["zones"]), item["more_zones"]) == (100, True)
    every = list(call.all(f"/publications/{sequence}/zones?limit=40"))
    assert [(one["zone"], one["kind"]) for one in every] == [(zone.name, "delete") for zone in zones]
    narrow = make_caller(Grant(frozenset({Right.READ}), zones=frozenset({zones[7].pk})))
    assert [one["zone"] for one in narrow.all(f"/publications/{sequence}/zones")] == ["z007.test."]


@pytest.mark.parametrize("query", ["after=-1", "after=x", "after=99999999999999999999", "order=up", "expand=nodes"])
def test_a_feed_that_cannot_be_read_is_refused(call: Caller, zone: Zone, query: str) -> None:
    [fault] = call.problem(422, "GET", f"/publications?{query}")["errors"]
    assert fault["parameter"] == query.split("=")[0]


def test_a_write_that_finds_no_place_to_wait_does_not_look_as_if_it_had_waited(
    call: Caller, zone: Zone, active_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    active_node("ns1")
    monkeypatch.setattr(waiting, "_places", BoundedSemaphore(1))
    waiting._places.acquire()
    answer = call("PUT", f"{WWW}?wait=60", content("192.0.2.7"))
    assert (answer.status_code, answer["Retry-After"]) == (202, "1")
    assert "Preference-Applied" not in answer
