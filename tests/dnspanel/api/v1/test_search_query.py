"""Tests of search queries: results and cost."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from dnspanel.accounts.actors.actors import Actor, Grant, Right, actor_of, actor_of_token
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.api.v1 import search_query
from dnspanel.api.v1.search_query import Matches, TooGeneral, find_comments, find_records, find_zones, pattern_of
from dnspanel.zones.models import RRset
from dnspanel.zones.search import zone_conditions
from dnspanel.zones.store import waiting_entries
from replication.dns import rdtypes
from tests.dnspanel.api.v1.calls import make_zone
from tests.people import NOW

READ = frozenset({Right.READ})


@pytest.fixture
def actor(bob: User) -> Actor:
    found = actor_of(bob)
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def zones(db: None) -> None:
    make_zone("example.test.", "www A 192.0.2.1 192.0.2.2", "mail CNAME www.example.test.", 'a.b TXT "50%_off"')
    make_zone("sub.example.test.", "www A 192.0.2.1", 'x\\;y TXT "star"')
    make_zone("other.test.", "www.example AAAA 2001:db8::1")
    RRset.objects.filter(name="www.example.test.").update(comment="ask Bob; since May")


def records(actor: Actor, text: str, limit: int = 100) -> list[tuple[str, str, str]]:
    return [(r.zone_name, r.name, r.rdata) for r in find_records(actor, pattern_of(text), limit)]


def names_found(actor: Actor, text: str) -> set[str]:
    return {name for _, name, _ in records(actor, text)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("example.test", ["example.test."]),
        ("EXAMPLE.test.", ["example.test."]),
        ("*example*", ["example.test.", "sub.example.test."]),
        ("*.example.test", ["sub.example.test."]),
        ("?ther.test", ["other.test."]),
        ("*", ["example.test.", "other.test.", "sub.example.test."]),
        ("example", []),
        ("ex%.test", []),
        ("\\", []),
    ],
)
def test_zones_are_found_by_the_whole_of_their_names(text: str, found: list[str], actor: Actor) -> None:
    assert find_zones(actor, pattern_of(text), 100) == Matches(found)


@pytest.mark.parametrize("text", ["www.example.test", "WWW.example.test.", "www.exam?le.test", "www.e*le.test"])
def test_at_a_name_that_fits_all_records_are_found(text: str, actor: Actor) -> None:
    found = records(actor, text)
    assert ("example.test.", "www.example.test.", "192.0.2.1") in found
    assert ("example.test.", "www.example.test.", "192.0.2.2") in found
    # Also those that contain the name.
    assert ("example.test.", "mail.example.test.", "www.example.test.") in found
    assert len(found) == 3


@pytest.mark.parametrize("text", ["192.0.2.1", "*2.0.2.1", "192.?.2.1"])
def test_of_an_rrset_whose_content_fits_only_that_record_is_found(text: str, actor: Actor) -> None:
    assert records(actor, text) == [
        ("example.test.", "www.example.test.", "192.0.2.1"),
        ("sub.example.test.", "www.sub.example.test.", "192.0.2.1"),
    ]


def test_percent_underscore_and_backslash_stand_for_themselves(actor: Actor) -> None:
    assert names_found(actor, "*50%_off*") == {"a.b.example.test."}
    assert names_found(actor, "*50__off*") == names_found(actor, "*50%off*") == set()
    assert names_found(actor, "x\\;y.sub.example.test") == {"x\\;y.sub.example.test."}


def test_a_token_finds_nothing_in_zones_and_at_names_that_are_not_for_it(bob: User) -> None:
    zone = make_zone("mine.test.", "www A 192.0.2.1", "secret A 192.0.2.1")
    terms = TokenTerms("narrow", (Grant(READ, zones=frozenset({zone.pk}), names=("www",), types=frozenset({1})),))
    actor = actor_of_token(create_token(owner=bob, terms=terms, by=bob, now=NOW).token)
    assert actor is not None
    for text in ("192.0.2.1", "*"):
        assert records(actor, text) == [("mine.test.", "www.mine.test.", "192.0.2.1")]
    assert find_zones(actor, pattern_of("*"), 100) == Matches(["mine.test."])
    assert find_comments(actor, pattern_of("*"), 100) == Matches([])


def test_disabled_records_say_so(actor: Actor) -> None:
    RRset.objects.filter(name="www.example.test.").update(disabled=["192.0.2.2"])
    found = {r.rdata: r.disabled for r in find_records(actor, pattern_of("www.example.test"), 100)}
    assert (found["192.0.2.1"], found["192.0.2.2"]) == (False, True)


def test_no_more_than_the_limit_is_found(actor: Actor) -> None:
    assert len(records(actor, "*", 4)) == 4
    assert len(find_zones(actor, pattern_of("*"), 2).found) == 2


@pytest.mark.parametrize("text", ["ask bob", "ask*", "since M?y"])
def test_comments_are_found_one_by_one(text: str, actor: Actor) -> None:
    found = find_comments(actor, pattern_of(text), 100)
    assert [(c.zone_name, c.name, c.type) for c in found] == [("example.test.", "www.example.test.", rdtypes.A)]


def test_in_a_large_panel_the_first_rrsets_are_compared_zone_by_zone(actor: Actor, monkeypatch: Any) -> None:
    monkeypatch.setattr(search_query, "_PORTION", 1)
    everything = records(actor, "*")
    for most in (1, 4, 8):
        monkeypatch.setattr(search_query, "MOST_COMPARED", most)
        found = find_records(actor, pattern_of("*"), 100)
        assert not found.is_complete
        assert {r.zone_name for r in found} <= {"example.test.", "other.test."}, "in the order of their names"
        assert 0 < len(found.found) < len(everything)
        assert find_records(actor, pattern_of("www*"), 1).is_complete == (most > 1), "as much as was wanted"
        assert find_records(actor, pattern_of("*nowhere*"), 1) == Matches([], is_complete=False)
        assert not find_comments(actor, pattern_of("x"), 1).is_complete
    monkeypatch.setattr(search_query, "MOST_COMPARED", 100)
    assert records(actor, "*") == everything
    assert find_records(actor, pattern_of("*"), 100).is_complete


def test_of_a_zone_that_is_larger_than_what_is_compared_the_first_names_are(actor: Actor, monkeypatch: Any) -> None:
    monkeypatch.setattr(search_query, "MOST_COMPARED", 3)
    found = find_records(actor, pattern_of("*"), 100)
    assert (found.is_complete, {r.zone_name for r in found}) == (False, {"example.test."})
    assert "www.example.test." not in {r.name for r in found}, "which is the last of its names"


def test_in_a_large_panel_the_end_of_a_pattern_says_where_to_look(actor: Actor, monkeypatch: Any) -> None:
    monkeypatch.setattr(search_query, "MOST_COMPARED", 12)
    assert names_found(actor, "www.*.example.test") == {"www.sub.example.test."}
    assert names_found(actor, "*.b.example.test") == {"a.b.example.test."}
    assert "www.example.other.test." in names_found(actor, "*.other.test")


def test_without_wildcards_everything_is_looked_up_however_much_there_is(actor: Actor, monkeypatch: Any) -> None:
    monkeypatch.setattr(search_query, "MOST_COMPARED", 0)
    assert names_found(actor, "192.0.2.2") == {"www.example.test."}
    assert names_found(actor, "www.sub.example.test") == {"www.sub.example.test."}


def test_the_number_of_queries_is_constant(actor: Actor, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_max_num_queries(6):
        records(actor, "www.example.test")


@pytest.mark.parametrize(
    "text", ["", ".", "..", "*", "?", "\\", "%", "'", "a" * 1000, "ü", "*" * 500, "*a" * 8, "a..b"]
)
def test_no_pattern_fails(text: str, actor: Actor) -> None:
    for find in (find_zones, find_records, find_comments):
        find(actor, pattern_of(text), 10)


@pytest.mark.parametrize("text", ["*a" * 400, "a?" * 9, "*a?b" * 5])
def test_many_wildcards_are_refused_before_anything_is_asked(
    text: str, actor: Actor, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """PostgreSQL tries each wildcard at each position of every name and value. One request took ten seconds."""
    with django_assert_num_queries(0), pytest.raises(TooGeneral, match="has more than 8 wildcards"):
        find_records(actor, pattern_of(text), 10)


FILL = """
    INSERT INTO zones_zone (name, sort_name, serial, revision, rrset_count, created_at, changed_at, sequence)
    SELECT made.name, made.name, 1, 1, 2, now(), now(), 0 FROM generate_series(1, 10000) n
    CROSS JOIN LATERAL (SELECT 'z' || n || '.estate.test.') AS made (name)"""


@pytest.fixture
def many_zones(monkeypatch: Any) -> None:
    monkeypatch.setattr(zone_conditions, "MANY_ZONES", 1000)
    monkeypatch.setattr(search_query, "MOST_COMPARED", 1000)
    with connection.cursor() as cursor:
        cursor.execute(FILL)
        cursor.execute("ANALYZE zones_zone")


def plans(find: Callable[[], object]) -> list[str]:
    """Return PostgreSQL's plan for each statement on zones."""
    with CaptureQueriesContext(connection) as captured:
        find()
    found = []
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # among so few rows, a sequential scan may be cheaper
        for query in captured.captured_queries:
            if "zones_zone" in query["sql"] and query["sql"].startswith("SELECT"):
                cursor.execute("EXPLAIN " + query["sql"])
                found.append("\n".join(row for (row,) in cursor.fetchall()))
    return found


@pytest.mark.usefixtures("many_zones")
def test_names_of_zones_are_found_by_the_index_of_trigrams(actor: Actor) -> None:
    assert find_zones(actor, pattern_of("*z99?9.est*"), 100) == Matches([f"z99{n}9.estate.test." for n in range(10)])
    # Waiting entries make the index look expensive, also those of other tests: a rollback removes rows, not entries.
    assert waiting_entries.sort_in(waiting_entries.NAMES_AND_TEXTS) > 0
    (plan,) = plans(lambda: find_zones(actor, pattern_of("*z99?9.est*"), 100))
    assert "zone_name_trigram" in plan
    assert find_zones(actor, pattern_of("*z99?9.est*"), 100) == Matches([f"z99{n}9.estate.test." for n in range(10)])


@pytest.mark.usefixtures("many_zones")
def test_a_pattern_that_no_index_serves_is_compared_with_the_first_of_many_names(actor: Actor) -> None:
    """For such patterns, PostgreSQL read the whole trigram index, which took ten seconds."""
    assert find_zones(actor, pattern_of("*x*p*"), 100) == Matches(["example.test.", "sub.example.test."], False)
    assert find_zones(actor, pattern_of("*q*"), 100) == Matches([], is_complete=False)
    assert find_zones(actor, pattern_of("?*"), 2) == Matches(["example.test.", "other.test."])
    *_, plan = plans(lambda: find_zones(actor, pattern_of("*x*p*"), 100))
    assert "zone_name_trigram" not in plan


@pytest.mark.usefixtures("many_zones")
def test_how_a_name_begins_is_looked_up_among_many_zones(actor: Actor) -> None:
    assert find_zones(actor, pattern_of("s*"), 100) == Matches(["sub.example.test."])
    *_, plan = plans(lambda: find_zones(actor, pattern_of("s*"), 100))
    assert "Index Cond" in plan
    assert "zone_name_unique_alive" in plan


def test_among_few_zones_it_is_compared_with_their_names_and_not_with_the_index(actor: Actor) -> None:
    *_, plan = plans(lambda: find_zones(actor, pattern_of("*h*r.*"), 100))
    assert "zone_name_trigram" not in plan
    assert find_zones(actor, pattern_of("*H*r.*"), 100) == Matches(["other.test."])


@pytest.mark.usefixtures("many_zones")
def test_all_zones_are_listed_however_many_there_are(actor: Actor) -> None:
    assert find_zones(actor, pattern_of("**"), 2) == Matches(["example.test.", "other.test."])


@pytest.mark.usefixtures("many_zones")
def test_no_more_rrsets_are_compared_than_the_zones_of_a_pattern_have(actor: Actor) -> None:
    """Regression test: PostgreSQL compared all RRsets before it filtered by zone, which took 6.7 s for two zones."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO zones_rrset (zone_id, name, owner_key, type, ttl, rdata, disabled, comment)"
            " SELECT id, name, '', t, 60, ARRAY['x'], '{}', '' FROM zones_zone, unnest(ARRAY[16, 99]) t"
            " WHERE name LIKE '%.estate.test.'"
        )
        cursor.execute("ANALYZE zones_rrset")
    with CaptureQueriesContext(connection) as captured:
        find_records(actor, pattern_of("*.example.test"), 100)
    statement = next(query["sql"] for query in captured.captured_queries if "unnest" in query["sql"])
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + statement[statement.index("SELECT") :])
        plan = "\n".join(row for (row,) in cursor.fetchall())
    assert "Seq Scan on zones_rrset" not in plan
