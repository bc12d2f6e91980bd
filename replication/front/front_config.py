"""Read a front's configuration from a TOML file.

    front.toml               every key, with its default if there is one
    ---------------------    -----------------------------------------------------------------
    state_dir                the front's directory: dnsdist.conf, rotation, secrets; must belong to dnsdist's user
    listen                   addresses where queries arrive: ["192.0.2.1:53", "[2001:db8::1]:53"]
    cores = 1                listeners of each address
    minimum = 1              number of backends that stay in rotation, even if they are late
    most_behind = 0          changes that a backend can lack for any time
    behind_seconds = 1.0     how long it can lack more changes than that, 0.5 to 600
    queries_per_second = 0   limit for one address over UDP, above which it has to use TCP; 0: no limit
    cache_entries = 0        answers that dnsdist caches; 0: none, so that nothing is ever stale here
    tls_certificate = ""     for DoT, DoH, DoQ and DoH3, a PEM file with its chain; empty: none of them
    tls_key = ""
    dot_port = 853           0: no DoT
    doh_port = 443           0: no DoH
    doq_port = 853           0: no DoQ
    doh3_port = 443          0: no DoH3
    xdp_interface = ""       interface whose packets bypass the kernel (AF_XDP), if possible; empty: none
    control_port = 5199      dnsdist's console, on loopback
    api_port = 8083          dnsdist's web server, on loopback
    dnsdist = "dnsdist"      the program

    [[backends]]             one for each node
    name                     the node's name
    address                  "192.0.2.53:53"
    weight = 1               its share of queries, relative to other backends

For an enrolled front the panel sets the nodes, and all keys from `minimum` to `cache_entries`:

    identity_dir = ""        directory that `enroll` wrote; empty: a front without a panel
    panel_host = "::"        address where the agent accepts the panel's connections
    panel_port = 8534

Relative paths are relative to the directory of front.toml.
"""

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from replication.agent.agent_config import (
    CA_FILE,
    CERTIFICATE_FILE,
    KEY_FILE,
    BadConfig,
    Identity,
    read_identity,
    read_toml,
)
from replication.errors import BadBytes
from replication.wire import front_messages

MOST_LISTENERS = 64
MOST_CORES = 256
SETTINGS_FILE = "settings.json"
_MAY_BE_ZERO = ("dot_port", "doh_port", "doq_port", "doh3_port")
_PORTS = (*_MAY_BE_ZERO, "control_port", "api_port", "panel_port")
_INTERFACE = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9_.@-]{1,15}\Z")
_IDENTITY_DIR = "identity_dir"
_NOT_IN_FILE = frozenset((_IDENTITY_DIR, "enrolled", "settings_digest"))


@dataclass(frozen=True, slots=True)
class FrontConfig:
    """The configuration of one front. Paths are absolute."""

    state_dir: Path
    listen: tuple[front_messages.Endpoint, ...]
    backends: tuple[front_messages.Backend, ...]
    cores: int = 1
    minimum: int = 1
    most_behind: int = 0
    behind_seconds: float = 1.0
    queries_per_second: int = 0
    cache_entries: int = 0
    tls_certificate: str = ""
    tls_key: str = ""
    dot_port: int = 853
    doh_port: int = 443
    doq_port: int = 853
    doh3_port: int = 443
    xdp_interface: str = ""
    control_port: int = 5199
    api_port: int = 8083
    dnsdist: str = "dnsdist"
    panel_host: str = "::"
    panel_port: int = 8534
    identity_dir: Path | None = None
    enrolled: Identity | None = None
    settings_digest: str = ""  # of what the panel has set; empty: nothing

    @property
    def conf_path(self) -> Path:
        """The path of the configuration for dnsdist releases that read Lua."""
        return self.state_dir / "dnsdist.conf"

    @property
    def yaml_path(self) -> Path:
        """The path of the configuration for dnsdist releases that read YAML. Only one of the two files exists."""
        return self.state_dir / "dnsdist.yml"

    @property
    def rotation_dir(self) -> Path:
        """The directory that dnsdist reads after its Lua file. `rotation.conf` lists the backends out of rotation."""
        return self.state_dir / "rotation"

    @property
    def identity(self) -> Identity:
        """This front's identity. Raises BadConfig if the front hasn't enrolled."""
        if self.enrolled is None:
            raise BadConfig(["identity_dir is missing: run `python -m replication.front enroll` first"])
        return self.enrolled

    @property
    def key_path(self) -> Path:
        return self._identity_dir / KEY_FILE

    @property
    def certificate_path(self) -> Path:
        return self._identity_dir / CERTIFICATE_FILE

    @property
    def ca_path(self) -> Path:
        return self._identity_dir / CA_FILE

    @property
    def _identity_dir(self) -> Path:
        return self.identity_dir or self.state_dir


def read_config(path: Path) -> FrontConfig:
    """Read the configuration file. Raise BadConfig with all errors at once."""
    values = read_toml(path)
    faults: list[str] = []
    base = path.resolve().parent
    identity_dir = values.pop(_IDENTITY_DIR, "")
    if not isinstance(identity_dir, str):
        faults.append(f"{_IDENTITY_DIR} has to be text")
    taken = _simple(values, faults)
    taken["listen"] = _listen(values.get("listen"), faults)
    if identity_dir and "backends" in values:
        faults.append("the panel sets the backends of a front that enrolled")
    taken["backends"] = () if identity_dir else _backends(values.get("backends"), faults)
    if identity_dir and isinstance(identity_dir, str):
        taken["identity_dir"] = base / identity_dir
        taken["enrolled"] = read_identity(base / identity_dir, faults)
    faults += _faults_of(taken)
    if faults:
        raise BadConfig([f"{path}: {fault}" for fault in faults])
    taken["state_dir"] = base / taken["state_dir"]
    for name in ("tls_certificate", "tls_key"):
        taken[name] = str(base / taken[name]) if taken.get(name) else ""
    config = FrontConfig(**taken)
    return config if config.enrolled is None else _as_kept(config)


def with_settings(config: FrontConfig, settings: front_messages.FrontSettings) -> FrontConfig:
    """Return the configuration with the panel's settings applied."""
    numbers = {name: getattr(settings, name) for name in front_messages.RANGES}
    return replace(config, backends=settings.backends, settings_digest=settings.digest, **numbers)


def _as_kept(config: FrontConfig) -> FrontConfig:
    """Apply the panel's last settings, if any, to the configuration. Raise BadConfig if they are invalid."""
    path = config.state_dir / SETTINGS_FILE
    try:
        return (
            with_settings(config, front_messages.FrontSettings.from_json(json.loads(path.read_text())))
            if path.exists()
            else config
        )
    except (OSError, ValueError, BadBytes) as exc:
        raise BadConfig([f"{path}: {exc}"]) from exc


def _simple(values: Mapping[str, Any], faults: list[str]) -> dict[str, Any]:
    """Return the numbers and strings that have the right type, and add errors to `faults`. Paths remain strings."""
    kinds: dict[str, type] = {
        field.name: type(field.default) for field in fields(FrontConfig) if field.name not in _NOT_IN_FILE
    } | {"state_dir": str}
    taken: dict[str, Any] = {}
    for name, value in values.items():
        if name in ("listen", "backends"):
            continue
        if name not in kinds:
            faults.append(f"{name} is not a setting")
        elif kinds[name] is float and type(value) is int:
            taken[name] = float(value)
        elif type(value) is not kinds[name]:
            faults.append(f"{name} has to be {'text' if kinds[name] is str else 'a number'}")
        else:
            taken[name] = value
    if not taken.get("state_dir"):
        faults.append("state_dir is missing")
    return taken


def _listen(value: Any, faults: list[str]) -> tuple[front_messages.Endpoint, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_LISTENERS:
        faults.append(f"listen has to be a list of 1 to {MOST_LISTENERS} addresses")
        return ()
    return tuple(found for text in value if (found := _endpoint("listen", text, faults)))


def _backends(value: Any, faults: list[str]) -> tuple[front_messages.Backend, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= front_messages.MOST_BACKENDS:
        faults.append(f"backends have to be 1 to {front_messages.MOST_BACKENDS} tables")
        return ()
    found = []
    for table in value:
        if not isinstance(table, dict) or set(table) - {"name", "address", "weight"}:
            faults.append("a backend has a name, an address and a weight")
            continue
        name, weight = table.get("name"), table.get("weight", 1)
        if not front_messages.is_backend_name(name):
            faults.append(f"a backend's name has small letters, digits and hyphens, not {str(name)[:80]!r}")
            continue
        if not front_messages.is_weight(weight):
            faults.append(f"the weight of {name} has to be between 1 and {front_messages.MOST_WEIGHT}")
            continue
        endpoint = _endpoint(f"the address of {name}", table.get("address"), faults)
        if endpoint is not None:
            found.append(front_messages.Backend(name, endpoint, weight))
    if len({backend.name for backend in found}) < len(found):
        faults.append("two backends have one name")
    return tuple(found)


def _endpoint(what: str, text: Any, faults: list[str]) -> front_messages.Endpoint | None:
    try:
        return front_messages.parse_endpoint(text)
    except ValueError:
        faults.append(f"{what} has to be like 192.0.2.1:53 or [2001:db8::1]:53, not {str(text)[:80]!r}")
        return None


def _faults_of(taken: Mapping[str, Any]) -> list[str]:
    """Return the errors in values that have the right types."""
    faults = list(_out_of_range(taken))
    if bool(taken.get("tls_certificate")) != bool(taken.get("tls_key")):
        faults.append("tls_certificate and tls_key belong together")
    if taken.get("tls_certificate"):
        faults += _clashes(taken)
    if taken.get("dnsdist") == "":
        faults.append("dnsdist is empty")
    if interface := taken.get("xdp_interface"):
        if not _INTERFACE.match(interface):
            faults.append(f"xdp_interface has to be the name of an interface, not {interface[:80]!r}")
        if any(ipaddress.ip_address(endpoint.address).is_unspecified for endpoint in taken["listen"]):
            faults.append("with xdp_interface, listen must contain each address, because packets need an exact match")
    return faults


def _out_of_range(taken: Mapping[str, Any]) -> Iterator[str]:
    for name in _PORTS:
        least = 0 if name in _MAY_BE_ZERO else 1
        if not least <= taken.get(name, 1) <= 65535:
            yield f"{name} has to be between {least} and 65535"
    for name, (lowest, highest) in {"cores": (1.0, float(MOST_CORES)), **front_messages.RANGES}.items():
        if name in taken and not lowest <= taken[name] <= highest:
            yield f"{name} has to be between {lowest} and {highest}"


def _clashes(taken: Mapping[str, Any]) -> Iterator[str]:
    """Yield an error for each port that two kinds of listeners use.

    dnsdist's own check doesn't open listeners, and over UDP two listeners can share one port without an error.
    """
    ports = {field.name: taken.get(field.name, field.default) for field in fields(FrontConfig)}
    for one, other in (("dot_port", "doh_port"), ("doq_port", "doh3_port")):  # over TCP, and over UDP
        if ports[one] and ports[one] == ports[other]:
            yield f"{one} and {other} have to differ"
    plain = {endpoint.port for endpoint in taken["listen"]}
    for name in _MAY_BE_ZERO:
        if ports[name] in plain:
            yield f"{name} cannot be {ports[name]}, which is a port of listen"
