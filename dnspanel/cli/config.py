"""Read the panel's address and the token from the command line, the environment, or a file with profiles.

    # ~/.config/dnspanel/config.toml
    url = "https://dns.example.net"
    token = "dnsp_…"

    [profiles.lab]
    url = "https://lab.example.net"
    token_file = "~/lab.token"

Later sources override earlier ones: the address of the panel that the command was downloaded from, the file,
DNSPANEL_URL and DNSPANEL_TOKEN (or DNSPANEL_TOKEN_FILE), the options of the command. A profile that is selected by name
overrides the environment. A token is sent only to the server that it is configured for.
"""

import os
import pkgutil
import stat
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

_MEMBERS = frozenset({"url", "token", "token_file"})
# Only a command that was downloaded from a panel has this file. `dnspanel.cli_file` writes it.
_BUILT_FOR = "built_for.txt"
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Config:
    """The panel's URL and the token, which together are enough to send requests."""

    url: str  # without a trailing slash
    token: str


def read_config(*, environ: Mapping[str, str], url: str | None = None, profile: str | None = None) -> Config:
    """Return the configuration from all sources.

    Raise UsageError if a setting is missing or invalid, or if the token is configured for another server. The message
    never shows the token.
    """
    path = config_path(environ)
    in_file = _in_file(path, profile)
    in_environment = {
        "url": environ.get("DNSPANEL_URL"),
        "token": environ.get("DNSPANEL_TOKEN"),
        "token_file": environ.get("DNSPANEL_TOKEN_FILE"),
    }
    sources = (in_file, in_environment) if profile else (in_environment, in_file)
    configured = next((source["url"] for source in sources if source.get("url")), "") or _built_for()
    if not (url or configured):
        raise click.UsageError(f"No panel URL configured. Set DNSPANEL_URL, or url in {path}.")
    found_url = _checked_url(url or configured)
    source, token = next(((source, found) for source in sources if (found := _token(source))), ({}, ""))
    if not token:
        raise click.UsageError(
            f"No token configured. Set DNSPANEL_TOKEN or DNSPANEL_TOKEN_FILE, or token in {path}. "
            f"To create a token: {found_url}/tokens/"
        )
    if not token.isascii() or not token.isprintable() or " " in token:
        raise click.UsageError(
            "The token contains characters that tokens do not have. Copy the full token, and nothing else."
        )
    home = source.get("url") or configured
    if home and _server(_checked_url(home)) != _server(found_url):
        raise click.UsageError(
            f"The token is configured for {home}, so it isn't sent to {found_url}. "
            "Set DNSPANEL_URL and DNSPANEL_TOKEN together, or use a profile."
        )
    return Config(found_url, token)


def config_path(environ: Mapping[str, str]) -> Path:
    """Return the path of the configuration file, which doesn't have to exist."""
    base = environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME", "~")).expanduser() / ".config"
    return Path(base) / "dnspanel" / "config.toml"


def profile_names(environ: Mapping[str, str]) -> Sequence[str]:
    """Return the names of the profiles in the configuration file, or no names if it can't be read."""
    try:
        return list(tomllib.loads(config_path(environ).read_text()).get("profiles", {}))
    except (OSError, ValueError):
        return ()


def _in_file(path: Path, profile: str | None) -> Mapping[str, Any]:
    """Return this profile's settings in the file, or no settings if the file is missing and no profile is selected.

    Raise UsageError if the profile is missing, the file is invalid, or other users can read a token in the file.
    """
    if not path.exists():
        if profile:
            raise click.UsageError(f"There is no profile {profile}: {path} does not exist.")
        return {}
    try:
        document = tomllib.loads(path.read_text())
    except (OSError, ValueError) as exc:
        raise click.UsageError(f"{path} cannot be read: {exc}.") from exc
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) and "token" in str(document):
        raise click.UsageError(f"Others can read the token in {path}: chmod 600 {path}")
    profiles = document.pop("profiles", {})
    if profile and profile not in profiles:
        raise click.UsageError(f"There is no profile {profile} in {path}; there are {', '.join(profiles) or 'none'}.")
    chosen: Mapping[str, Any] = profiles[profile] if profile else document
    if unknown := chosen.keys() - _MEMBERS:
        raise click.UsageError(f"{path}: there is no setting {', '.join(sorted(unknown))}.")
    return chosen


def _token(told: Mapping[str, Any]) -> str:
    if told.get("token"):
        return str(told["token"]).strip()
    if not told.get("token_file"):
        return ""
    path = Path(told["token_file"]).expanduser()
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise click.UsageError(f"The token file {path} cannot be read: {exc}.") from exc


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in _PORTS and parts.hostname and parts.port != 0
    except ValueError:  # the port is not a number, or an IPv6 address is invalid
        is_address = False
    if not is_address or parts.query or parts.fragment:
        raise click.UsageError(f"{url} is not the address of a panel, such as https://dns.example.net")
    if parts.username or parts.password:
        raise click.UsageError(
            "The address of the panel contains a user name or password. Remove them; the token is enough."
        )
    return url.rstrip("/")


def _server(url: str) -> tuple[str, str, int]:
    """Return the scheme, host and port of a URL, which identify the server that a token belongs to."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme]


def _built_for() -> str:
    """Return the address of the panel that this command was downloaded from, or ""."""
    try:
        return (pkgutil.get_data(__package__, _BUILT_FOR) or b"").decode()
    except OSError:
        return ""


def is_in_the_clear(url: str) -> bool:
    """Return True if the token would be sent unencrypted over a network."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return parts.scheme == "http" and host not in {"localhost", "::1"} and not host.startswith("127.")


def environment() -> Mapping[str, str]:
    """Return the environment of this process."""
    return os.environ
