"""Tests of the audit, which finds exactly the differences between PostgreSQL, the panel's LMDB and the nodes."""

from collections.abc import Callable
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from dnspanel.fleet import tasks
from dnspanel.fleet.integrity import lmdb_audit as module
from dnspanel.fleet.integrity.lmdb_audit import Audit, audit, differing
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.reading.schemas import schemas_in_use
from dnspanel.zones.models import RRset, Zone
from replication.codec import keys
from replication.dns import rdtypes
from replication.store.file_row import ROW_KEY
from tests.dnspanel.fleet.conftest import Served
from tests.dnspanel.publish.encoding.test_encode import change, create, rrset, store

pytestmark = pytest.mark.django_db(transaction=True)

Serve = Callable[..., Served]
WWW = "www.example.test."


@pytest.fixture
def made(served: Serve) -> Served:
    """Create two zones in PostgreSQL, in the panel's LMDB and on one node. Return the node."""
    made = served()
    create("example.test.", rrset(WWW, rdtypes.A, "192.0.2.1"))
    create("other.test.")
    deliver(made)
    return made


def deliver(made: Served) -> None:
    while encode_step(now=timezone.now()):
        pass
    tasks.push_node(made.node.pk)


def run() -> Audit:
    told: list[str] = []
    found = audit(say=told.append, pause=0.0)
    assert found is not None
    assert len([line for line in told if line.startswith("comparing ")]) == len(found.verdicts)
    return found


def lines() -> list[str]:
    out = StringIO()
    call_command("audit", stdout=out)
    return out.getvalue().splitlines()


def alter(where: object, zone: str = "example.test.") -> None:
    """Change a record directly in the store's LMDB."""
    table = where._records  # type: ignore[attr-defined]
    key = keys.record_key(Zone.objects.get(name=zone).pk, b"www\0", rdtypes.A)
    with table.env.begin(write=True) as txn:
        txn.put(key, b"wrong", db=table.tables[0])


def test_without_a_publication_there_is_nothing_to_audit() -> None:
    assert audit() is None
    assert lines() == ["Nothing was published yet."]


def test_where_everything_is_equal_every_place_says_so(made: Served) -> None:
    found = run()
    assert found.is_equal
    assert (found.sequence, found.zones) == (2, 2)
    assert [(verdict.place, verdict.note) for verdict in found.verdicts] == [
        ("the panel's LMDB of schema 4", ""),
        ("ns1", ""),
    ]
    assert lines()[1:] == ["the panel's LMDB of schema 4: equal", "ns1: equal"]


def test_a_row_altered_in_the_panels_lmdb_is_found(made: Served) -> None:
    alter(store())
    with pytest.raises(CommandError, match="rebuild_lmdb"):
        lines()
    by_place = {verdict.place: verdict.differences for verdict in run().verdicts}
    assert by_place == {"the panel's LMDB of schema 4": ["example.test. has wrong records"], "ns1": []}


def test_a_row_altered_on_a_node_is_found(made: Served) -> None:
    alter(made.agent.store)
    assert made.agent.checks == 0
    by_place = {verdict.place: verdict.differences for verdict in run().verdicts}
    assert by_place == {"the panel's LMDB of schema 4": [], "ns1": ["example.test. has wrong records"]}
    assert made.agent.checks > 0


def test_a_row_altered_in_postgresql_behind_the_log_is_found_everywhere(made: Served) -> None:
    RRset.objects.filter(zone__name="example.test.", type=rdtypes.A).update(ttl=7)
    found = run()
    assert [verdict.differences for verdict in found.verdicts] == [["example.test. has wrong records"]] * 2


def test_a_node_that_cannot_be_reached_is_named_and_is_no_difference(made: Served) -> None:
    made.agent.stop()
    found = run()
    assert found.is_equal
    assert "no connection" in found.verdicts[1].note
    assert lines()[-1].startswith("ns1: not compared: no connection")


def test_a_zone_edited_while_the_audit_runs_is_looked_at_again(made: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    expected_state, edited = module._expected_state, []

    def edit_after_the_first(only: object) -> object:
        found = expected_state(only)  # type: ignore[arg-type]
        if not edited:
            edited.append(True)
            change(Zone.objects.get(name="example.test."), rrset(WWW, rdtypes.A, "192.0.2.9"))
            deliver(made)
        return found

    monkeypatch.setattr(module, "_expected_state", edit_after_the_first)
    assert run().is_equal


def test_a_copy_that_only_lagged_is_equal_in_a_later_round(made: Served) -> None:
    [schema, *_] = schemas_in_use()
    first = module._expected_state(None)
    assert first is not None
    right = module._panel_copy(schema, first)(None)
    copies = iter([replace(right, zones={}), replace(right, zones={}), right])
    assert module._compare("ns1", schema, lambda only: next(copies), first, 0.0).differences == []


def test_a_file_whose_sum_is_wrong_is_found_though_every_zone_is_right(made: Served) -> None:
    table = store()._main
    with table.env.begin(write=True) as txn:
        row = table.row(txn)
        assert row is not None
        txn.put(ROW_KEY, replace(row, digest=row.digest + 1).encode(), db=table.own)
    assert run().verdicts[0].differences == ["the digest of the list of zones is wrong"]


def test_each_kind_of_difference_has_its_words() -> None:
    wanted = {
        1: ("a.test.", b"1"),
        2: ("b.test.", b"2"),
        3: ("c.test.", b"3"),
        4: ("d.test.", b"4"),
        5: ("e.test.", b""),
    }
    found = {2: ("x.test.", b"2"), 3: ("c.test.", b"9"), 4: ("d.test.", b""), 5: ("e.test.", b""), 9: ("f.test.", b"9")}
    assert differing(wanted, found) == {
        1: "a.test. is missing",
        2: "b.test. has the name x.test.",
        3: "c.test. has wrong records",
        4: "d.test. has not been read yet",
        9: "f.test. (zone 9) is not in PostgreSQL",
    }
