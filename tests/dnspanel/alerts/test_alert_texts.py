"""Tests of alert texts for people and programs, with equal alerts as one line (`alerts.alert_lines`)."""

import json
from datetime import timedelta

from dnspanel.alerts.alert_texts import payload_of, subject_of, text_of
from dnspanel.alerts.models import Alert, Message
from dnspanel.conditions import Severity
from dnspanel.texts import gettext, speaking
from tests.people import NOW

URL = "https://panel.test"


def message(number: int = 1, *, severity: Severity = Severity.WARNING, is_over: bool = False) -> Message:
    over_at = NOW + timedelta(minutes=9) if is_over else None
    alert = Alert(
        pk=number,
        key=f"node.standing:ns{number}",
        kind="node.late",
        severity=severity,
        over_at=over_at,
        sentence=f"ns{number} is late",
        since=NOW + timedelta(seconds=number),
        seen_at=NOW,
    )
    return Message(pk=number * 10 + is_over, alert=alert, is_over=is_over)


def test_one_alert_is_its_own_subject() -> None:
    assert subject_of([message()]) == "[dnspanel] ns1 is late"
    assert subject_of([message(is_over=True)]) == "[dnspanel] Resolved: ns1 is late"
    long = message()
    assert long.alert is not None
    long.alert.sentence = "x" * 500
    assert len(subject_of([long])) < 140


def test_a_hundred_nodes_are_one_subject_and_a_text_that_can_be_read() -> None:
    many = [message(n, severity=Severity.CRITICAL if n == 77 else Severity.WARNING) for n in range(1, 101)]
    assert subject_of(many) == "[dnspanel] 100 alerts (1 critical)"
    text = text_of(many, panel_url=URL)
    assert text.startswith("100 open problems:\n- critical: ns77 is late\n  2026-11-21 12:01:17 UTC\n")
    assert (
        "- warning: Node is late (×99)\n  first at 2026-11-21 12:00:01, last at 2026-11-21 12:01:40 UTC\n"
        "  ns1 is late\n  ns2 is late\n  ns3 is late\n  and 96 more\n"
    ) in text
    assert subject_of(many[:3]) == "[dnspanel] Node is late (×3)"
    ended = [message(n, is_over=True) for n in (1, 2)]
    assert subject_of(ended) == "[dnspanel] Resolved: Node is late (×2)"
    assert "- warning: Node is late (×2)\n  2026-11-21 12:00:01 to 2026-11-21 12:09:00 UTC\n" in text_of(
        ended, panel_url=URL
    )
    for each in many:
        assert each.alert is not None
        each.alert.kind = f"node.{each.pk}"
    assert "- and 50 more\n" in text_of(many, panel_url=URL)
    assert text.endswith("All open alerts: https://panel.test/alerts/\n")


def test_what_began_and_ended_before_anybody_was_told_is_told_once_as_over() -> None:
    told = [message(1), message(1, is_over=True), message(2)]
    assert subject_of(told) == "[dnspanel] 1 alert, 1 resolved"
    text = text_of(told, panel_url=URL)
    assert text.count("ns1 is late") == 1
    assert "1 resolved problem:\n- warning: ns1 is late\n  2026-11-21 12:00:01 to 2026-11-21 12:09:00 UTC" in text


def test_a_test_says_that_it_is_one() -> None:
    test = [Message(pk=1)]
    assert subject_of(test) == "[dnspanel] Test message"
    assert "No action is needed" in text_of(test, panel_url=URL)
    assert json.loads(payload_of(test, now=NOW)) == {
        "event": "test",
        "timestamp": "2026-11-21T12:00:00.000Z",
        "data": {"raised": [], "over": []},
    }


def test_a_webhook_gets_facts_that_programs_can_use() -> None:
    body = json.loads(payload_of([message(1), message(2, is_over=True)], now=NOW))
    assert body["event"] == "alerts"
    assert body["data"]["raised"] == [
        {
            "id": 1,
            "key": "node.standing:ns1",
            "kind": "node.late",
            "severity": "warning",
            "sentence": "ns1 is late",
            "since": "2026-11-21T12:00:01.000Z",
            "over_at": None,
        }
    ]
    assert body["data"]["over"][0]["over_at"] == "2026-11-21T12:09:00.000Z"


def test_a_mail_speaks_the_language_of_the_moment() -> None:
    many = [message(1, severity=Severity.CRITICAL), message(2)]
    assert many[1].alert is not None
    many[1].alert.sentence = gettext("{name} doesn’t have an address.").format(name="ns2")
    with speaking("de"):
        assert subject_of(many) == "[dnspanel] 2 Alarme (1 kritisch)"
        text = text_of(many, panel_url=URL)
        assert subject_of(many[1:]) == "[dnspanel] ns2 hat keine Adresse."
    assert text.startswith("2 offene Probleme:\n- kritisch: ns1 is late\n")
    assert "- Warnung: ns2 hat keine Adresse.\n" in text
    assert json.loads(payload_of(many, now=NOW))["data"]["raised"][1]["sentence"] == "ns2 doesn’t have an address."
