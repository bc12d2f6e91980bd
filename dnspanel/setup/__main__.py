"""`dnspanel setup`: make a panel in production on this machine, or repair what is not right.

Each step looks first and changes only what is missing, so a second run, or one after an interruption, is safe.
"""

import argparse
import os
import secrets
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from cryptography.fernet import Fernet

from dnspanel.setup.errors import SetupFailed
from dnspanel.setup.local_nodes import CANARY, public_node, set_up, stop_unused_powerdns
from dnspanel.setup.local_stores import LOCAL_URL, create_database, create_redis
from dnspanel.setup.panel_env import PANEL_ENV, missing_in, read_env, set_variables
from dnspanel.setup.proxy_certificate import (
    NAMES,
    TLS,
    fingerprint_of,
    is_from_acme,
    obtain_certificate,
    place_certificate,
)
from dnspanel.setup.proxy_site import reload_nginx, write_site
from dnspanel.setup.run_as_panel import USER, manage
from dnspanel.setup.setup_answers import (
    ACME,
    LOCAL_REDIS,
    QUESTIONS,
    Answers,
    ask_answers,
    check_answers,
    default_answers,
    read_answers,
    url_host,
)
from dnspanel.setup.system_units import start_processes


def main(arguments: list[str] | None = None) -> int:
    """Ask for or read the answers, then carry out all steps. Return the exit code: 1 for a failure, 130 if stopped."""
    options = _parser().parse_args(arguments)
    if os.geteuid() != 0:
        sys.stderr.write("Run this as root.\n")
        return 1
    is_new = not PANEL_ENV.exists()
    try:
        answers = default_answers(read_env(PANEL_ENV), certificate=ACME if is_from_acme() else "")
        given = {name: value for name in QUESTIONS if (value := getattr(options, name)) is not None}
        answers = replace(answers, **given)
        if options.answers:
            answers = read_answers(options.answers, answers)
        elif not (options.yes or given):
            answers = ask_answers(answers, is_new=is_new)
        check_answers(answers)
        _set_up(answers, options.restore)
    except SetupFailed as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    except (EOFError, KeyboardInterrupt):
        sys.stderr.write("\nStopped. Run dnspanel setup again to continue.\n")
        return 130
    return 0


def _set_up(answers: Answers, archive: Path | None) -> None:
    former = default_answers(read_env(PANEL_ENV)).host
    settings = _write_environment(answers)
    _say("Settings", settings)
    environment = read_env(PANEL_ENV)
    if environment.get("PANEL_DATABASE") == LOCAL_URL:
        _say("Database", create_database())
    if environment.get("PANEL_REDIS_URL") == LOCAL_REDIS:
        _say("Redis", create_redis())
    if archive:
        with archive.open("rb") as file:
            _print(manage("restore", "-", stdin=file))
    manage("migrate", "--noinput", "--verbosity=0")
    _say("Certificate", place_certificate(answers))
    _say("nginx", write_site(answers.host, former))
    reload_nginx()
    if answers.certificate == ACME:
        _say("ACME", obtain_certificate(answers))
        reload_nginx()
    _say("Processes", start_processes(with_new_settings=bool(settings)))
    if answers.canary == "yes":
        _say("Canary", set_up(CANARY))
    if answers.node:
        _say("Name server", set_up(public_node(answers.node_name, answers.node)))
    else:
        _say("PowerDNS", stop_unused_powerdns())
    _print(f"SHA-256 fingerprint of the panel's certificate:\n  {fingerprint_of(TLS / NAMES[0])}")
    _print(f"Keep a copy of PANEL_MASTER_KEY in {PANEL_ENV} on another machine: no backup can be restored without it.")
    _print(manage("demo_welcome"))


def _write_environment(answers: Answers) -> list[str]:
    """Write the missing settings, and those whose answer is another now. Return their names."""
    environment = read_env(PANEL_ENV)
    values, former = _settings_of(answers), _settings_of(default_answers(environment))
    changed = {name: value for name, value in values.items() if value != former[name]}
    keys = {"PANEL_SECRET_KEY": secrets.token_urlsafe(50), "PANEL_MASTER_KEY": Fernet.generate_key().decode()}
    return set_variables(PANEL_ENV, missing_in(environment, keys | values) | changed, owner="root", group=USER)


def _settings_of(answers: Answers) -> dict[str, str]:
    return {
        "PANEL_DATABASE": answers.database or LOCAL_URL,
        "PANEL_REDIS_URL": answers.redis,
        "PANEL_URL": f"https://{url_host(answers.host)}",
        # Loopback: the canary joins there.
        "PANEL_ALLOWED_HOSTS": f"{url_host(answers.host)},127.0.0.1,localhost",
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dnspanel setup", description=__doc__.partition("\n")[0])
    parser.add_argument("--yes", action="store_true", help="ask nothing; use the defaults")
    parser.add_argument("--answers", type=Path, help="TOML file with the answers; ask nothing")
    parser.add_argument("--restore", type=Path, help="archive of a backup, for an empty database")
    for name, question in QUESTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", help=f"{question}; ask nothing")
    return parser


def _say(step: str, done: Iterable[str]) -> None:
    _print(f"{step}: {', '.join(done) or 'unchanged'}")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
