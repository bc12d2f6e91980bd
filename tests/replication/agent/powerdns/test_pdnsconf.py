"""The generated pdns.conf: every line has a reason, and PowerDNS accepts the file."""

import re
import subprocess
from pathlib import Path

import pytest

from replication.agent.powerdns.pdnsconf import PdnsSettings, render
from replication.errors import UnknownSchema
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.servers import PDNS_SERVER


def settings(schema: int = 4, **changes: object) -> PdnsSettings:
    base = {"lmdb_path": "/data/pdns.lmdb", "socket_dir": "/run/pdns", "addresses": ("192.0.2.53", "2001:db8::53")}
    return PdnsSettings(schema=schema, **(base | changes))  # type: ignore[arg-type]


def values_of(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))


@pytest.mark.parametrize("schema", [4, 5, 6])
def test_every_setting_has_a_reason_above_it(schema: int) -> None:
    text = render(settings(schema, api_key="k", transfers_to=("192.0.2.0/24",), user="pdns"))
    blocks = text.split("\n\n")[1:]
    assert len(blocks) > 30
    for block in blocks:
        assert re.fullmatch(r"# .{8,}\n[a-z0-9-]+=.*\n?", block), block


def test_no_setting_comes_twice() -> None:
    names = [line.split("=")[0] for line in render(settings()).splitlines() if "=" in line and line[0] != "#"]
    assert len(names) == len(set(names))


def test_what_the_agent_relies_on_is_set() -> None:
    found = values_of(render(settings(cores=8, map_size=4 << 30)))
    assert found["lmdb-shards"] == "1"
    assert found["lmdb-schema-version"] == "4"
    assert found["lmdb-map-size"] == "4096"
    assert int(found["zone-cache-refresh-interval"]) > 0
    assert (found["receiver-threads"], found["reuseport"], found["distributor-threads"]) == ("8", "yes", "1")
    assert (found["primary"], found["secondary"]) == ("no", "no")
    assert found["local-address"] == "192.0.2.53, 2001:db8::53"


def test_without_a_key_no_web_server_runs() -> None:
    assert "webserver" not in render(settings())
    found = values_of(render(settings(api_key="k")))
    assert (found["webserver-address"], found["api-key"]) == ("127.0.0.1", "k")


def test_transfers_are_off_until_someone_is_named() -> None:
    assert values_of(render(settings()))["disable-axfr"] == "yes"
    found = values_of(render(settings(transfers_to=("192.0.2.0/24",))))
    assert (found["disable-axfr"], found["allow-axfr-ips"]) == ("no", "192.0.2.0/24")


def test_an_unknown_schema_is_refused() -> None:
    with pytest.raises(UnknownSchema):
        render(settings(7))


@pytest.mark.skipif(PDNS_SERVER is None, reason="pdns_server is not installed")
def test_powerdns_knows_every_setting(tmp_path: Path) -> None:
    """`--config=check` refuses unknown names. Settings that only newer releases know are marked as such."""
    assert PDNS_SERVER is not None
    for schema in (4, 5, 6):
        text = render(settings(schema, api_key="k", transfers_to=("192.0.2.0/24",)))
        (tmp_path / "pdns.conf").write_text(text)
        done = subprocess.run(
            [PDNS_SERVER, f"--config-dir={tmp_path}", "--config=check"], capture_output=True, text=True, check=False
        )
        assert "rror" not in done.stderr + done.stdout, done.stderr
        assert done.returncode == 0, done.stderr


def test_powerdns_runs_with_it(node: RunningNode) -> None:
    assert node.answer("position.dnspanel.invalid.", 16) == ['"no position"']
    log = (node.pdns.directory / "pdns.log").read_text()
    assert "rror" not in log, log
    assert log.count("UDP server bound") == node.pdns.cores
