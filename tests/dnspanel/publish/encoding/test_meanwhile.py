"""Tests of edits that are sealed while the panel's LMDB receives a piece of an import."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from dnspanel.publish.encoding import encode
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.encoding.meanwhile import Meanwhile
from dnspanel.publish.models import PreparedRows, Segment, Stall
from dnspanel.publish.reading import publication_log
from dnspanel.zones.acting import Acting
from dnspanel.zones.log.publish_hold import hold
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit
from replication.dns import rdtypes
from replication.store.store import Store
from tests.dnspanel.publish.encoding.test_encode import (
    assert_equal_to_postgresql,
    change,
    create,
    encode_all,
    rrset,
    store,
)
from tests.dnspanel.publish.reading.test_prepared import NAMES, anew, content_of, prepare, publish_zones

pytestmark = pytest.mark.django_db(transaction=True)

During = Callable[[Callable[[], object]], None]


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> During:
    """Return a function that takes steps. While the store applies a piece, each step runs, then edits are encoded."""

    def call(*steps: Callable[[], object]) -> None:
        waiting = list(steps)
        real = Meanwhile.encode_edits

        def calling(meanwhile: Meanwhile) -> None:
            while waiting:
                waiting.pop(0)()
                real(meanwhile)

        monkeypatch.setattr(Meanwhile, "encode_edits", calling)

    return call


@pytest.fixture
def zones() -> tuple[Zone, Zone]:
    """Create two encoded zones, and publish a prepared piece of an import that isn't encoded yet."""
    one, two = (create(name, rrset(f"www.{name}", rdtypes.A, "192.0.2.1")) for name in ("one.test.", "two.test."))
    encode_all()
    prepare(publish_zones())
    return one, two


def address(zone: Zone, text: str) -> None:
    change(zone, rrset(f"www.{zone.name}", rdtypes.A, text))


def ranges() -> list[tuple[int, int]]:
    return list(Segment.objects.order_by("first").values_list("first", "last"))


def test_edits_of_other_zones_are_sealed_before_the_piece_is_written(during: During, zones: tuple[Zone, Zone]) -> None:
    one, two = zones
    positions = []
    during(
        lambda: address(one, "192.0.2.2"),
        lambda: positions.append((store().position(), ranges()[-1])),
        lambda: address(two, "192.0.2.3"),
    )
    reached = encode_step(now=timezone.now())
    assert [(position.sequence, newest) for position, newest in positions] == [(2, (4, 4))]
    assert reached is not None
    assert reached.sequence == 5
    assert ranges() == [(1, 2), (3, 3), (4, 4), (5, 5)]
    assert store().position() == reached
    assert not PreparedRows.objects.exists()
    assert encode_step(now=timezone.now()) is None
    assert_equal_to_postgresql()
    sealed = content_of(Segment.objects.get(last=5))
    anew()
    encode_all()
    assert content_of(Segment.objects.get(last=5))[2] == sealed[2]  # PostgreSQL alone gives the same digests


def test_a_zone_that_came_with_the_piece_is_changed_behind_it(during: During, zones: tuple[Zone, Zone]) -> None:
    during(lambda: address(Zone.objects.get(name=NAMES[3]), "192.0.2.9"))
    reached = encode_step(now=timezone.now())
    assert reached is not None
    assert reached.sequence == 3
    assert encode_all() == 1
    assert ranges()[1:] == [(3, 3), (4, 4)]
    assert_equal_to_postgresql()


def test_a_second_edit_of_a_zone_waits_for_the_first_to_be_written(during: During, zones: tuple[Zone, Zone]) -> None:
    one, two = zones
    during(
        lambda: address(one, "192.0.2.2"),
        lambda: address(one, "192.0.2.3"),
        lambda: address(two, "192.0.2.4"),  # after the piece, because segments are sealed in order
    )
    reached = encode_step(now=timezone.now())
    assert reached is not None
    assert reached.sequence == 4
    assert encode_all() == 1
    assert ranges()[1:] == [(3, 3), (4, 4), (5, 6)]
    assert_equal_to_postgresql()


@pytest.mark.parametrize("kind", ["new", "deleted", "another piece"])
def test_what_changes_which_zones_there_are_waits(during: During, zones: tuple[Zone, Zone], kind: str) -> None:
    def publish() -> None:
        if kind == "new":
            create("three.test.")
        elif kind == "deleted":
            edit.delete_zone(zone=zones[0], acting=Acting(None, "system", timezone.now()))
        else:
            more = [f"more{number}.test." for number in range(5)]
            prepare(publish_zones(more), more)

    during(publish)
    reached = encode_step(now=timezone.now())
    assert reached is not None
    assert reached.sequence == 3
    assert encode_all() == 1
    assert_equal_to_postgresql()


def test_while_publishing_is_held_nothing_is_sealed(during: During, zones: tuple[Zone, Zone]) -> None:
    def publish() -> None:
        address(zones[0], "192.0.2.2")
        hold(reason="a person looks", now=timezone.now())

    during(publish)
    encode_step(now=timezone.now())
    assert ranges()[-1] == (3, 3)
    assert store().position().sequence == 3


def test_what_cannot_be_encoded_is_left_to_the_next_step(
    during: During, zones: tuple[Zone, Zone], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> object:
        raise OSError(28, "No space left on device")

    def publish() -> None:
        address(zones[0], "192.0.2.2")
        monkeypatch.setattr(publication_log, "changes_in", refuse)

    during(publish)
    encode_step(now=timezone.now())
    assert ranges()[-1] == (3, 3)
    assert store().position().sequence == 3
    assert not Stall.objects.exists()
    assert encode_step(now=timezone.now()) is None
    assert "No space left" in Stall.objects.get().message
    monkeypatch.undo()
    assert encode_all() == 1
    assert not Stall.objects.exists()
    assert_equal_to_postgresql()


def test_a_publisher_that_ends_before_they_are_written_makes_it_good(
    during: During, zones: tuple[Zone, Zone], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Store.apply

    def ends(self: Store, segment: object, **options: object) -> object:
        if segment.first == 4:  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        return real(self, segment, **options)  # type: ignore[arg-type]

    during(lambda: address(zones[0], "192.0.2.2"))
    with monkeypatch.context() as killed:
        killed.setattr(Store, "apply", ends)
        with pytest.raises(KeyboardInterrupt):
            encode_step(now=timezone.now())
    assert ranges()[-1] == (4, 4)
    assert store().position().sequence == 3
    address(zones[1], "192.0.2.3")
    assert encode_all() == 1
    assert ranges()[1:] == [(3, 3), (4, 4), (5, 5)]
    assert_equal_to_postgresql()


def test_a_large_change_is_one_and_an_ordinary_edit_is_none(
    zones: tuple[Zone, Zone], monkeypatch: pytest.MonkeyPatch
) -> None:
    large: list[bool] = []
    real = encode.seal_batch

    def noting(batch, schema, key):  # type: ignore[no-untyped-def]
        large.append(batch.is_large)
        return real(batch, schema, key)

    monkeypatch.setattr(encode, "seal_batch", noting)
    address(zones[0], "192.0.2.2")
    encode_all()
    change(zones[1], *(rrset(f"n{number}.two.test.", rdtypes.A, "192.0.2.1") for number in range(1_000)))
    encode_all()
    assert large == [True, False, True]
