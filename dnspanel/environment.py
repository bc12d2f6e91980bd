"""Read environment variables by type, and raise ImproperlyConfigured for invalid values."""

import os
from ipaddress import ip_network
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from dnspanel.accounts.quotas.quota_amounts import Kind, parse_quotas


def envstr(name: str, default: str | None = None) -> str:
    """Return the variable, or the default. Raise ImproperlyConfigured if both are missing."""
    value = os.environ.get(name, default)
    if value is None:
        raise ImproperlyConfigured(f"Set the environment variable {name}.")
    return value


def envbool(name: str, *, default: bool) -> bool:
    value = envstr(name, "yes" if default else "no").strip().lower()
    if value not in {"yes", "no", "true", "false", "1", "0"}:
        raise ImproperlyConfigured(f"{name} must be yes or no, not {value!r}.")
    return value in {"yes", "true", "1"}


def envlist(name: str, default: str) -> list[str]:
    return [item.strip() for item in envstr(name, default).split(",") if item.strip()]


def envnumbers(name: str, default: str) -> list[int]:
    try:
        return [int(item) for item in envlist(name, default)]
    except ValueError as exc:
        raise ImproperlyConfigured(f"{name} must be whole numbers with commas between them.") from exc


def envnetworks(name: str, default: str) -> list[str]:
    try:
        return [str(ip_network(item)) for item in envlist(name, default)]
    except ValueError as exc:
        raise ImproperlyConfigured(f"{name} must be networks with commas between them: {exc}.") from exc


def envquotas(name: str, default: str) -> dict[Kind, int | None]:
    """Return the default quotas, overridden by the quotas in the variable."""
    try:
        return parse_quotas(envstr(name, ""), parse_quotas(default, {}))
    except ValueError as exc:
        raise ImproperlyConfigured(f"{name}: {exc}") from exc


def envseconds(name: str, default: str) -> dict[str, float]:
    """Return the default seconds for each kind, overridden by the seconds in the variable."""
    seconds = dict(_kind_and_seconds(name, item) for item in default.split(","))
    for kind, value in (_kind_and_seconds(name, item) for item in envlist(name, "")):
        if kind not in seconds:
            raise ImproperlyConfigured(f"{name}: there is no kind {kind}, only {', '.join(seconds)}.")
        seconds[kind] = value
    return seconds


def _kind_and_seconds(name: str, item: str) -> tuple[str, float]:
    kind, _, typed = item.partition("=")
    try:
        seconds = float(typed)
    except ValueError as exc:
        raise ImproperlyConfigured(f"{name} must be like read=30,search=5, not {item!r}.") from exc
    if not 0 <= seconds < 1_000_000:  # PostgreSQL counts milliseconds in 31 bits
        raise ImproperlyConfigured(f"{name}: {kind} must be from 0 to 999,999 seconds.")
    return kind.strip(), seconds


def envsecret(name: str, default: str | None = None) -> str:
    """Return the secret in the file that the variable `name`_FILE names, if set, or else in the variable `name`."""
    path = os.environ.get(f"{name}_FILE")
    if path is None:
        return envstr(name, default)
    try:
        return Path(path).read_text().strip()
    except OSError as exc:
        raise ImproperlyConfigured(f"{name}_FILE: cannot read {path}: {exc.strerror}.") from exc
