"""Tests of audit log entries as syslog messages and OpenTelemetry records, against both standards."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from dnspanel.audit.forward.act_records import (
    LONGEST,
    Sender,
    batch,
    frame_message,
    json_line,
    log_record,
    logs_request,
    syslog_message,
)
from dnspanel.zones.audit.audit_trail import GONE, Act, document_of

AT = datetime(2026, 2, 3, 4, 5, 6, 7, tzinfo=UTC)
SENDER = Sender("panel.test", "0b6b5e0c-6a3e-4b32-9c7f-5a3f0a0a0a0a", "1.2.3")
ACT = Act(
    "entry", 77, AT, "alice", "watch", 9, "team.change", "Ours", "192.0.2.7", "req-1", {"role": "reader"}, 412,
    "ab" * 32, "dnsp_w1",
)  # fmt: skip


def test_a_message_has_the_fields_of_rfc_5424() -> None:
    head, _, rest = syslog_message(ACT, SENDER).decode("ascii").partition(" [")
    assert head == "<110>1 2026-02-03T04:05:06.000007Z panel.test dnspanel - team.change"
    structured, _, line = rest.partition("] ")
    assert structured == (
        f'dnspanel@32473 number="412" hash="{"ab" * 32}" kind="entry" id="77" action="team.change" user="alice"'
        ' token_id="9" address="192.0.2.7" request_id="req-1"'
    )
    assert json.loads(line) == document_of(ACT)
    assert json.loads(line)["actor"]["token"] == {"id": 9, "prefix": "dnsp_w1", "purpose": "watch"}
    assert frame_message(b"<110>1 -") == b"8 <110>1 -"


def test_what_is_special_in_structured_data_is_escaped_and_fields_of_the_header_are_printable() -> None:
    act = replace(ACT, user='a"b\\c]d\ne', action="team change\n" + "x" * 40)
    message = syslog_message(act, replace(SENDER, host="")).decode()
    assert 'user="a\\"b\\\\c\\]d e"' in message
    assert message.startswith("<110>1 2026-02-03T04:05:06.000007Z - dnspanel - team-change-xxxxxxxxxxxxxxxxxxxx [")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("action", "priority", "severity"),
    [("team.change", 110, 9), ("sign-in.failed", 108, 13), ("oidc.refused", 108, 13), (GONE, 106, 21)],
)
def test_what_went_wrong_is_more_severe(action: str, priority: int, severity: int) -> None:
    act = replace(ACT, action=action)
    assert syslog_message(act, SENDER).startswith(b"<%d>1 " % priority)
    assert log_record(act, AT)["severityNumber"] == severity


@pytest.mark.parametrize(
    "act",
    [
        replace(ACT, details={"long": "ü" * 20_000}),
        replace(ACT, details={"long": "ü" * 20_000}, target="ü" * 20_000, user="ü" * 150, request_id="ü" * 100),
        replace(ACT, token="ü" * 20_000, action="ü" * 20_000),
    ],
    ids=["details", "target", "everything"],
)
def test_what_is_too_long_comes_without_its_details_and_says_so(act: Act) -> None:
    message = syslog_message(act, SENDER)
    assert len(message) <= LONGEST
    line = json.loads(message.partition(b"] ")[2])
    assert line["hash"] == ACT.hash
    assert line["details"]["left_out_bytes"] == len(json.dumps(act.details))
    assert json.loads(json_line(act, LONGEST))["number"] == 412


def test_a_batch_is_bounded_by_bytes_and_never_empty() -> None:
    assert batch([10, 10, 10], 25) == 2
    assert batch([100, 1], 25) == 1
    assert batch([], 25) == 0


# opentelemetry-proto 1.x, in protobuf's JSON: the fields in camelCase, 64-bit integers as strings, enums as numbers.
ANY_VALUE = {"stringValue": str, "intValue": "int64"}
KEY_VALUE = {"key": str, "value": ANY_VALUE}
LOG_RECORD = {
    "timeUnixNano": "fixed64",
    "observedTimeUnixNano": "fixed64",
    "severityNumber": int,
    "severityText": str,
    "eventName": str,
    "body": ANY_VALUE,
    "attributes": [KEY_VALUE],
}
REQUEST = {
    "resourceLogs": [
        {
            "resource": {"attributes": [KEY_VALUE]},
            "scopeLogs": [{"scope": {"name": str, "version": str}, "logRecords": [LOG_RECORD]}],
        }
    ]
}


def hold_against(schema: Any, value: Any) -> None:
    """Check that each field is in the schema and has the schema's type."""
    if isinstance(schema, dict):
        assert isinstance(value, dict)
        assert value.keys() <= schema.keys()
        for name, each in value.items():
            hold_against(schema[name], each)
    elif isinstance(schema, list):
        assert isinstance(value, list)
        for each in value:
            hold_against(schema[0], each)
    elif isinstance(schema, str):
        assert isinstance(value, str)
        assert str(int(value)) == value
    else:
        assert type(value) is schema


def attributes(listed: list[dict[str, Any]]) -> dict[str, str]:
    return {each["key"]: next(iter(each["value"].values())) for each in listed}


def test_a_request_has_the_fields_of_otlp() -> None:
    request = json.loads(logs_request([log_record(ACT, datetime(2026, 2, 3, 4, 5, 8, tzinfo=UTC))], SENDER))
    hold_against(REQUEST, request)
    [of_resource] = request["resourceLogs"]
    assert attributes(of_resource["resource"]["attributes"]) == {
        "service.name": "dnspanel",
        "service.version": "1.2.3",
        "service.instance.id": SENDER.cluster,
        "host.name": "panel.test",
    }
    [record] = of_resource["scopeLogs"][0]["logRecords"]
    assert (record["timeUnixNano"], record["observedTimeUnixNano"]) == ("1770091506000007000", "1770091508000000000")
    assert record["eventName"] == "dnspanel.audit.team.change"
    assert json.loads(record["body"]["stringValue"]) == document_of(ACT)
    found = attributes(record["attributes"])
    assert (found["dnspanel.audit.number"], found["dnspanel.audit.hash"]) == ("412", ACT.hash)
    assert {"key": "dnspanel.audit.token_id", "value": {"intValue": "9"}} in record["attributes"]
