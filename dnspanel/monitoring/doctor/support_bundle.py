"""A tar file for bug reports: the doctor's report, versions, settings and log lines, all without secrets.

Two ways keep secrets out. Values that this process knows are removed wherever they are. In log lines, which can contain
secrets of others, every word that looks random is removed too, so some harmless identifiers are lost.
"""

import io
import json
import os
import platform
import re
import sys
import tarfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from django.conf import settings

from dnspanel.monitoring.doctor.findings import Report

REMOVED = "[removed]"
LOG_LINES, LINE_LENGTH = 2_000, 2_000
# Shorter texts are not searched for, because removing them everywhere would make the bundle unreadable.
SHORTEST_SECRET = 4
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_~-]{16,}")
_CREDENTIALS = re.compile(r"://[^\s/@]+@")
_NAMED = re.compile(r"(?i)(?:password|passwd|passphrase|secret|token|cookie|authorization|api-?key)[\"']?[:=]")
# The characters of long words that are no secrets, such as names of modules and units.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz/_-")
_SECRET_NAMES = ("KEY", "PASSWORD", "SECRET", "DATABASE", "REDIS_URL", "TOKEN", "USER")


def write_bundle(path: Path | None, report: Report, logs: Iterable[str]) -> None:
    """Write the tar file, or standard output if `path` is None. Only the file's owner can read it.

    `logs` are log lines, oldest first, and the last LOG_LINES are written. Raise OSError if the file can't be written.
    """
    system = f"Python {platform.python_version()}\n{platform.platform()}\n"
    texts = {
        "report.txt": report.to_text(),
        "report.json": report.to_json(),
        "settings.txt": system + "".join(f"{name}={value}\n" for name, value in displayed_settings()),
        "log.txt": "".join(f"{without_secrets(line[:LINE_LENGTH])}\n" for line in deque(logs, LOG_LINES)),
    }
    known = known_secrets()
    target = sys.stdout.fileno() if path is None else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(target, "wb", closefd=path is not None) as file, tarfile.open(fileobj=file, mode="w|") as tar:
        for name, text in texts.items():
            for secret in known:
                text = text.replace(secret, REMOVED)
            content = text.encode()
            member = tarfile.TarInfo(f"dnspanel-doctor/{name}")
            member.size, member.mtime, member.mode = len(content), int(report.at.timestamp()), 0o600
            tar.addfile(member, io.BytesIO(content))


def log_lines(paths: Iterable[str]) -> Iterator[str]:
    """Yield the lines of all logs. `-` is standard input."""
    for path in paths:
        with open(sys.stdin.fileno() if path == "-" else path, errors="replace", closefd=path != "-") as log:
            yield from (line.rstrip("\n") for line in log)


def displayed_settings() -> Iterator[tuple[str, str]]:
    """Yield the variables PANEL_* of the environment. Of secrets, only say that they are set."""
    for name, value in sorted(os.environ.items()):
        if name.startswith("PANEL_"):
            yield name, "(set)" if _is_secret(name) else _CREDENTIALS.sub(f"://{REMOVED}@", value)


def known_secrets() -> Sequence[str]:
    """Return the secrets of this process, in all spellings of URLs and of JSON. The longest come first."""
    found = {settings.SECRET_KEY, settings.MASTER_KEY, *settings.MASTER_KEYS_OLD, settings.EMAIL_HOST_PASSWORD}
    found |= {str(settings.DATABASES["default"]["PASSWORD"]), urlsplit(settings.REDIS_URL).password or ""}
    found |= {str(value) for name, value in settings.STORAGES["segments"].get("OPTIONS", {}).items() if "_key" in name}
    for name, value in os.environ.items():
        is_file = name.endswith("_FILE") and os.access(value, os.R_OK)
        if name.startswith("PANEL_"):
            text = Path(value).read_text().strip() if is_file else value
            found |= {text if _is_secret(name.removesuffix("_FILE")) else "", urlsplit(text).password or ""}
    ways = (str, quote, partial(quote, safe=""), lambda text: json.dumps(text)[1:-1])
    spelled = {spell(each) for secret in found for each in (secret, unquote(secret)) for spell in ways}
    return sorted((each for each in spelled if len(each) >= SHORTEST_SECRET), key=len, reverse=True)


def without_secrets(line: str) -> str:
    """Return a log line without what can be a secret.

    Remove everything after a word such as `password=`, user names and passwords in URLs, and long words with digits,
    capitals or `=`: tokens, keys in Base64 or hexadecimal, cookies and one-time links.
    """
    if named := _NAMED.search(line):
        line = line[: named.end()] + REMOVED
    line = _CREDENTIALS.sub(f"://{REMOVED}@", line)
    return _OPAQUE.sub(lambda found: found[0] if set(found[0]) <= _PLAIN else REMOVED, line)


def _is_secret(name: str) -> bool:
    return not name.endswith("_FILE") and any(word in name for word in _SECRET_NAMES)
