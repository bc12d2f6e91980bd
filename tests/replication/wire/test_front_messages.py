"""Messages between panel and front: unchanged after a round trip, and refused if dnsdist.conf would be wrong."""

import json
from typing import Any

import pytest

from replication import message_texts
from replication.errors import BadBytes
from replication.message_texts import format_text, gettext
from replication.wire.front_messages import (
    Backend,
    BackendReport,
    Endpoint,
    FrontReport,
    FrontSettings,
    Told,
    front_report_in,
    parse_endpoint,
)

SETTINGS = FrontSettings(
    (Backend("ns1", Endpoint("192.0.2.53", 53)), Backend("ns2", Endpoint("2001:db8::53", 5300), 3, "is drained")),
    minimum=2,
    behind_seconds=2.5,
    cache_entries=1000,
)
REPORT = FrontReport(
    "ab", 2, 3, (BackendReport("ns1", "192.0.2.53:53", 1, True, True, "has everything", 7, 0, 9, 1.5, 0, 0.2),), 4
)


def test_settings_come_out_as_they_went_in() -> None:
    message = json.loads(json.dumps(SETTINGS.to_json()))
    assert FrontSettings.from_json(message) == SETTINGS
    assert FrontSettings.from_json(message).digest == SETTINGS.digest
    assert FrontSettings.from_json(message | {"minimum": 1}).digest != SETTINGS.digest


@pytest.mark.parametrize(
    "changes",
    [
        {"minimum": 0},
        {"minimum": True},
        {"behind_seconds": 0.1},
        {"cache_entries": "9"},
        {"backends": "ns1"},
        {"backends": [{"name": 'n") os.exit()', "address": "192.0.2.53:53"}]},
        {"backends": [{"name": "ns1", "address": "ns1.example.test:53"}]},
        {"backends": [{"name": "ns1", "address": "192.0.2.53:53", "weight": 0}]},
        {"backends": [{"name": "ns1", "address": "192.0.2.53:53"}] * 2},
        {"backends": [{"name": f"ns{at}", "address": "192.0.2.53:53"} for at in range(65)]},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_would_not_be_right_in_dnsdist_conf_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BadBytes):
        FrontSettings.from_json(SETTINGS.to_json() | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"minimum": "2"},
        {"bypassed_zones": None},
        {"settings": 7},
        {"backends": None},
        {"backends": "ns1"},
        {"backends": [None]},
        {"backends": [{"name": "ns1"}]},
        {"backends": [REPORT.to_json()["backends"][0] | {"queries": "9"}]},
        {"backends": [REPORT.to_json()["backends"][0] | {"is_in": 1}]},
        {"backends": [REPORT.to_json()["backends"][0] | {"latency_ms": []}]},
    ],
    ids=str,
)
def test_a_report_with_a_value_of_another_type_is_refused(changes: dict[str, Any]) -> None:
    message = REPORT.to_json() | changes
    with pytest.raises(BadBytes):
        FrontReport.from_json(message)
    assert front_report_in({"front": message}) is None


@pytest.mark.parametrize("message", [[], "a", 1, None], ids=str)
def test_a_report_that_is_no_object_is_refused(message: Any) -> None:
    with pytest.raises(BadBytes):
        FrontReport.from_json(message)
    assert front_report_in({"front": message}) is None
    assert front_report_in({}) is None


def test_a_report_comes_out_as_it_went_in_and_knows_whether_enough_nodes_answer() -> None:
    found = FrontReport.from_json(json.loads(json.dumps(REPORT.to_json() | {"later": 1})))
    assert found == REPORT
    assert (found.in_rotation, found.is_below_minimum) == (1, True)
    assert not FrontReport("", 2, 0).is_below_minimum, "no nodes were named yet"


def test_a_reason_is_told_in_the_language_of_whoever_reads_it_and_older_releases_get_its_clause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Told.of(gettext("The node is drained. Reason: {drain_reason}").format(drain_reason="new disks"))
    assert told.clause == "is drained. Reason: new disks"
    assert Told.of("") == Told("", "")
    assert Told("has everything", "").sentence == "The node has everything.", "as an older agent says it"
    assert Told.of(gettext("The node lacks {what}").format(what="x" * 5000)).sentence == f"The node lacks {'x' * 494}."
    monkeypatch.setattr(message_texts, "_of_this_moment", lambda: lambda english, plural, number: f"[{english}]")
    assert told.sentence == "[The node is drained. Reason: new disks]"


def test_settings_are_the_same_to_an_agent_that_knows_no_sentences() -> None:
    spoken = format_text(gettext("The node is drained."))
    known = FrontSettings((Backend("ns1", Endpoint("192.0.2.53", 53), 1, "is drained", spoken),))
    message = known.to_json()
    assert FrontSettings.from_json(message).backends[0].sentence == "The node is drained."
    del message["backends"][0]["spoken"]
    assert FrontSettings.from_json(message).digest == known.digest
    message["backends"][0]["spoken"] = 5
    assert FrontSettings.from_json(message).backends[0].sentence == "The node is drained."


def test_an_endpoint_is_an_address_with_a_port() -> None:
    assert str(parse_endpoint("[2001:DB8::53]:53")) == "[2001:db8::53]:53"
    for text in ("192.0.2.1", "192.0.2.1:0", "192.0.2.1:٣", "host:53", None):
        with pytest.raises(ValueError, match=r"^"):
            parse_endpoint(text)
