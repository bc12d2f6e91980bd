"""Tests of the publisher's signal."""

import pytest

from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.signals import segment_sealed
from tests.dnspanel.publish.encoding.test_encode import NOW, create

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_is_sent_once_per_segment_and_a_deaf_listener_stops_nothing() -> None:
    heard: list[int] = []

    def listen(schema: int, **_: object) -> None:
        heard.append(schema)
        raise RuntimeError("a bug of the listener")

    segment_sealed.connect(listen)
    try:
        create("a.test.")
        assert encode_step(now=NOW) is not None
    finally:
        segment_sealed.disconnect(listen)
    assert heard == [4]
