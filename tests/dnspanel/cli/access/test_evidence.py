"""Tests of `dnspanel evidence`."""

from pathlib import Path

import pytest

from dnspanel.audit.forward.deliver_acts import target_of
from dnspanel.audit.forward.models import Destination
from tests.dnspanel.audit.forward.conftest import at_home as at_home
from tests.dnspanel.cli.access.test_directories import token as token
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.webhooks.receiver import Receiver


@pytest.mark.usefixtures("at_home")
def test_a_destination_is_added_tested_rotated_switched_and_deleted(run: Run, token: str, tmp_path: Path) -> None:
    assert "stays in the panel" in run("evidence", "list", token=token).err
    headers = tmp_path / "headers"
    headers.write_text("Authorization: Bearer first\n")
    with Receiver() as receiver:
        added = ("evidence", "add", "SIEM", "otlp", receiver.url, "--headers-file", str(headers), "--output", "json")
        made = run(*added, token=token)
        assert made.code == 0, made.err
        number = str(made.json["id"])
        assert run("evidence", "test", number, token=token).code == 0
        assert receiver.received[0].headers["authorization"] == "Bearer first"
        receiver.answer(500)
        failed = run("evidence", "test", number, token=token)
        assert (failed.code, "The receiver returned HTTP status 500" in failed.out) == (1, True)
        rotated = run("evidence", "rotate", number, "--headers-file", "-", token=token, input="X-Key: second\n")
        assert rotated.code == 0, rotated.err
        assert target_of(Destination.objects.get()).headers == {"X-Key": "second"}
        assert run("evidence", "change", number, "--name", "Logs", token=token).code == 0
        assert run("evidence", "switch", number, "off", token=token).code == 0
        listed = run("evidence", "list", token=token).out
        assert "Logs" in listed
        assert " off " in listed
        assert "would not keep" in run("evidence", "show", number, token=token).out
        run("evidence", "rotate", number, "--without-headers", token=token)
        assert target_of(Destination.objects.get()).headers == {}
    assert run("evidence", "rotate", number, token=token).code == 2, "nothing is given"
    assert run("evidence", "list").code == 1, "Erin is no administrator"
    assert run("evidence", "delete", number, token=token).code == 0
    assert run("evidence", "delete", number, token=token).code == 1
