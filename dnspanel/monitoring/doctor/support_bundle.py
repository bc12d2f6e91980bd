"""A tar file for bug reports: the doctor's report, versions, settings and log lines, all without secrets.

Two ways keep secrets out. Values that this process knows are removed wherever they are. In log lines, which can contain
secrets of others, every word that looks random is removed too, so some harmless identifiers are lost.
"""

import io
import json
import os
import platform
import re
import tarfile
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, unquote, urlsplit

from django.conf import settings
from django.db import DatabaseError, connection

from dnspanel.monitoring.doctor.findings import Report

REMOVED = "[removed]"
LOG_LINES, LINE_LENGTH = 2_000, 2_000
# A shorter secret isn't searched for, because removing it everywhere would make the text unreadable.
SHORTEST_KNOWN = 4
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_~-]{16,}")
_CREDENTIALS = re.compile(r"://[^\s/@]+@")
_NAMED = re.compile(r"(?i)(?:password|passwd|passphrase|secret|token|cookie|authorization|api-?key)[\"']?[:=]")
# Variables whose values are shown, although their names end like those of secrets.
_SECRET_WORDS = ("KEY", "PASSWORD", "SECRET", "DATABASE", "REDIS_URL", "TOKEN", "USER")


def write_bundle(file: IO[bytes], report: Report, logs: Iterable[str]) -> None:
    """Write the tar file. `logs` are log lines, oldest first; the last LOG_LINES are written."""
    known = known_secrets()
    texts = {
        "report.txt": report.to_text(),
        "report.json": json.dumps(report.to_json(), indent=2),
        "versions.json": json.dumps(_versions(report), indent=2),
        "settings.txt": "".join(f"{name}={value}\n" for name, value in shown_settings()),
        "log.txt": "".join(f"{without_secrets(line[:LINE_LENGTH])}\n" for line in deque(logs, LOG_LINES)),
    }
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, text in texts.items():
            content = without_known(text, known).encode()
            member = tarfile.TarInfo(f"dnspanel-doctor/{name}")
            member.size, member.mtime, member.mode = len(content), int(report.at.timestamp()), 0o600
            tar.addfile(member, io.BytesIO(content))


def shown_settings() -> Iterator[tuple[str, str]]:
    """Yield the variables PANEL_* of the environment. Of secrets, only say that they are set."""
    for name, value in sorted(os.environ.items()):
        if name.startswith("PANEL_"):
            yield name, "(set)" if _is_secret(name) else _CREDENTIALS.sub(f"://{REMOVED}@", value)


def known_secrets() -> Collection[str]:
    """Return the secrets of this process: keys, passwords and their spellings in URLs. The longest come first."""
    database = settings.DATABASES["default"]
    found = {settings.SECRET_KEY, settings.MASTER_KEY, *settings.MASTER_KEYS_OLD, settings.EMAIL_HOST_PASSWORD}
    found |= {str(database["PASSWORD"]), urlsplit(settings.REDIS_URL).password or ""}
    found |= {str(value) for name, value in settings.STORAGES["segments"].get("OPTIONS", {}).items() if "_key" in name}
    for name, value in os.environ.items():
        if name.startswith("PANEL_") and _is_secret(name):
            found.add(value)
            found.add(urlsplit(value).password or "" if "://" in value else "")
    spelled = {spelling for each in found for spelling in (each, quote(each, safe=""), unquote(each))}
    return sorted((each for each in spelled if len(each) >= SHORTEST_KNOWN), key=len, reverse=True)


def without_known(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, REMOVED)
    return text


def without_secrets(line: str) -> str:
    """Return a log line without what can be a secret.

    Remove everything after a word such as `password=`, user names and passwords in URLs, and long words with digits,
    capitals or `=`: tokens, keys in Base64 or hexadecimal, cookies and one-time links.
    """
    if named := _NAMED.search(line):
        line = line[: named.end()] + REMOVED
    line = _CREDENTIALS.sub(f"://{REMOVED}@", line)
    return _OPAQUE.sub(lambda found: found[0] if _is_plain(found[0]) else REMOVED, line)


def _is_plain(word: str) -> bool:
    """Return True for words in lower case, such as the names of modules and units."""
    return not any(character.isdigit() or character.isupper() or character in "=+~" for character in word)


def _is_secret(name: str) -> bool:
    return not name.endswith("_FILE") and any(word in name for word in _SECRET_WORDS)


def _versions(report: Report) -> dict[str, Any]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT version()")
            postgresql = str((cursor.fetchone() or [""])[0])
    except DatabaseError as exc:
        postgresql = type(exc).__name__
    release = Path("/etc/os-release")
    return {
        "dnspanel": report.version,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "postgresql": postgresql,
        "system": release.read_text() if release.exists() else "",
    }
