"""The picture of a zone's chain of trust."""

from collections.abc import Sequence

import pytest

from dnspanel.accounts.models import User
from dnspanel.fleet.dnssec.node_answers import NodeAnswer, Verdict
from dnspanel.fleet.models import ParentCheck, ParentState
from dnspanel.fleet.reads.parent_check import parent_of
from dnspanel.web.frame.dnssec_chain import MOST_BOXES, Box, Chain, DisplayAnswer, ParentSide, chain_of
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.other_keys import OtherKey
from dnspanel.zones.dnssec.signing_state import KeyView
from dnspanel.zones.models import Zone
from dnspanel.zones.signing import sign
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import NOW
from tests.people import alice as alice
from tests.people import bob as bob

BY = Acting(None, "web", NOW)
UNKNOWN_DS = f"4711 13 2 {'ab' * 32}"


def signed_keys(zone: Zone, *, split: bool = True) -> list[KeyView]:
    """Sign the zone, and return its keys, the key that a DS can name first."""
    sign.sign(zones=[zone], acting=BY, split=split)
    return sorted(queries.keys_of(zone), key=lambda key: not key.ds)


def side(*sets: Sequence[str], state: str = ParentState.MATCHES, root: str = "") -> ParentSide:
    return ParentSide("test.", {f"ns{number}": ds for number, ds in enumerate(sets)}, state, root)


def answers(*found: tuple[Verdict, Sequence[int]], is_signed: bool = True) -> list[DisplayAnswer]:
    return [
        DisplayAnswer(NodeAnswer(f"ns{number}", verdict, tags=tuple(tags)), is_signed)
        for number, (verdict, tags) in enumerate(found, 1)
    ]


def boxes(chain: Chain) -> list[Box]:
    return [chain.root, chain.parent, *(box for pair in chain.entries for box in pair), *chain.zsks, chain.records]


@pytest.mark.django_db
def test_what_is_not_checked_is_never_claimed(zone: Zone) -> None:
    chain = chain_of(zone.name, ParentSide("", None), signed_keys(zone))
    assert {box.tone for box in boxes(chain)} == {"quiet"}
    assert (chain.verdict, chain.root.note, chain.entries[0][0].note) == (
        "unknown",
        "not checked yet",
        "not checked yet",
    )
    assert chain.records.note == "nodes not checked yet"


@pytest.mark.django_db
def test_a_complete_chain_is_well_from_the_root_to_the_answers(zone: Zone) -> None:
    keys = signed_keys(zone)
    ksk, zsk = keys
    tags = (ksk.tag, zsk.tag)
    parent = side([ksk.ds[0]], [ksk.ds[0]], root="secure")
    chain = chain_of(zone.name, parent, keys, answers((Verdict.VALIDATES, tags), (Verdict.VALIDATES, tags)))
    assert {box.tone for box in boxes(chain)} == {"ok"}
    assert [box.title for box in boxes(chain)] == [
        "Root",
        "test.",
        f"DS {ksk.tag}",
        f"KSK {ksk.tag}",
        f"ZSK {zsk.tag}",
        "Answers",
    ]
    assert (chain.verdict, chain.records.note) == ("secure", "valid on 2 of 2 nodes")
    assert chain.wrong_answers == []


@pytest.mark.django_db
def test_the_verdict_follows_the_parent(zone: Zone) -> None:
    [key] = signed_keys(zone, split=False)
    right, wrong = [key.ds[0]], [UNKNOWN_DS]
    expected = {
        "missing": side([], [], state=ParentState.NO_DS),
        "partial": side(right, [], state=ParentState.PARTIAL),
        "linked": side(right),
        "insecure": side(right, root="insecure"),
        "broken": side(wrong, state=ParentState.DIFFERS),
    }
    assert {word: chain_of(zone.name, parent, [key]).verdict for word, parent in expected.items()} == {
        word: word for word in expected
    }
    assert chain_of(zone.name, side(right, state=ParentState.BOGUS, root="bogus"), [key]).verdict == "broken"
    partial = chain_of(zone.name, expected["partial"], [key]).entries[0][0]
    assert (partial.note, partial.tone) == ("on 1 of 2 servers", "warn")


@pytest.mark.django_db
def test_a_ds_that_names_no_key_stands_first_and_the_key_has_none(zone: Zone) -> None:
    [key] = signed_keys(zone, split=False)
    chain = chain_of(zone.name, side([UNKNOWN_DS], state=ParentState.DIFFERS), [key])
    assert [(ds.title, ds.tone, of_key.title) for ds, of_key in chain.entries] == [
        ("DS 4711", "bad", "No key 4711"),
        ("DS", "quiet", f"CSK {key.tag}"),
    ]
    beside = chain_of(zone.name, side([key.ds[0], UNKNOWN_DS]), [key])
    assert [ds.tone for ds, _ in beside.entries] == ["bad", "ok"]
    assert beside.verdict == "linked", "one DS that matches is enough"
    other_digest = f"{key.tag} {key.algorithm} 4 {'ab' * 48}"
    mixed = chain_of(zone.name, side([key.ds[0], other_digest], state=ParentState.DIFFERS), [key])
    assert (mixed.entries[0][0].note, mixed.verdict) == ("a digest doesn’t match", "broken")


@pytest.mark.django_db
def test_a_ds_of_a_key_that_does_not_sign_leads_nowhere(zone: Zone) -> None:
    [key] = signed_keys(zone, split=False)
    sign.add_key(zone=zone, acting=BY)
    sign.set_key(zone=zone, key_id=key.id, active=False, acting=BY)
    chain = chain_of(zone.name, side([key.ds[0]]), queries.keys_of(zone))
    assert (chain.entries[0][0].note, chain.verdict) == ("the key isn’t in use", "broken")
    assert "inactive" in {of_key.note for _, of_key in chain.entries}
    unsigned = chain_of(zone.name, side([UNKNOWN_DS]), [])
    assert (unsigned.verdict, unsigned.entries[0][1].title) == ("broken", "No key 4711")


@pytest.mark.django_db
def test_nodes_that_answer_otherwise_are_named(zone: Zone) -> None:
    keys = signed_keys(zone)
    ksk, zsk = keys
    found = answers(
        (Verdict.VALIDATES, (ksk.tag, zsk.tag)),
        (Verdict.BOGUS, (ksk.tag,)),
        (Verdict.SILENT, ()),
        (Verdict.UNSIGNED, ()),
    )
    chain = chain_of(zone.name, side([ksk.ds[0]]), keys, found)
    assert (chain.entries[0][1].note, chain.zsks[0].note) == ("not on ns4", "not on ns2 and ns4")
    assert (chain.records.note, chain.records.tone) == ("valid on 1 of 4 nodes", "bad")
    assert [each.answer.node for each in chain.wrong_answers] == ["ns2", "ns3", "ns4"]
    nowhere = chain_of(zone.name, side([ksk.ds[0]]), keys, answers(*[(Verdict.UNSIGNED, ())] * 5))
    assert nowhere.zsks[0].note == "not on ns1, ns2, ns3 and 2 more"
    quiet = chain_of(zone.name, ParentSide("", None), [], answers((Verdict.UNSIGNED, ()), is_signed=False))
    assert (quiet.records.note, quiet.records.tone) == ("not signed", "quiet")


@pytest.mark.django_db
def test_of_many_keys_the_first_are_drawn_and_the_others_counted(zone: Zone) -> None:
    own = signed_keys(zone)
    others = [OtherKey(257 if number < 20 else 256, 13, bytes([number]) * 64) for number in range(28)]
    last = others[19]
    chain = chain_of(zone.name, side([key_material.ds_text(zone.name, 257, 13, last.public)]), [*own, *others])
    assert (len(chain.entries), chain.more_entries) == (MOST_BOXES, 21 - MOST_BOXES)
    assert (len(chain.zsks), chain.more_zsks) == (MOST_BOXES, 9 - MOST_BOXES)
    assert chain.entries[0][0].title == f"DS {last.tag}", "what the parent has comes first"


@pytest.mark.django_db
def test_keys_that_a_person_may_not_see_are_unknown(zone: Zone) -> None:
    chain = chain_of(zone.name, side([UNKNOWN_DS]), None)
    [(ds, key)] = chain.entries
    assert (ds.tone, key.title, key.note, chain.verdict) == ("quiet", "Key 4711", "not checked yet", "linked")


@pytest.mark.django_db
def test_the_root_counts_only_for_the_ds_that_was_validated(zone: Zone, bob: User) -> None:
    check = ParentCheck(zone=zone, due_at=NOW, known_at=NOW, state=ParentState.MATCHES, parent="test.")
    check.found = {"servers": {"a": [UNKNOWN_DS]}, "ttl": 60, "root": "secure"}
    check.save()
    view, here = parent_of(zone, bob, NOW)
    assert ParentSide.of(view, here) == ParentSide("test.", {"a": [UNKNOWN_DS]}, "matches", "secure")
    del check.found["root"]  # found by a panel that did not store it
    check.save()
    assert ParentSide.of(*parent_of(zone, bob, NOW)).root == ""
