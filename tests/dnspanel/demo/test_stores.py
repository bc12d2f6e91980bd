"""Tests of the private PostgreSQL and Redis: created once, completely, and with passwords."""

from pathlib import Path

import psycopg
import pytest
import redis

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import Stack, StackShape
from dnspanel.demo.stores import StoreNotReady, keep_secret


@pytest.fixture
def stack(directory: Path) -> Stack:
    return Stack(directory, StackShape(stores_only=True, durable=False))


def test_both_answer_and_keep_what_they_hold(stack: Stack) -> None:
    with stack, psycopg.connect(stack.stores.database_url) as connection:
        connection.execute("CREATE TABLE kept (n int)")
    with stack, psycopg.connect(stack.stores.database_url) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_nobody_gets_in_without_the_password(stack: Stack) -> None:
    with stack:
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(host="127.0.0.1", port=stack.ports["postgres"], user="panel", password="x", dbname="panel")
        with (
            redis.Redis(port=stack.ports["redis"]) as client,
            pytest.raises(redis.AuthenticationError),
        ):
            client.ping()


def test_a_cluster_whose_making_was_interrupted_is_made_again(stack: Stack) -> None:
    half = stack.directory / "postgres.new"
    unprivileged.make_directory(half)
    (half / "PG_VERSION").write_text("15\n")
    with stack:
        assert not half.exists()


def test_a_store_that_does_not_answer_is_named(stack: Stack) -> None:
    with stack:
        stack.supervisor.stop(["redis"])
        with pytest.raises(StoreNotReady, match=r"Redis does not answer.*redis\.log"):
            stack.stores.wait(seconds=0, logs=stack.supervisor.logs)


def test_a_secret_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "secrets" / "key"
    keep_secret(path, lambda: "first")
    keep_secret(path, lambda: "second")
    assert path.read_text() == "first"
