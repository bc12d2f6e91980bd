"""The doctor names nothing on a real panel with four real name servers, and exactly the parts of it that stop."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import Stack
from tests.stack import new_stack, run_inside, until, wait_until_in_sync

pytestmark = pytest.mark.flow

# A worker that was stopped in order is named after a minute, and a new process is waited for.
NAMED_SECONDS, HEALTHY_SECONDS = 180, 240


@pytest.fixture(scope="module")
def durable() -> Iterator[Stack]:
    """Start a stack with the settings of production, because tests usually don't wait for disks."""
    with new_stack("doctor", sample_zones=False, traffic=False, durable=True) as running:
        wait_until_in_sync(running)
        yield running


def keys(stack: Stack) -> list[str]:
    report = run_inside(stack, "doctor.report")
    return sorted([each["key"] for each in report["findings"]] + [*report["unchecked"]])


def doctor(stack: Stack, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [*unprivileged.prefix(), sys.executable, "manage.py", "doctor", *options]
    return subprocess.run(command, env=stack.env, cwd=unprivileged.CHECKOUT, capture_output=True, text=True)


def no_secret_is_in_a_bundle(stack: Stack) -> None:
    """Write a bundle with the logs of all processes, and search it for each secret of the stack."""
    directory = stack.directory / "bundles"
    unprivileged.make_directory(directory)
    logs = [word for log in sorted((stack.directory / "log").iterdir()) for word in ("--log", str(log))]
    assert doctor(stack, "--bundle", str(directory / "doctor.tar"), *logs).returncode == 1
    content = (directory / "doctor.tar").read_bytes()
    assert b"panel.process" in content
    assert b"PANEL_DATABASE_FILE=" in content
    secrets = [path.read_text().strip() for path in (stack.directory / "secrets").iterdir()]
    secrets += [password for secret in secrets if (password := urlsplit(secret).password)]
    assert len(secrets) > 6
    assert [secret for secret in secrets if secret.encode() in content] == []


def test_a_healthy_stack_and_the_same_with_three_broken_parts(durable: Stack) -> None:
    found: list[str] = []

    def names(*expected: str) -> bool:
        found[:] = keys(durable)
        return found == sorted(expected)

    until(names, seconds=HEALTHY_SECONDS, what=lambda: f"nothing named, but {found}", pause=1)
    healthy = doctor(durable)
    assert (healthy.returncode, healthy.stderr) == (0, ""), healthy.stdout
    assert healthy.stdout.endswith(" checks, 0 findings, 0 not checked.\n")

    stopped = ["bulk", "ns2-pdns", "ns3-agent"]
    durable.supervisor.stop(stopped)
    expected = ("node.powerdns:ns2", "node.standing:ns3", "panel.process:bulk")
    until(lambda: names(*expected), seconds=NAMED_SECONDS, what=lambda: f"three parts, but {found}", pause=1)
    broken = doctor(durable, "--json")
    assert broken.returncode == 1
    report: Any = json.loads(broken.stdout)
    assert sorted(each["key"] for each in report["findings"]) == sorted(expected)
    (worker,) = (each for each in report["findings"] if each["id"] == "panel.process")
    assert worker["command"] == "systemctl restart dnspanel@bulk"

    no_secret_is_in_a_bundle(durable)
    durable.supervisor.start(stopped)
    until(names, seconds=HEALTHY_SECONDS, what=lambda: f"nothing named any longer, but {found}", pause=1)
