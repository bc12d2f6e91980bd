"""The timeline of a zone's keys: positions in the graphic, and the text next to it."""

from dataclasses import replace
from datetime import timedelta

from dnspanel.web.dnssec.display_keys import MOST_MOMENTS, DisplayLife, display_lives
from dnspanel.zones.dnssec.key_history import Event, Expected, KeyHistory, Moment
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.signing_state import KeyRole, KeyState
from tests.people import NOW


def key(*events: tuple[Event, int], id: int = 1, use: KeyState | None, **more: object) -> KeyHistory:
    moments = tuple(Moment(event, NOW + timedelta(hours=hours)) for event, hours in events)
    made = KeyHistory(id, 100 + id, 13, KeyRole.CSK, moments, has_ds=False, use=use)
    return replace(made, **more)  # type: ignore[arg-type]


def bars(life: DisplayLife) -> list[tuple[str, float, float]]:
    return [(bar.css, float(bar.x), float(bar.width)) for bar in life.bars]


IN_USE = KeyState(1, 13, 257)
BEGUN = ((Event.MADE, 0), (Event.PUBLISHED, 0), (Event.SIGNS, 0))


def test_bars_begin_and_end_with_the_moments_of_all_keys() -> None:
    old = key(*BEGUN, (Event.RESTS, 2), (Event.HIDDEN, 3), (Event.GONE, 3), use=None)
    new = key((Event.MADE, 1), (Event.PUBLISHED, 1), (Event.SIGNS, 2), id=2, use=replace(IN_USE, id=2))
    [first, second] = display_lives([old, new], None)
    assert bars(first) == [("is-dnskey", 0, 75), ("is-signs", 0, 50)]
    assert bars(second) == [("is-dnskey", 25, 75), ("is-signs", 50, 50)]
    assert (first.present, second.present) == ("removed", "active, published in DNSKEY")
    assert [each.label for each in first.passed][-1] == "removed from DNSKEY, removed"


def test_what_comes_next_stands_beyond_now() -> None:
    expected = (Expected(Event.RESTS, None), Expected(Event.DS_GONE, NOW))
    life = display_lives([key(*BEGUN, (Event.DS, 1), use=IN_USE, has_ds=True, expected=expected)], None)[0]
    assert bars(life) == [
        ("is-dnskey", 0, 88),
        ("is-dnskey is-next", 88, 12),
        ("is-signs", 0, 88),
        ("is-ds", 44, 44),
    ]
    assert life.present == "active, published in DNSKEY, DS at parent"
    assert [(each.at, each.label) for each in life.coming] == [
        (None, "deactivated"),
        (NOW, "DS removed from parent"),
    ]


def test_the_policy_says_until_when_a_key_lives() -> None:
    terms = Terms(ksk_days=10)
    [life] = display_lives([key(*BEGUN, use=IN_USE)], terms)
    assert [(each.at, each.is_lifetime) for each in life.coming] == [(NOW + timedelta(days=10), True)]
    assert display_lives([key(*BEGUN, use=replace(IN_USE, active=False))], terms)[0].coming == []
    assert display_lives([key(*BEGUN, use=None)], terms)[0].coming == []
    assert display_lives([key(*BEGUN, use=IN_USE)], Terms())[0].coming == []


def test_a_moment_that_nobody_stored_is_not_drawn_and_many_are_cut() -> None:
    life = display_lives([key((Event.MADE, 0), (Event.RESTS, 1), use=None, has_ds=True)], None)[0]
    assert (life.bars, life.present) == ([], "removed, but DS still at parent")
    switched = [(event, hours) for hours in range(9) for event in (Event.SIGNS, Event.RESTS)]
    life = display_lives([key((Event.MADE, 0), *switched, use=None)], None)[0]
    assert (life.left_out, sum(each.label.count("activ") for each in life.passed)) == (7, MOST_MOMENTS)
