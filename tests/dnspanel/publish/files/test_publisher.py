"""Tests of the files and keys that a publisher process keeps open."""

from pathlib import Path
from uuid import UUID

import pytest
from django.utils import timezone

from dnspanel.publish.files.publisher import store_path, this_publisher

CLUSTER = UUID(int=1)


def test_a_process_has_one_publisher_and_one_store_per_schema() -> None:
    publisher = this_publisher()
    assert this_publisher() is publisher
    assert publisher.store(4, CLUSTER) is publisher.store(4, CLUSTER)
    assert publisher.store(5, CLUSTER).schema.number == 5
    publisher.close()


def test_files_put_in_place_of_the_open_ones_are_opened(publisher_directory: Path) -> None:
    publisher = this_publisher()
    first = publisher.store(4, CLUSTER)
    directory = store_path(publisher.directory, 4).parent
    directory.rename(publisher_directory / "old")
    assert publisher.store(4, CLUSTER) is not first


@pytest.mark.django_db
def test_the_signing_key_is_read_once(django_assert_num_queries: object) -> None:
    publisher = this_publisher()
    key = publisher.signing_key(now=timezone.now())
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert publisher.signing_key(now=timezone.now()) is key
