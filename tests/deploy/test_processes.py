"""Start scripts and configurations name only modules and management commands that exist."""

import re

import pytest
from django.core.management import get_commands

from tests.docs.documents import ROOT, has_name

FILES = (
    "Procfile",
    "Dockerfile",
    "docker-compose.yml",
    "dnspanel/demo/container/node.sh",
    "dnspanel/demo/container/supervisord.conf",
    "replication/agent/units/dnspanel-agent.service",
    "deploy/debian/programs/dnspanel",
    "deploy/debian/programs/dnspanel-doctor",
    "deploy/debian/programs/dnspanel-manage",
    "deploy/debian/programs/dnspanel-setup",
    "deploy/debian/programs/run-agent",
    "deploy/debian/programs/run-front",
    "dev",
)


@pytest.mark.parametrize("name", FILES)
def test_processes_are_started_from_modules_and_commands_that_exist(name: str) -> None:
    text = (ROOT / name).read_text()
    modules = set(re.findall(r"\b((?:dnspanel|replication)(?:\.[a-z_]+)+)\b", text)) - {"dnspanel.conf"}
    commands = set(re.findall(r"manage\.py[\", ]+([a-z_]+)", text))
    copied = re.findall(r"^COPY (?!--)(\S+)", text, re.MULTILINE)
    assert sorted(module for module in modules if not has_name(module) and not (ROOT / module).exists()) == []
    assert sorted(commands - set(get_commands())) == []
    assert [file for file in copied if not (ROOT / file).exists()] == []
