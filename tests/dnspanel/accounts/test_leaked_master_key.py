"""Tests of the runbook for a leaked master key: its commands run as processes, and one is killed midway."""

import os
import re
import signal
import subprocess
import sys

import pytest
from cryptography.fernet import Fernet
from django.conf import settings

from dnspanel.accounts.models import MasterKey
from dnspanel.accounts.secrets.master_keys import decrypts, fingerprint
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.backup.drill import url_of
from dnspanel.backup.programs import panel_database
from dnspanel.demo import unprivileged
from dnspanel.publish.models import SealingKey
from tests.docs.runbooks import command_lines_of
from tests.people import NOW

SECRETS = 3000

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.turn(3, reason="the runbook for a leaked master key, eight starts of the panel"),
]


def start(command: str, **keys: str) -> "subprocess.Popen[str]":
    """Start a command of the runbook with these keys, on the test's database."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PANEL_MASTER_KEY")}
    environment |= {"PANEL_DATABASE": url_of(panel_database()), "PYTHONUNBUFFERED": "1", **keys}
    program = command.replace("manage.py", f"{sys.executable} manage.py").replace("python -c", f"{sys.executable} -c")
    return subprocess.Popen(
        ["setpriv", "--pdeathsig=KILL", "--", "sh", "-c", f"exec {program}"],
        env=environment,
        cwd=unprivileged.CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(command: str, **keys: str) -> tuple[int, str]:
    process = start(command, **keys)
    out, _ = process.communicate(timeout=120)
    return process.returncode, out


def test_its_commands_rotate_the_key_and_go_on_after_a_kill() -> None:
    SealingKey.objects.bulk_create(
        SealingKey(pk=number, secret_encrypted=encrypt_secret(b"secret"), created_at=NOW)
        for number in range(1, SECRETS + 1)
    )
    _, make, rotate, check = command_lines_of("leaked-master-key")  # the first one is that of the package
    former, (_, out) = settings.MASTER_KEY, run(make)
    new = out.strip()
    Fernet(new)
    keys = {"PANEL_MASTER_KEY": new, "PANEL_MASTER_KEY_OLD": former}
    assert "W004" in run(check, **keys)[1]
    killed = start(rotate, **keys)
    try:
        assert killed.stdout is not None
        begun = f"new key {fingerprint(new)}, former key {fingerprint(former)}\n"
        assert begun in iter(killed.stdout.readline, "")
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
    # Without the former key nothing starts until the rotation has ended.
    assert "A rotation of the master key has not ended" in run(check, PANEL_MASTER_KEY=new)[1]
    status, out = run(rotate, **keys)
    assert status == 0, out
    assert f"publish.SealingKey.secret_encrypted: {SECRETS} found, {SECRETS} rewritten" in out
    assert f"done: {SECRETS} secrets are encrypted with the key {fingerprint(new)}" in out
    assert "W005" in run(check, **keys)[1]
    status, out = run(check, PANEL_MASTER_KEY=new)
    assert status == 0, out
    assert not re.search("E017|W004|W005", out)
    assert all(decrypts(new, bytes(key.secret_encrypted)) for key in SealingKey.objects.all())
    assert MasterKey.objects.get().former == ""
    assert run(check, PANEL_MASTER_KEY=former)[0] != 0
