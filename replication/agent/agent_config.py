"""Read an agent's configuration: the operator's TOML file, and the node's identity from the panel.

    agent.toml            every key, with its default if there is one
    ------------------    -----------------------------------------------------------------
    identity_dir          directory that `enroll` wrote: node.key node.pem ca.pem identity.json
    state_dir             the agent's own directory: its lock and the segments being received
    lmdb_path             PowerDNS's `lmdb-filename`
    control_socket        PowerDNS's `pdns.controlsocket`
    dns_address           the IP address where PowerDNS answers the agent's queries
    dns_port = 53
    receiver_threads      PowerDNS's `receiver-threads`
    listen_host = "::"    address where the agent accepts the panel's connections
    listen_port = 8533
    api_port = 8081       PowerDNS's `webserver-port`
    api_key = ""          PowerDNS's `api-key`; without it there are no live statistics
    map_size_mib = 16000  at most PowerDNS's `lmdb-map-size`
    max_body_mib = 2048   larger pushes are rejected
    pdns_conf = ""        PowerDNS's pdns.conf, if the agent should rewrite it for another schema
    pdns_server = "pdns_server"  the program; its installed release determines the schema that it needs
    metrics_port = 0      port where Prometheus can get /metrics over plain HTTP; 0: none
    metrics_address = "127.0.0.1"
    show_clients = false  true: the panel shows the networks that send the most queries
    transfers_to = ""     comma-separated networks that are allowed to transfer zones from this PowerDNS
    caches = true         false for a private node such as ring 0: PowerDNS caches no answers, so nothing is purged

Relative paths are relative to the directory of agent.toml.
"""

import base64
import ipaddress
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from replication.codec.schema import schema_for
from replication.errors import BadBytes, UnknownSchema
from replication.wire.enrolment import JoinSettings

KEY_FILE, CERTIFICATE_FILE, CA_FILE, IDENTITY_FILE = "node.key", "node.pem", "ca.pem", "identity.json"
MIB = 1 << 20
# A UNIX socket's path has to fit the kernel's structure, with its final zero byte.
_MAX_SOCKET_PATH = 107

_DEFAULTS: dict[str, Any] = {
    "dns_port": 53,
    "listen_host": "::",
    "listen_port": 8533,
    "api_port": 8081,
    "api_key": "",
    "map_size_mib": 16000,
    "max_body_mib": 2048,
    "pdns_conf": "",
    "pdns_server": "pdns_server",
    "metrics_port": 0,
    "metrics_address": "127.0.0.1",
    "show_clients": False,
    "transfers_to": "",
    "caches": True,
}
_MAY_BE_EMPTY = ("api_key", "pdns_conf", "transfers_to")
_TYPE_NAMES = {int: "a number", str: "a text", bool: "true or false"}
_REQUIRED: dict[str, type] = {
    "identity_dir": str,
    "state_dir": str,
    "lmdb_path": str,
    "control_socket": str,
    "dns_address": str,
    "receiver_threads": int,
}


class BadConfig(Exception):
    """The configuration can't be used. `faults` lists the errors."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Identity:
    """A node's identity: the panel assigns it at enrollment, and can change the schema and the keys later."""

    node: str
    cluster: UUID
    schema: int
    signing_keys: tuple[bytes, ...]
    keys_generation: int = 0  # of the list with these keys; 0 at enrollment
    settings: JoinSettings | None = None  # the panel's settings at enrollment; older panels don't send them


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """An agent's configuration. Everything that can be checked without the network has been checked."""

    identity: Identity
    identity_dir: Path
    state_dir: Path
    lmdb_path: Path
    control_socket: Path
    dns_address: str
    dns_port: int
    receiver_threads: int
    listen_host: str
    listen_port: int
    api_port: int
    api_key: str = field(repr=False)
    map_size: int
    max_body: int
    pdns_conf: Path | None
    pdns_server: str
    metrics_port: int
    metrics_address: str
    show_clients: bool
    transfers_to: str
    caches: bool

    @property
    def key_path(self) -> Path:
        return self.identity_dir / KEY_FILE

    @property
    def certificate_path(self) -> Path:
        return self.identity_dir / CERTIFICATE_FILE

    @property
    def ca_path(self) -> Path:
        return self.identity_dir / CA_FILE


def read_config(path: Path) -> AgentConfig:
    """Read the configuration from a file. Raise BadConfig with all errors in the settings, or else in the identity."""
    values = read_toml(path)
    if faults := _faults_in(values):
        raise BadConfig([f"{path}: {fault}" for fault in faults])
    values = {**_DEFAULTS, **values}
    base = path.resolve().parent
    for name in ("identity_dir", "state_dir", "lmdb_path", "control_socket", "pdns_conf"):
        values[name] = base / values[name] if values[name] else None
    for name in ("map_size", "max_body"):
        values[name] = values.pop(f"{name}_mib") * MIB
    if len(str(values["control_socket"])) > _MAX_SOCKET_PATH:
        faults.append(f"control_socket is longer than {_MAX_SOCKET_PATH} bytes, which no UNIX socket can be")
    identity = read_identity(values["identity_dir"], faults)
    if faults or identity is None:
        raise BadConfig([f"{path}: {fault}" for fault in faults])
    return AgentConfig(identity=identity, **values)


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file. Raise BadConfig if it can't be read or isn't TOML."""
    try:
        return tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise BadConfig([f"{path}: {exc}"]) from exc


def _faults_in(values: Mapping[str, Any]) -> list[str]:
    """Return all errors in the settings that can be found without reading other files."""
    faults = [f"{name} is missing" for name in _REQUIRED if name not in values]
    known = _REQUIRED | {name: type(default) for name, default in _DEFAULTS.items()}
    for name, value in values.items():
        if name not in known:
            faults.append(f"{name} is not a setting")
        elif fault := _fault_of(name, value, known[name]):
            faults.append(fault)
    for name in ("dns_address", "metrics_address"):
        if isinstance(address := values.get(name), str) and address:
            try:
                ipaddress.ip_address(address)
            except ValueError:
                faults.append(f"{name} has to be an IP address")
    if isinstance(networks := values.get("transfers_to", ""), str) and not all(
        map(_is_network, split_networks(networks))
    ):
        faults.append("transfers_to has to be networks with commas between")
    return faults


def _fault_of(name: str, value: Any, expected: type) -> str:
    """Return an error message for one value, or "" if it is valid."""
    if not _has_type(value, expected):
        return f"{name} has to be {_TYPE_NAMES[expected]}"
    if name == "metrics_port" and value == 0:
        return ""
    if name.endswith("_port") and not 1 <= value <= 65535:
        return f"{name} has to be between 1 and 65535"
    if expected is int and value < 1:
        return f"{name} has to be at least 1"
    if expected is str and not value and name not in _MAY_BE_EMPTY:
        return f"{name} is empty"
    return ""


def split_networks(networks: str) -> tuple[str, ...]:
    """Split the comma-separated networks of `transfers_to`."""
    return tuple(network.strip() for network in networks.split(",") if network.strip())


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def _has_type(value: Any, expected: type) -> bool:
    """Return True if the value has exactly this type. In Python, a bool is an int, but here it would be a mistake."""
    return type(value) is expected


def read_identity(directory: Path, faults: list[str]) -> Identity | None:
    """Read the identity that `enroll` wrote. If this fails, add messages to `faults` and return None."""
    missing = [name for name in (KEY_FILE, CERTIFICATE_FILE, CA_FILE, IDENTITY_FILE) if not (directory / name).exists()]
    if missing:
        faults.append(f"{directory} lacks {', '.join(missing)}: run `python -m replication.agent enroll` first")
        return None
    try:
        return parse_identity(json.loads((directory / IDENTITY_FILE).read_text()))
    except (OSError, ValueError, UnknownSchema) as exc:
        faults.append(f"{directory / IDENTITY_FILE}: {exc}")
        return None


def parse_identity(fields: Any) -> Identity:
    """Parse the identity in the panel's response to an enrollment.

    Raise UnknownSchema if its PowerDNS schema isn't supported, and ValueError for any other error.
    """
    try:
        keys = tuple(base64.b64decode(key, validate=True) for key in fields["signing_keys"])
        generation = int(fields.get("keys_generation", 0))
        settings = JoinSettings.from_json(fields["settings"]) if fields.get("settings") else None
        schema = int(fields["schema"])
        identity = Identity(str(fields["node"]), UUID(fields["cluster"]), schema, keys, generation, settings)
    except (KeyError, TypeError, AttributeError, BadBytes) as exc:
        raise ValueError(f"not the identity of a node ({exc!r})") from exc
    if not keys or any(len(key) != 32 for key in keys):
        raise ValueError("signing_keys has to hold at least one key of 32 bytes")
    schema_for(identity.schema)
    return identity


def role_of(identity: Identity) -> str:
    """Return the role that the panel assigned at enrollment, or "" if the identity has none."""
    return str(identity.settings.role) if identity.settings else ""


def format_toml(values: Mapping[str, str | int | bool | Sequence[str]]) -> str:
    """Format these values as TOML. Strings, numbers and lists are written as JSON, which is also valid TOML."""
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())


def format_identity(identity: Identity) -> str:
    """Format the identity as the contents of its file: JSON that `parse_identity` accepts once decoded."""
    fields = {
        "node": identity.node,
        "cluster": str(identity.cluster),
        "schema": identity.schema,
        "signing_keys": [base64.b64encode(key).decode("ascii") for key in identity.signing_keys],
        "keys_generation": identity.keys_generation,
        **({"settings": identity.settings.to_json()} if identity.settings else {}),
    }
    return json.dumps(fields, indent=2) + "\n"
