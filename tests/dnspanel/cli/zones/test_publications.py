"""Tests of `dnspanel publications`."""

import json
from typing import Any

import pytest

from dnspanel.cli.session import Session
from dnspanel.cli.zones import publications
from tests.dnspanel.cli.conftest import Run


def test_what_was_published_is_listed_with_its_zones(run: Run) -> None:
    for name in ("a.test", "b.test"):
        run("zones", "create", name, "--reason", f"for {name}")
    listed = run("publications", "list")
    assert [line.split()[0] for line in listed.out.splitlines()[1:]] == ["2", "1"]
    assert ("b.test." in listed.out, "for b.test" in listed.out, "command line" in listed.out) == (True, True, True)
    assert [row["sequence"] for row in run("publications", "list", "--limit", "1", "--output", "json").json] == [2]
    later = run("publications", "list", "--after", "0", "--limit", "1", "--output", "json").json
    assert [(row["sequence"], row["zones"][0]["zone"]) for row in later] == [(1, "a.test.")]


def test_one_is_shown_with_all_its_zones(run: Run) -> None:
    run("zones", "create", "a.test", "--reason", "new")
    displayed = run("publications", "show", "1")
    assert (displayed.code, "a.test." in displayed.out, "new" in displayed.out, "erin" in displayed.out) == (
        0,
        True,
        True,
        True,
    )
    assert run("publications", "show", "1", "--output", "json").json["zones"][0]["kind"] == "create"
    assert run("publications", "show", "9").code == 1


def test_one_whose_records_another_zone_hides_says_so(run: Run) -> None:
    for name in ("a.test", "sub.a.test"):
        run("zones", "create", name)
    run("records", "set", "a.test", "www.sub", "A", "192.0.2.1", "--ttl", "300")
    displayed = run("publications", "show", "3")
    assert displayed.code == 0
    assert "Not answered: www.sub.a.test. A of a.test., since sub.a.test. answers." in displayed.err


def test_each_is_printed_once_in_order(run: Run) -> None:
    for name in ("a.test", "b.test", "c.test"):
        run("zones", "create", name)
    watched = run("publications", "watch", "--after", "1", "--count", "2", "--output", "json")
    assert [json.loads(line)["sequence"] for line in watched.out.splitlines()] == [2, 3]
    assert "c.test." in run("publications", "watch", "--after", "2", "--count", "1").out


def test_one_is_undone(run: Run) -> None:
    run("zones", "create", "a.test")
    run("records", "set", "a.test", "www", "A", "192.0.2.1", "--ttl", "300")
    assert run("publications", "undo", "2").code == 0
    assert run("records", "list", "a.test", "--name", "www", "--output", "json").json == []


def test_a_watch_pauses_and_begins_again_after_a_restore(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def page(epoch: str, up_to: int, *sequences: int) -> dict[str, Any]:
        return {"epoch": epoch, "up_to": up_to, "items": [{"sequence": number} for number in sequences]}

    answers = [page("a", 7, 7), page("a", 7), page("a", 8, 8), page("b", 8), page("b", 3, 3), page("b", 4, 4)]
    requests: list[Any] = []

    class Panel:
        def get(self, path: str, **query: Any) -> dict[str, Any]:
            requests.append(query.get("after"))
            return answers.pop(0)

    slept: list[float] = []
    monkeypatch.setattr(publications.time, "sleep", slept.append)
    session = Session()
    session.__dict__["client"] = Panel()
    feed = publications._follow_publications(session, None)
    assert [next(feed)["sequence"] for _ in range(2)] == [8, 4]
    assert requests == [None, 6, 7, 8, None, 3]
    assert len(slept) == 1
    assert "restored from a backup" in capsys.readouterr().err
