"""The questions of `dnspanel setup`, and their answers from a terminal, a file, or the installation itself."""

import socket
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from dnspanel.setup.errors import SetupFailed

LOCAL_REDIS = "unix:///run/redis-dnspanel/redis-server.sock"

# The answer `certificate` for a certificate of a certificate authority.
ACME = "acme"


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers to QUESTIONS, the URLs of Redis and ACME, and `canary` ("yes" or "no"). QUESTIONS explain "" too."""

    host: str
    database: str = ""
    redis: str = LOCAL_REDIS
    certificate: str = ""
    key: str = ""
    mail: str = ""
    acme_server: str = ""
    node: str = ""
    node_name: str = "ns1"
    canary: str = "yes"


QUESTIONS = {
    "host": "Host name or address at which browsers open the panel",
    "database": "URL of an existing PostgreSQL database; empty: create one on this machine",
    "certificate": "PEM file of the TLS certificate with its chain; acme: from Let's Encrypt; empty: a self-signed one",
    "key": "PEM file of the certificate's key",
    "mail": "Mail address for messages of Let's Encrypt; empty: none",
    "node": "Address of a name server on this machine, for example 192.0.2.1; empty: no name server here",
    "node_name": "Short, permanent name of this name server",
}


def default_answers(environment: Mapping[str, str], *, certificate: str = "") -> Answers:
    """Return the installed panel's host, stores and certificate as answers, with defaults for the other questions."""
    known = urlsplit(environment.get("PANEL_URL", "")).hostname
    return Answers(
        known or socket.getfqdn(),
        database=environment.get("PANEL_DATABASE", ""),
        redis=environment.get("PANEL_REDIS_URL", LOCAL_REDIS),
        certificate=certificate,
    )


def read_answers(path: Path, defaults: Answers) -> Answers:
    """Return the defaults with a TOML file's answers. Raise SetupFailed for an unreadable file or an invalid entry."""
    try:
        given = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise SetupFailed(f"{path} cannot be read: {exc}") from exc
    names = [field.name for field in fields(Answers)]
    for name, value in given.items():
        if name not in names or not isinstance(value, str):
            raise SetupFailed(f"{path}: {name} is not one of these names with a text: {', '.join(names)}")
    return replace(defaults, **given)


def ask_answers(defaults: Answers, *, is_new: bool, ask: Callable[[str], str] = input) -> Answers:
    """Ask the questions on the terminal (empty: the default). On an installed panel, ask only about the name server."""
    answers = defaults
    for name, question in QUESTIONS.items():
        present = getattr(answers, name)
        is_about_another = {
            "key": answers.certificate in ("", ACME),
            "mail": answers.certificate != ACME,
            "node_name": not answers.node,
        }
        if is_about_another.get(name) or (not is_new and not name.startswith("node")):
            continue
        answers = replace(answers, **{name: ask(f"{question} [{present}]: ").strip() or present})
    return answers


def check_answers(answers: Answers) -> None:
    """Raise SetupFailed if an answer is not valid."""
    if not answers.host or set(answers.host) & set(" /;{}'\"") or answers.host.startswith("-"):
        raise SetupFailed(f"host: {answers.host!r} is not a host name. Enter one such as dns.example.net.")
    files = ("" if answers.certificate == ACME else answers.certificate, answers.key)
    if bool(files[0]) != bool(files[1]):
        raise SetupFailed("certificate and key: enter both files, or neither.")
    for path in filter(None, files):
        if not Path(path).is_file():
            raise SetupFailed(f"certificate and key: {path} is not a file.")
    if answers.node and not _is_address(answers.node):
        raise SetupFailed(f"node: {answers.node!r} is not an IP address.")
    if answers.canary not in ("yes", "no"):
        raise SetupFailed(f"canary: {answers.canary!r} is neither yes nor no.")


def url_host(host: str) -> str:
    """Return the host as URLs write it: an IPv6 address is in brackets."""
    return f"[{host}]" if ":" in host else host


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
