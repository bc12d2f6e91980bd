"""Tests of publisher sessions: one publisher at a time, and the loss of the connection."""

import psycopg
import pytest
from django.db import connection

from dnspanel.publish.reading.publisher_session import Connection, Session, planned_once, reading, snapshot

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_lock_is_free_again_after_each_step() -> None:
    one, two = Session(), Session()
    for session in (one, two, one):
        with session.publishing() as conn:
            assert conn is not None
    one.close()
    two.close()


def test_a_second_session_may_wait_for_the_first_but_not_for_ever() -> None:
    one, two = Session(), Session()
    with one.publishing():
        with two.publishing() as conn:
            assert conn is None
        with two.publishing(wait_seconds=0.05) as conn:
            assert conn is None
    with two.publishing(wait_seconds=5) as conn:
        assert conn is not None
    one.close()
    two.close()


def lose_the_connection_while_publishing(session: Session, successor: Session) -> None:
    with session.publishing() as conn:
        assert conn is not None
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [conn.info.backend_pid])
        with successor.publishing(wait_seconds=5) as next_one:
            assert next_one is not None
        conn.execute("SELECT 1")


def test_a_publisher_whose_connection_is_cut_loses_its_lock_and_can_write_nothing() -> None:
    one, two = Session(), Session()
    with pytest.raises(psycopg.Error):
        lose_the_connection_while_publishing(one, two)
    with one.publishing() as conn:
        assert conn is not None
    one.close()
    two.close()


def test_a_snapshot_does_not_see_what_is_committed_meanwhile() -> None:
    session = Session()
    with session.publishing() as conn:
        assert conn is not None
        with snapshot(conn):
            before = conn.execute("SELECT sequence FROM zones_loghead").fetchone()
            with connection.cursor() as cursor:
                cursor.execute("UPDATE zones_loghead SET sequence = sequence + 1")
            assert conn.execute("SELECT sequence FROM zones_loghead").fetchone() == before
        assert conn.execute("SELECT sequence FROM zones_loghead").fetchone() != before
    session.close()


def plans(conn: Connection, statement: str) -> tuple[int, int]:
    """Return how often this connection used PostgreSQL's generic plan and custom plans for the statement."""
    row = conn.execute(
        "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE %s", (statement,)
    ).fetchone()
    return (row[0], row[1]) if row else (0, 0)


def test_the_publisher_plans_once_what_every_edit_needs_and_all_else_for_its_parameters() -> None:
    session = Session()
    with session.publishing() as conn:
        assert conn is not None
        for number in range(12):
            assert planned_once(conn).execute("SELECT 1 WHERE 5 = ANY(%s)", ([number],)).rowcount == (number == 5)
            assert conn.execute("SELECT 2 WHERE 5 = ANY(%s)", ([number],)).rowcount == (number == 5)
        assert plans(conn, "SELECT 1 WHERE%") == (11, 0)
        assert plans(conn, "SELECT 2 WHERE%") == (0, 0)
    session.close()
    with reading() as conn:
        for number in range(12):
            assert planned_once(conn).execute("SELECT 1 WHERE 5 = ANY(%s)", ([number],)).rowcount == (number == 5)
        assert plans(conn, "SELECT 1 WHERE%") == (0, 0)
