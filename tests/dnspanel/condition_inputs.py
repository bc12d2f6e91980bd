"""Sample inputs for tests of conditions. `inputs` gives each keyword to the input class that has such a field."""

from dataclasses import fields
from datetime import timedelta
from typing import Any

from dnspanel.alerts.alert_rules import conditions
from dnspanel.alerts.panel_conditions import PanelInputs
from dnspanel.audit.forward.conditions import EvidenceInputs
from dnspanel.backup.conditions import BackupInputs
from dnspanel.catalogs.conditions import CatalogInputs
from dnspanel.conditions import Condition, Reading
from dnspanel.fleet.conditions.condition_inputs import FleetInputs, NodeInputs
from dnspanel.fleet.node_health import Health, Word
from dnspanel.fleet.rollout.waiting_publications import Place, Waiting
from dnspanel.publish.conditions import PublishInputs
from dnspanel.secondaries.conditions import SecondaryInputs
from dnspanel.zones.conditions import LogInputs
from tests.people import NOW

WELL = Health(Word.LIVE, "It answers with everything.", 0, 0.0)
GIB = 1 << 30
KEYWORDS = (
    LogInputs,
    PublishInputs,
    FleetInputs,
    SecondaryInputs,
    CatalogInputs,
    EvidenceInputs,
    BackupInputs,
    PanelInputs,
)


def node(name: str = "ns1", **inputs: Any) -> NodeInputs:
    report = {"disk_free_bytes": 50 * GIB, "disk_bytes": 100 * GIB, "map_used": 0.1, "oldest_reader": 0, "unserved": ""}
    report |= inputs.pop("report", {})
    given = {"node_id": 1, "name": name, "state": "active", "health": WELL, "report": report, **inputs}
    return NodeInputs(**given)


def inputs(*nodes: NodeInputs, **more: Any) -> Reading:
    others = [more.pop("transfers")] if "transfers" in more else []
    return reading(*others, nodes=nodes, **{"collector_at": NOW, **more})


def reading(*others: object, **given: Any) -> Reading:
    known = {kind: {field.name for field in fields(kind)} & given.keys() for kind in KEYWORDS}
    assert given.keys() <= {name for names in known.values() for name in names}
    return Reading(*others, *(kind(**{name: given[name] for name in names}) for kind, names in known.items()))


def found(reading: Reading, *is_open: str) -> list[tuple[str, str]]:
    return [(condition.kind, condition.severity) for condition in conditions(reading, NOW, is_open=is_open)]


def only(reading: Reading, *is_open: str) -> Condition:
    [condition] = conditions(reading, NOW, is_open=is_open)
    return condition


def health(word: Word, seconds: float = 0.0) -> Health:
    return Health(word, "Sequence 3 of 9.", 6, seconds)


def ago(**time: float) -> Any:
    return NOW - timedelta(**time)


def waiting(place: Place, seconds: int, name: str = "", **more: Any) -> Waiting:
    return Waiting(7, ago(seconds=seconds), place, name, **more)
