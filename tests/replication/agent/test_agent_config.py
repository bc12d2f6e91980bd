"""The agent's configuration: its required settings, and the report of all errors at once."""

import base64
import json
from pathlib import Path

import pytest

from replication.agent.agent_config import BadConfig, Identity, format_identity, parse_identity, read_config
from replication.agent.powerdns.pdnsconf import LOOPBACK, transfers_of
from replication.errors import UnknownSchema
from tests.replication.panel import CLUSTER, PUBLIC_KEYS

TOML = {
    "identity_dir": "identity",
    "state_dir": "state",
    "lmdb_path": "/data/pdns.lmdb",
    "control_socket": "run/pdns.controlsocket",
    "dns_address": "192.0.2.53",
    "receiver_threads": 2,
}


def write(directory: Path, **changes: object) -> Path:
    values = {name: value for name, value in (TOML | changes).items() if value is not None}
    path = directory / "agent.toml"
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()))
    return path


def enroll(directory: Path, text: str | None = None) -> None:
    identity = directory / "identity"
    identity.mkdir()
    for name in ("node.key", "node.pem", "ca.pem"):
        (identity / name).write_text("there")
    known = format_identity(Identity("ns1", CLUSTER, 4, PUBLIC_KEYS))
    (identity / "identity.json").write_text(known if text is None else text)


def test_a_complete_configuration_is_read(tmp_path: Path) -> None:
    enroll(tmp_path)
    config = read_config(write(tmp_path, map_size_mib=64, api_key="secret"))
    assert config.identity == Identity("ns1", CLUSTER, 4, PUBLIC_KEYS)
    assert config.control_socket == tmp_path / "run/pdns.controlsocket"
    assert config.lmdb_path == Path("/data/pdns.lmdb")
    assert (config.dns_port, config.listen_port, config.map_size) == (53, 8533, 64 << 20)
    assert config.key_path == tmp_path / "identity/node.key"
    assert "secret" not in repr(config)


def test_ring_0_lets_its_own_machine_transfer_zones_and_a_node_nobody(tmp_path: Path) -> None:
    """The panel's gateway transfers signed zones from ring 0, on the same machine, for secondaries."""
    enroll(tmp_path)
    assert transfers_of(read_config(write(tmp_path))) == ()
    assert transfers_of(read_config(write(tmp_path, caches=False))) == LOOPBACK
    named = read_config(write(tmp_path, transfers_to="192.0.2.0/24, 2001:db8::1"))
    assert transfers_of(named) == ("192.0.2.0/24", "2001:db8::1")
    with pytest.raises(BadConfig, match="transfers_to has to be networks"):
        read_config(write(tmp_path, transfers_to="192.0.2.0/24, everybody"))


def test_metrics_and_clients_are_told_only_where_somebody_decided_so(tmp_path: Path) -> None:
    enroll(tmp_path)
    config = read_config(write(tmp_path))
    assert (config.metrics_port, config.metrics_address, config.show_clients) == (0, "127.0.0.1", False)
    config = read_config(write(tmp_path, metrics_port=9153, metrics_address="192.0.2.53", show_clients=True))
    assert (config.metrics_port, config.metrics_address, config.show_clients) == (9153, "192.0.2.53", True)
    with pytest.raises(BadConfig) as bad:
        read_config(write(tmp_path, metrics_port=-1, metrics_address="everywhere", show_clients="yes"))
    assert [fault.partition(": ")[2] for fault in bad.value.faults] == [
        "metrics_port has to be between 1 and 65535",
        "show_clients has to be true or false",
        "metrics_address has to be an IP address",
    ]


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        dns_address="ns1",
        dns_port=70000,
        receiver_threads=0,
        state_dir="",
        map_size_mib="64",
        max_body_mib=True,
        colour="red",
        lmdb_path=None,
    )
    with pytest.raises(BadConfig) as bad:
        read_config(path)
    told = [fault.removeprefix(f"{path}: ") for fault in bad.value.faults]
    assert sorted(told) == [
        "colour is not a setting",
        "dns_address has to be an IP address",
        "dns_port has to be between 1 and 65535",
        "lmdb_path is missing",
        "map_size_mib has to be a number",
        "max_body_mib has to be a number",
        "receiver_threads has to be at least 1",
        "state_dir is empty",
    ]


def test_a_socket_path_that_no_kernel_takes_is_a_fault(tmp_path: Path) -> None:
    enroll(tmp_path)
    with pytest.raises(BadConfig, match="UNIX socket"):
        read_config(write(tmp_path, control_socket="/run/" + "x" * 120))


def test_a_server_that_is_not_enrolled_is_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"replication\.agent enroll"):
        read_config(write(tmp_path))


@pytest.mark.parametrize(
    "text", ["", "{}", '{"node":"ns1"}', '{"node":"ns1","cluster":"x","schema":4,"signing_keys":[]}']
)
def test_a_damaged_identity_is_a_fault(tmp_path: Path, text: str) -> None:
    enroll(tmp_path, text)
    with pytest.raises(BadConfig, match=r"identity\.json"):
        read_config(write(tmp_path))


def test_a_file_that_is_missing_or_not_toml_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="No such file"):
        read_config(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("= 3")
    with pytest.raises(BadConfig, match=r"bad\.toml"):
        read_config(tmp_path / "bad.toml")


def test_an_identity_survives_its_file() -> None:
    identity = Identity("ns1", CLUSTER, 6, PUBLIC_KEYS)
    assert parse_identity(json.loads(format_identity(identity))) == identity


def test_an_identity_needs_complete_keys_and_a_known_schema() -> None:
    fields = {
        "node": "ns1",
        "cluster": str(CLUSTER),
        "schema": 4,
        "signing_keys": [base64.b64encode(b"short").decode()],
    }
    with pytest.raises(ValueError, match="32 bytes"):
        parse_identity(fields)
    with pytest.raises(UnknownSchema):
        parse_identity(fields | {"signing_keys": [base64.b64encode(bytes(32)).decode()], "schema": 7})


def test_where_pdns_conf_is_and_which_program_runs_may_be_set(tmp_path: Path) -> None:
    enroll(tmp_path)
    config = read_config(write(tmp_path))
    assert (config.pdns_conf, config.pdns_server) == (None, "pdns_server")
    config = read_config(write(tmp_path, pdns_conf="etc/pdns.conf", pdns_server="/opt/pdns/sbin/pdns_server"))
    assert (config.pdns_conf, config.pdns_server) == (tmp_path / "etc/pdns.conf", "/opt/pdns/sbin/pdns_server")
    with pytest.raises(BadConfig, match="pdns_server is empty"):
        read_config(write(tmp_path, pdns_server=""))
