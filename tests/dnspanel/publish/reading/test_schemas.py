"""Tests of the choice of schemas that the publisher writes."""

from typing import Any

import pytest
from django.utils import timezone

from dnspanel.publish.files.publisher import this_publisher
from dnspanel.publish.models import Segment
from dnspanel.publish.reading.schemas import keep_schemas, read_schemas, schemas_in_use, use_schema
from tests.dnspanel.publish.encoding.test_encode import create, encode_all

pytestmark = pytest.mark.django_db(transaction=True)


def test_those_of_the_settings_come_first_then_those_of_nodes(settings: Any) -> None:
    settings.SCHEMAS = [5]
    for schema in (6, 4, 6, 5):
        use_schema(schema=schema, now=timezone.now())
    assert schemas_in_use() == [5, 4, 6]
    with this_publisher().session.publishing() as conn:
        assert conn is not None
        assert read_schemas(conn) == [5, 4, 6]


def test_a_node_of_another_powerdns_makes_the_publisher_write_its_schema() -> None:
    create("example.test.")
    encode_all()
    use_schema(schema=5, now=timezone.now())
    encode_all()
    assert sorted(Segment.objects.values_list("schema", "last")) == [(4, 1), (5, 1)]


def test_what_no_node_has_any_more_is_not_written(settings: Any) -> None:
    settings.SCHEMAS = [4]
    keep_schemas(schemas={5, 6}, now=timezone.now())
    assert schemas_in_use() == [4, 5, 6]
    keep_schemas(schemas={6}, now=timezone.now())
    assert schemas_in_use() == [4, 6]
