"""A hook question's digest covers everything that will be published, and no fields that change by themselves."""

import json
from typing import Any

import pytest

from dnspanel.zones.governance.hook_questions import MOST_CHARACTERS, Publisher, Question, creation, question_of
from dnspanel.zones.governance.parts import Part
from dnspanel.zones.models import PublishHook, RevisionKind, Zone
from dnspanel.zones.values import soa
from replication.dns import rdtypes
from replication.dns.rrset import Change, RRset, Serial
from tests.dnspanel.zones.conftest import rr

ZONE = Zone(pk=7, name="example.test.", revision=4)
WWW = rr("www 60 A 192.0.2.1")
SOA = rr("@ 3600 SOA ns1.example.net. hostmaster.example.net. 1 10800 3600 604800 3600")
OTHER_SOA = rr("@ 3600 SOA ns2.example.net. hostmaster.example.net. 2 10800 3600 604800 3600")
ALICE, BOB = ({"kind": "user", "user": name, "token": None} for name in ("alice", "bob"))
BY_ALICE = Publisher(ALICE, "web", "A move")


def question(
    *changes: tuple[RRset | None, RRset | None],
    kind: str = RevisionKind.CHANGE,
    revision: int = 4,
    publisher: Publisher = BY_ALICE,
) -> Question:
    made = []
    for before, after in changes:
        one = before or after
        assert one is not None
        made.append(Change(one.name, one.type, before, after))
    zone = Zone(pk=7, name="example.test.", revision=revision)
    return question_of(PublishHook(), [(zone, Part(7, kind, made))], publisher)


def test_serials_and_the_number_of_a_change_are_not_in_the_digest() -> None:
    moved = soa.with_serial(OTHER_SOA, Serial(9))
    first = question((None, WWW), (SOA, OTHER_SOA))
    assert question((None, WWW), (soa.with_serial(SOA, Serial(8)), moved), revision=5).digest == first.digest
    assert question((None, WWW), (SOA, soa.with_serial(SOA, Serial(2)))).digest == question((None, WWW)).digest


OTHERS: dict[str, Any] = {
    "another value": {"changes": [(None, rr("www 60 A 192.0.2.2"))]},
    "another TTL": {"changes": [(None, rr("www 61 A 192.0.2.1"))]},
    "another comment": {"changes": [(None, rr("www 60 A 192.0.2.1", comment="x"))]},
    "over something else": {"changes": [(rr("www 60 A 192.0.2.3"), WWW)]},
    "one more": {"changes": [(None, WWW), (None, rr("a 60 A 192.0.2.1"))]},
    "another author": {"publisher": Publisher(BOB, "web", "A move")},
    "another reason": {"publisher": Publisher(ALICE, "web", "")},
    "a restored zone": {"kind": RevisionKind.RESTORE},
}


@pytest.mark.parametrize("how", OTHERS)
def test_whatever_else_moves_makes_another_digest(how: str) -> None:
    terms = dict(OTHERS[how])
    changes = terms.pop("changes", [(None, WWW)])
    assert question(*changes, **terms).digest != question((None, WWW)).digest


def test_what_goes_is_as_its_last_revision_left_it() -> None:
    first, second = (question(kind=RevisionKind.DELETE, revision=number) for number in (4, 5))
    assert first.digest != second.digest


def test_a_question_is_bounded_and_its_digest_is_of_the_rest_too() -> None:
    long = [rr("t{} 60 TXT {}".format(n, " ".join(['"' + "x" * 250 + '"'] * 200))) for n in range(20)]
    long_one = question(*((None, each) for each in long))
    body = json.loads(long_one.body)
    assert len(long_one.body) < MOST_CHARACTERS + 10_000
    assert (body["complete"], body["zones"][0]["count"]) == (False, 20)
    assert 0 < len(body["zones"][0]["changes"]) < 20
    assert question(*((None, each) for each in long[:19])).digest != long_one.digest


def test_a_creation_is_told_in_a_fixed_order() -> None:
    made = creation([WWW, SOA])
    assert made == creation([SOA, WWW])
    assert {change.type for change in made} == {rdtypes.A, rdtypes.SOA}
    assert all(change.before is None for change in made)
