"""The search texts, and the other columns that a search compares."""

import pytest

from dnspanel.zones.models import SearchText
from dnspanel.zones.search import search_texts
from dnspanel.zones.search.search_texts import may_hold, pieces_of, progress
from dnspanel.zones.search.terms import parse
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.search.conftest import CatchUp


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("WWW", ["www"]),
        ("BÜCHer", ["bücher", "xn--bcher-kva", r"b\195\156cher"]),
        ("192.0.2.7", ["\n192.0.2.7\n", "\n7.2.0.192.in-addr.arpa.\n"]),
        ("192.0.2.128/25", ["\n192.0.2."]),
        ("10.0.0.0/7", []),
        ("2001:db8:1::/47", ["\n2001:db8:"]),
        ("2001:db8:0:1::/64", ["\n2001:db8:"]),
        ("type:mx,a", ["\ntype1\n", "\ntype15\n"]),
        ("ttl:300", []),
        ("value:Grüß", [r"gr\195\188\195\159"]),
        ("comment:Grüß", ["grüß"]),
        ("name:Ü", ["ü", "xn--tda"]),
        ("has:WWW.x", ['\n"www.x"\n', "\nwww.x\n", "\nwww.x\n", "\nwww.x.\n"]),
        ("tag:x", []),
    ],
)
def test_a_term_asks_for_pieces_of_texts(word: str, pieces: list[str]) -> None:
    [term] = parse(word).terms
    assert pieces_of(term) == pieces


@pytest.mark.parametrize(
    ("search", "is_looked_into"), [("ab -www", False), ("ab www", True), ("type:a", True), ("ü", False)]
)
def test_the_index_is_looked_into_for_what_it_knows(search: str, is_looked_into: bool) -> None:
    """For a text without three letters or digits in a row, PostgreSQL would read the whole index."""
    assert (may_hold(parse(search).terms) is not None) is is_looked_into


@pytest.mark.django_db
def test_the_index_finds_the_texts(make_zone: MakeZone, catch_up: CatchUp, django_db_blocker: object) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO zones_searchtext (zone_id, first_key, text, types, ttls, has_comments)"
            " SELECT n, '', E'\\nwww.z' || n || E'.test.\\ntype1\\n', '{1}', '{60}', false"
            " FROM generate_series(1, 5000) n"
        )
        cursor.execute("ANALYZE zones_searchtext")
        cursor.execute("SET LOCAL enable_seqscan = off")
    found = may_hold(parse("z777.test").terms)
    assert found is not None
    assert "search_text_trigram" in SearchText.objects.filter(found).explain()


@pytest.mark.django_db
def test_progress_names_the_zones_that_the_texts_do_not_know_yet(
    make_zone: MakeZone, catch_up: CatchUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not progress().is_complete
    catch_up()
    assert progress() == search_texts.Progress(True)
    ids = [make_zone(name=f"z{number}.test.").pk for number in range(3)]
    found = progress()
    assert (found.is_complete, found.new_zones, found.without_texts, found.left_out) == (True, set(ids), set(ids), 0)
    monkeypatch.setattr(search_texts, "MOST_NEW_ZONES", 2)
    found = progress()
    assert (found.new_zones, found.left_out) == (set(ids[1:]), 1)
