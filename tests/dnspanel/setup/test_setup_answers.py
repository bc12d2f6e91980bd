"""The answers of `dnspanel setup`: defaults, questions, files, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from dnspanel.setup.errors import SetupFailed
from dnspanel.setup.setup_answers import (
    ACME,
    LOCAL_REDIS,
    Answers,
    ask_answers,
    check_answers,
    default_answers,
    read_answers,
)

ANSWERS = Answers("dns.example.net")


def test_an_installed_panel_keeps_its_name_and_its_stores() -> None:
    environment = {
        "PANEL_URL": "https://dns.example.net",
        "PANEL_DATABASE": "postgresql://x",
        "PANEL_REDIS_URL": "redis://y",
    }
    known = default_answers(environment)
    assert (known.host, known.database, known.redis) == ("dns.example.net", "postgresql://x", "redis://y")
    assert default_answers({}).redis == LOCAL_REDIS


def test_only_questions_that_matter_are_asked() -> None:
    questions: list[str] = []

    def enter(question: str) -> str:
        questions.append(question)
        return "192.0.2.1" if "name server on this machine" in question else ""

    assert ask_answers(ANSWERS, is_new=True, ask=enter) == replace(ANSWERS, node="192.0.2.1")
    assert [question.partition(" ")[0] for question in questions] == ["Host", "URL", "PEM", "Address", "Short,"]
    enter_acme = {"PEM": ACME, "Mail": "a@b.test"}
    given = ask_answers(ANSWERS, is_new=True, ask=lambda question: enter_acme.get(question.partition(" ")[0], ""))
    assert given == replace(ANSWERS, certificate=ACME, mail="a@b.test")
    assert ask_answers(ANSWERS, is_new=False, ask=lambda question: "") == ANSWERS


def test_a_file_answers_the_questions(tmp_path: Path) -> None:
    path = tmp_path / "answers.toml"
    path.write_text('host = "panel.example.net"\nnode = "192.0.2.1"\n')
    assert read_answers(path, ANSWERS) == replace(ANSWERS, host="panel.example.net", node="192.0.2.1")


@pytest.mark.parametrize("text", ['hosts = "x"', "host = 1", "host"])
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "answers.toml"
    path.write_text(text)
    with pytest.raises(SetupFailed, match=r"answers\.toml"):
        read_answers(path, ANSWERS)
    with pytest.raises(SetupFailed, match="cannot be read"):
        read_answers(tmp_path / "missing", ANSWERS)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"host": ""}, "host"),
        ({"host": "a b"}, "host"),
        ({"host": "a;b"}, "host"),
        ({"certificate": "/x"}, "certificate and key: enter"),
        ({"certificate": "/x", "key": "/y"}, "not a file"),
        ({"certificate": ACME, "key": "/y"}, "certificate and key: enter"),
        ({"node": "ns1.example.net"}, "not an IP address"),
        ({"canary": "maybe"}, "canary"),
    ],
)
def test_answers_that_cannot_be_right_are_refused(changed: dict[str, str], named: str) -> None:
    check_answers(ANSWERS)
    with pytest.raises(SetupFailed, match=named):
        check_answers(replace(ANSWERS, **changed))
