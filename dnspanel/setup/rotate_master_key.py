"""`dnspanel rotate-master-key`: encrypt every secret with a new master key, and restart the panel for it."""

import os
import sys

from cryptography.fernet import Fernet

from dnspanel.setup.errors import SetupFailed
from dnspanel.setup.panel_env import PANEL_ENV, read_env, set_variables
from dnspanel.setup.run_as_panel import USER, manage
from dnspanel.setup.system_units import start_processes

FORMER_KEYS = PANEL_ENV.with_name("former-master-keys")


def main() -> int:
    """Rotate the key, or continue a rotation that was interrupted. Return the exit code."""
    if os.geteuid() != 0:
        sys.stderr.write("Run this as root.\n")
        return 1
    try:
        _rotate()
    except SetupFailed as exc:
        sys.stderr.write(f"{exc}\nTo continue, run dnspanel rotate-master-key again.\n")
        return 1
    return 0


def _rotate() -> None:
    """Start all processes with both keys, encrypt, and start all processes with the new key only."""
    environment = read_env(PANEL_ENV)
    if "PANEL_MASTER_KEY" not in environment:
        raise SetupFailed(f"PANEL_MASTER_KEY is not in {PANEL_ENV}. The steps by hand: leaked-master-key.md.")
    if "PANEL_MASTER_KEY_OLD" not in environment:
        former = environment["PANEL_MASTER_KEY"]
        with open(os.open(FORMER_KEYS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a") as file:
            file.write(f"{former}\n")
        _set(PANEL_MASTER_KEY=Fernet.generate_key().decode(), PANEL_MASTER_KEY_OLD=former)
    start_processes(with_new_settings=True)
    sys.stdout.write(manage("rotate_master_key") + "\n")
    _set(PANEL_MASTER_KEY_OLD=None)
    start_processes(with_new_settings=True)
    sys.stdout.write(
        f"The panel runs with the new key. Keep a copy of PANEL_MASTER_KEY in {PANEL_ENV} on another machine, and make"
        f" a backup. Older backups need the last key in {FORMER_KEYS}.\n"
    )


def _set(**variables: str | None) -> None:
    set_variables(PANEL_ENV, variables, owner="root", group=USER)


if __name__ == "__main__":
    raise SystemExit(main())
