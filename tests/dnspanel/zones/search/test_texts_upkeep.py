"""Updated search texts after publications equal texts that are written from scratch."""

from datetime import timedelta
from itertools import pairwise

import pytest

from dnspanel.accounts.models import User
from dnspanel.advisory_locks import Lock
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Publication, RRset, SearchProgress, SearchText, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.search import texts_upkeep
from dnspanel.zones.store.store_rrsets import rrset_of
from replication.dns import rrset as rrsets
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.search.conftest import CatchUp
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db
ZONE, A = "example.test.", 1


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_upkeep, "NAMES_OF_BLOCK", 5)


def lines_of(zone: Zone) -> list[set[str]]:
    """Return the lines of each search text of a zone, after a check that the blocks have no gaps."""
    rows = list(SearchText.objects.filter(zone=zone).order_by("first_key"))
    assert bytes(rows[0].first_key) == b""
    assert rows[-1].end_key is None
    for row, behind in pairwise(rows):
        assert row.end_key == behind.first_key
    return [set(row.text.strip("\n").split("\n")) for row in rows]


def expected(zone: Zone) -> set[str]:
    found = set()
    for rrset in map(rrset_of, RRset.objects.filter(zone=zone)):
        found |= {rrset.name, f"type{rrset.type}", *map(str.lower, rrset.rdata)}
    return found


def change(zone: Zone, author: User, changes: dict[str, str | None]) -> None:
    change_rrsets(
        zone=Zone.objects.get(pk=zone.pk),
        changes={
            (f"{owner}.{ZONE}", A): None if address is None else rrsets.RRset(f"{owner}.{ZONE}", A, 60, (address,))
            for owner, address in changes.items()
        },
        author=author,
        channel="web",
        now=NOW,
        confirmed=True,
    )


def test_a_small_zone_is_one_text_and_a_large_one_has_blocks(make_zone: MakeZone, catch_up: CatchUp) -> None:
    small = make_zone(r'@ 300 TXT "Hello \"W\""', "xn--bcher-kva 60 CNAME WWW", name="small.test.")
    large = make_zone(*(f"h{number:02} 300 A 192.0.2.{number}" for number in range(12)))
    RRset.objects.filter(name="small.test.", type=16).update(comment="Für Überall")
    assert catch_up() == 2
    [text] = lines_of(small)
    assert text >= {"small.test.", "xn--bcher-kva.small.test.", "b\u00fccher.small.test.", "www.small.test.", "type16"}
    assert text >= {r'"hello \"w\""', "f\u00fcr \u00fcberall"}
    blocks = lines_of(large)
    assert [len({line for line in block if line.endswith(".example.test.")}) for block in blocks] == [4, 5, 3]
    assert set().union(*blocks) == expected(large)
    assert catch_up() == 0


def test_a_change_in_a_large_zone_is_in_its_block(make_zone: MakeZone, catch_up: CatchUp, bob: User) -> None:
    zone = make_zone(*(f"h{number:02} 300 A 192.0.2.{number}" for number in range(30)))
    catch_up()
    before = {bytes(row.first_key): row.text for row in SearchText.objects.filter(zone=zone)}
    change(zone, bob, {"h20": "203.0.113.9"})
    assert catch_up() == 1
    after = {bytes(row.first_key): row.text for row in SearchText.objects.filter(zone=zone)}
    moved = [key for key in before if before[key] != after[key]]
    assert len(moved) == 2  # the block of the name, and that of the SOA
    change(zone, bob, {**{f"h20{letter}": "203.0.113.8" for letter in "abcdefgh"}, "h07": None, "zz": "192.0.2.99"})
    catch_up()
    assert set().union(*lines_of(zone)) == expected(zone)
    assert len(lines_of(zone)) > len(before)
    change(zone, bob, {f"h{number:02}": None for number in range(5, 30) if number != 7})
    catch_up()
    assert set().union(*lines_of(zone)) - {""} == expected(zone)


def test_a_zone_that_is_gone_takes_its_texts_with_it(make_zone: MakeZone, catch_up: CatchUp, alice: User) -> None:
    zone = make_zone()
    catch_up()
    edit.delete_zone(zone=zone, acting=Acting(alice, "web", NOW))
    assert catch_up() == 1
    Zone.objects.filter(pk=zone.pk).delete()
    assert not SearchText.objects.exists()
    assert catch_up() == 0


def test_the_first_writing_goes_on_where_it_stopped(make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        make_zone(name=f"z{number}.test.")
    monkeypatch.setattr(texts_upkeep, "ZONES_AT_A_TIME", 2)
    monkeypatch.setattr(texts_upkeep, "ZONES_OF_A_TURN", 2)
    assert texts_upkeep.catch_up(now=NOW) == 2
    make_zone(name="later.test.")
    assert [texts_upkeep.catch_up(now=NOW) for _ in range(4)] == [2, 2, 1, 0]
    assert SearchText.objects.count() == 6
    assert SearchProgress.objects.get().sequence == Publication.objects.order_by("-sequence")[0].sequence


def test_publications_are_taken_whole_and_some_at_a_time(
    make_zone: MakeZone, catch_up: CatchUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up()
    monkeypatch.setattr(texts_upkeep, "REVISIONS_AT_A_TIME", 2)
    for number in range(5):
        make_zone(name=f"z{number}.test.")
    assert catch_up() == 5


def test_texts_wait_while_very_much_is_published_but_not_for_ever(
    make_zone: MakeZone, catch_up: CatchUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up()
    make_zone()
    monkeypatch.setattr(texts_upkeep, "_BUSY_REVISIONS", 0)
    assert texts_upkeep.catch_up(now=NOW) == 0
    assert texts_upkeep.catch_up(now=NOW + timedelta(seconds=6)) == 1
    make_zone(name="old.test.")
    Publication.objects.update(at=NOW - timedelta(minutes=11))
    make_zone(name="new.test.")
    assert texts_upkeep.catch_up(now=NOW) == 2


def test_two_workers_do_not_write_at_once(make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch) -> None:
    make_zone()
    taken: list[Lock] = []

    class Taken:
        def __init__(self, lock: Lock) -> None:
            taken.append(lock)

        def __enter__(self) -> bool:
            return False

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(texts_upkeep, "hold_lock", Taken)
    assert texts_upkeep.catch_up(now=NOW) == 0
    assert taken == [Lock.SEARCH_TEXTS]
