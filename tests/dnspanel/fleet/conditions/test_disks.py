"""Tests of alert conditions for full disks of nodes and of the panel."""

import pytest

from tests.dnspanel.condition_inputs import GIB, found, inputs, node, only


@pytest.mark.parametrize(
    ("free", "is_open", "expected"),
    [
        (10.0, False, []),
        (9.9, False, [("node.disk", "warning")]),
        (11.9, True, [("node.disk", "warning")]),
        (12.0, True, []),
        (2.9, False, [("node.disk", "critical")]),
    ],
)
def test_a_disk_that_fills_up_stays_wrong_until_it_is_clearly_better(
    free: float, is_open: bool, expected: list[tuple[str, str]]
) -> None:
    known = ("node.disk:ns1",) if is_open else ()
    assert found(inputs(node(report={"disk_free_bytes": int(free * GIB)})), *known) == expected
    panel = inputs(disk_free_bytes=int(free * GIB), disk_bytes=100 * GIB)
    assert found(panel, *(("panel.disk",) if is_open else ())) == [("panel.disk", s) for _, s in expected]


@pytest.mark.parametrize(("free", "severity"), [(9, "warning"), (2, "critical")])
def test_a_disk_without_inodes_is_as_full_as_one_without_bytes(free: int, severity: str) -> None:
    of_node = only(inputs(node(report={"disk_free_inodes": free, "disk_inodes": 100})))
    of_panel = only(inputs(disk_free_bytes=GIB, disk_bytes=GIB, disk_free_inodes=free, disk_inodes=100))
    assert (of_node.kind, of_node.severity, of_panel.kind, of_panel.severity) == (
        "node.disk",
        severity,
        "panel.disk",
        severity,
    )
    assert f"{free} free inodes ({free}.0%" in of_node.message
    assert f"{free} free inodes" in of_panel.message
    assert found(inputs(node(report={"disk_free_inodes": 0, "disk_inodes": 0}))) == [], "it makes them as it needs them"
