"""Tests of event texts for people."""

import json
from typing import Any

from dnspanel.texts import gettext, speaking
from dnspanel.webhooks.messages import Line, chat_body, line_of, lines_of, mail_text, subject_of

URL = "https://panel.test/publications/7/"
EVIL = "<!channel> @all [x](https://evil.test) *b* & `c`"


def saved(*names: str, count: int = 0, **facts: Any) -> dict[str, Any]:
    zones = [{"zone": name, "added": 1, "changed": 0, "removed": 1} for name in names]
    return {"zones": zones, "zone_count": count or len(zones), "actor": by("alice"), "reason": ""} | facts


def by(user: str | None, purpose: str = "") -> dict[str, Any]:
    return {"user": user, "token": {"purpose": purpose} if purpose else None}


def test_a_publication_is_a_sentence() -> None:
    assert line_of("publication.saved", saved("a.test.")).text == "alice changed 2 RRsets in a.test."
    many = line_of("publication.saved", saved("a.test.", "b.test.", "c.test.", "d.test.", count=2000)).text
    assert many == "alice changed a.test., b.test., c.test. and 1,997 more zones."
    by_token = line_of(
        "publication.saved", saved("a.test.", actor=by("alice", "CI"), reason="moved to a new rack")
    ).text
    assert by_token == "alice changed 2 RRsets in a.test. with the token “CI”: moved to a new rack"
    assert line_of("publication.saved", saved("a.test.", reason="x" * 5000)).text.endswith(f": {'x' * 300}…")
    assert line_of("publication.saved", saved("a.test.", actor=by(None))).text.startswith("The panel changed ")


def test_what_was_taken_back_says_why() -> None:
    facts = saved("a.test.", sequence=7, taken_back={"reason": "PowerDNS answers SERVFAIL."})
    assert line_of("publication.taken_back", facts).text == (
        "Publication 7 of a.test. was reverted because nodes couldn’t serve it. PowerDNS answers SERVFAIL."
    )
    facts["taken_back"]["reason"] = ""
    assert line_of("publication.taken_back", facts).text.endswith("nodes couldn’t serve it.")


def test_equal_alerts_are_one_line_with_a_number() -> None:
    late = [{"kind": "node.late", "severity": "warning", "sentence": f"ns{number} is late"} for number in (1, 2, 3)]
    told = {"kind": "panel.failed", "severity": "info", "sentence": "Publication 7 was reverted"}
    lines = lines_of([("alert.raised", facts, URL) for facts in (late[0], told, *late[1:])])
    assert [line.text for line in lines] == [
        "Warning: Node is late (×3).",
        "Information: Publication 7 was reverted.",
    ]


def test_what_others_wrote_calls_nobody_and_links_to_nothing() -> None:
    lines = [Line(EVIL, URL), Line("second")]
    slack = json.loads(chat_body("slack", lines))["text"]
    assert slack.splitlines()[0] == (
        f"&lt;!channel&gt; @all [x](https://evil.test) *b* &amp; `c` <{URL}|Open in the panel>"
    )
    mattermost = json.loads(chat_body("mattermost", lines))["text"]
    assert mattermost.splitlines() == [
        f"- \\<\\!channel\\> @\u200ball \\[x\\]\\(https://evil.test\\) \\*b\\* & \\`c\\` [Open in the panel]({URL})",
        "- second",
    ]
    [attachment] = json.loads(chat_body("teams", lines))["attachments"]
    assert [block["text"] for block in attachment["content"]["body"]] == [
        line.removeprefix("- ") for line in mattermost.splitlines()
    ]


def test_a_mail_says_how_it_is_stopped() -> None:
    lines = [Line("alice changed a.test.", URL), Line("bob changed b.test.")]
    assert subject_of(lines[:1]) == "[dnspanel] alice changed a.test."
    assert subject_of(lines) == "[dnspanel] 2 events, starting with: alice changed a.test."
    text = mail_text(lines, settings_url="https://panel.test/webhooks/1/", stop_url="https://panel.test/stop-mails/k/")
    assert text.startswith(f"alice changed a.test.\n{URL}\n\nbob changed b.test.\n\n-- \n")
    assert text.endswith("Stop these emails: https://panel.test/stop-mails/k/\n")


def test_a_sentence_speaks_the_language_of_who_gets_it() -> None:
    late = gettext("The node is retired.")
    node = {"node": "ns<1>", "state": "live", "was": "offline", "sentence": late}
    with speaking("de"):
        assert line_of("publication.saved", saved("a.test.", actor=by("alice", "{CI}"))).text == (
            "alice hat 2 RRsets in a.test. mit dem Token „{CI}“ geändert."
        )
        told = line_of("node.state", node)
        assert told.text.startswith("Knoten ns<1>: ")
        assert told.text.endswith("Der Knoten ist ausgemustert.")
        assert "[Im Panel öffnen]" in json.loads(chat_body("mattermost", [Line(told.text, URL)]))["text"]
        assert "abbestellen: https://x.test/" in mail_text([told], settings_url="", stop_url="https://x.test/")
    assert line_of("node.state", node).text == "Node ns<1> is live (previously offline). The node is retired."
