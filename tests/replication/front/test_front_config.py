"""The file front.toml: accepted values, and the messages for refused values."""

from pathlib import Path

import pytest

from replication.agent.agent_config import BadConfig
from replication.front.front_config import read_config
from replication.wire.front_messages import Backend, Endpoint

GOOD = """
state_dir = "state"
listen = ["192.0.2.1:53", "[2001:db8::1]:53"]
behind_seconds = 2
tls_certificate = "front.pem"
tls_key = "front.key"
[[backends]]
name = "ns1"
address = "192.0.2.53:53"
[[backends]]
name = "ns2"
address = "[2001:db8::53]:5300"
weight = 3
"""


def written(directory: Path, text: str) -> Path:
    path = directory / "front.toml"
    path.write_text(text)
    return path


def test_everything_that_is_named_is_taken_and_paths_start_at_the_file(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, GOOD))
    assert config.state_dir == tmp_path / "state"
    assert [str(endpoint) for endpoint in config.listen] == ["192.0.2.1:53", "[2001:db8::1]:53"]
    assert config.backends == (
        Backend("ns1", Endpoint("192.0.2.53", 53)),
        Backend("ns2", Endpoint("2001:db8::53", 5300), 3),
    )
    assert (config.behind_seconds, config.cache_entries, config.minimum) == (2.0, 0, 1)
    assert config.tls_certificate == str(tmp_path / "front.pem")


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ('state_dir = "state"', "", "state_dir is missing"),
        ('state_dir = "state"', 'state_dir = "s"\nspeed = 1', "speed is not a setting"),
        ("behind_seconds = 2", "behind_seconds = 0.1", "behind_seconds has to be between 0.5 and 600.0"),
        ("behind_seconds = 2", "minimum = true", "minimum has to be a number"),
        ("behind_seconds = 2", "api_port = 0", "api_port has to be between 1 and 65535"),
        ('tls_key = "front.key"', "", "tls_certificate and tls_key belong together"),
        ("behind_seconds = 2", "doh_port = 853", "dot_port and doh_port have to differ"),
        ("behind_seconds = 2", "doq_port = 443", "doq_port and doh3_port have to differ"),
        ("behind_seconds = 2", "doh3_port = 53", "doh3_port cannot be 53, which is a port of listen"),
        ("192.0.2.53:53", "ns1.example.test:53", "the address of ns1 has to be like 192.0.2.1:53"),
        ("192.0.2.53:53", "192.0.2.53:99999", "the address of ns1 has to be like 192.0.2.1:53"),
        ('name = "ns2"', 'name = "ns1"', "two backends have one name"),
        ('name = "ns2"', 'name = "n\\" os.exit()"', "a backend's name has small letters, digits and hyphens"),
        ("weight = 3", "weight = 0", "the weight of ns2 has to be between 1 and 1000"),
        ("weight = 3", "colour = 3", "a backend has a name, an address and a weight"),
        ('["192.0.2.1:53", "[2001:db8::1]:53"]', "[]", "listen has to be a list of 1 to 64 addresses"),
    ],
)
def test_a_fault_is_refused_in_words(tmp_path: Path, before: str, after: str, fault: str) -> None:
    assert before in GOOD
    with pytest.raises(BadConfig) as refused:
        read_config(written(tmp_path, GOOD.replace(before, after)))
    assert fault in str(refused.value)


@pytest.mark.parametrize(
    "line", ["dot_port = 0\ndoh_port = 0", "doq_port = 0\ndoh3_port = 0", "dot_port = 443\ndoh_port = 853"]
)
def test_ports_that_are_not_offered_or_of_two_transports_do_not_clash(tmp_path: Path, line: str) -> None:
    config = read_config(written(tmp_path, GOOD.replace("behind_seconds = 2", line)))
    assert {config.dot_port, config.doh_port, config.doq_port, config.doh3_port} <= {0, 443, 853}
    without = GOOD.replace('tls_certificate = "front.pem"\ntls_key = "front.key"', "doq_port = 443\ndot_port = 53")
    assert read_config(written(tmp_path, without)).doq_port == 443


def test_a_front_without_backends_or_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="backends have to be 1 to 64 tables"):
        read_config(written(tmp_path, GOOD.partition("[[backends]]")[0]))
    with pytest.raises(BadConfig, match=r"none\.toml"):
        read_config(tmp_path / "none.toml")
