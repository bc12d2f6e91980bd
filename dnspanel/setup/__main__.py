"""`dnspanel setup`: make a panel in production on this machine, or repair what is not right.

Each step looks first and changes only what is missing, so a second run, or one after an interruption, is safe.
"""

import argparse
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from cryptography.fernet import Fernet

from dnspanel.setup.local_nodes import CANARY, NoNode, public_node, set_up, stop_unused_powerdns
from dnspanel.setup.local_stores import LOCAL_URL, NoDatabase, create_database
from dnspanel.setup.panel_env import PANEL_ENV, add_missing, read_env
from dnspanel.setup.proxy_site import TLS, NoProxy, fingerprint_of, reload_nginx, write_site
from dnspanel.setup.run_as_panel import USER, CommandFailed, manage
from dnspanel.setup.setup_answers import Answers, BadAnswer, ask_answers, check_answers, default_answers, read_answers

WEB_SOCKET = "/run/dnspanel/web.sock"
READY_SECONDS = 300


class NotReady(Exception):
    """An error: the panel does not become ready. The text says where to look."""


def main(arguments: list[str] | None = None) -> int:
    """Ask for or read the answers, then carry out all steps. Return the exit code: 1 for a failure, 130 if stopped."""
    options = _parser().parse_args(arguments)
    if os.geteuid() != 0:
        sys.stderr.write("Run this as root.\n")
        return 1
    is_new = not PANEL_ENV.exists()
    try:
        answers = default_answers(read_env(PANEL_ENV))
        if options.answers:
            answers = read_answers(options.answers, answers)
        elif not options.yes:
            answers = ask_answers(answers, is_new=is_new)
        check_answers(answers)
        _set_up(answers)
    except (BadAnswer, CommandFailed, NoDatabase, NoNode, NoProxy, NotReady) as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    except (EOFError, KeyboardInterrupt):
        sys.stderr.write("\nStopped. Run dnspanel setup again to continue.\n")
        return 130
    return 0


def _set_up(answers: Answers) -> None:
    _say("Secrets", _write_environment(answers))
    if read_env(PANEL_ENV).get("PANEL_DATABASE") == LOCAL_URL:
        _say("Database", create_database())
    manage("migrate", "--noinput", "--verbosity=0")
    _say("nginx", write_site(answers))
    reload_nginx()
    _say("Processes", _start())
    _wait_until_ready()
    if answers.canary == "yes":
        _say("Canary", set_up(CANARY))
    if answers.node:
        _say("Name server", set_up(public_node(answers.node_name, answers.node)))
    else:
        _say("PowerDNS", stop_unused_powerdns())
    if (TLS / "fullchain.pem").exists():
        _print(f"SHA-256 fingerprint of the panel's certificate:\n  {fingerprint_of(TLS / 'fullchain.pem')}")
    _print(f"Keep a copy of PANEL_MASTER_KEY in {PANEL_ENV} on another machine: no backup can be restored without it.")
    _print(manage("demo_welcome"))


def _write_environment(answers: Answers) -> list[str]:
    """Write the missing variables of the panel's environment, and return their names."""
    host = f"[{answers.host}]" if ":" in answers.host else answers.host
    values = {
        "PANEL_SECRET_KEY": secrets.token_urlsafe(50),
        "PANEL_MASTER_KEY": Fernet.generate_key().decode(),
        "PANEL_DATABASE": answers.database or LOCAL_URL,
        "PANEL_REDIS_URL": answers.redis,
        "PANEL_URL": f"https://{host}",
        # Loopback: the canary joins there.
        "PANEL_ALLOWED_HOSTS": f"{host},127.0.0.1,localhost",
    }
    return add_missing(PANEL_ENV, values, owner="root", group=USER)


def _start() -> list[str]:
    """Start all processes, now and at boot. systemd waits until each is ready."""
    if subprocess.run(["systemctl", "is-active", "-q", "dnspanel.target"]).returncode == 0:
        # Starts only those that are not running.
        subprocess.run(["systemctl", "enable", "-q", "dnspanel.target"])
        subprocess.run(["systemctl", "start", "dnspanel.target"])
        return []
    done = subprocess.run(["systemctl", "enable", "--now", "-q", "dnspanel.target"], capture_output=True, text=True)
    if done.returncode:
        raise NotReady(f"{done.stderr.strip()}\nThe logs: journalctl -u 'dnspanel@*'")
    return ["dnspanel.target"]


def _wait_until_ready() -> None:
    """Wait until the panel answers /readyz with 200. Raise NotReady with the last answer after READY_SECONDS."""
    deadline, answer = time.monotonic() + READY_SECONDS, "no answer"
    while time.monotonic() < deadline:
        try:
            with socket.socket(socket.AF_UNIX) as web:
                web.settimeout(10)
                web.connect(WEB_SOCKET)
                web.sendall(b"GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n")
                answer = web.makefile("r").read()
        except OSError as exc:
            answer = str(exc)
        if answer.split()[1:2] == ["200"]:
            return
        time.sleep(0.2)
    raise NotReady(f"The panel is not ready: {answer}\nThe logs: journalctl -u dnspanel@web")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dnspanel setup", description=__doc__.partition("\n")[0])
    parser.add_argument("--yes", action="store_true", help="ask nothing; use the defaults")
    parser.add_argument("--answers", type=Path, help="TOML file with the answers; ask nothing")
    return parser


def _say(step: str, done: Iterable[str]) -> None:
    _print(f"{step}: {', '.join(done) or 'unchanged'}")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
