"""octoDNS with its PowerDNS provider applies a zone's YAML, and plans no changes if the zone is equal already."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.clients.packages import python_programs
from tests.clients.services import LOOPBACK, NAME_SERVERS, Service, call, expect_answers, rrset

pytestmark = pytest.mark.flow

NOTHING_PLANNED = "No changes were planned"
RECORDS: dict[str, Any] = {
    "": [
        {"type": "NS", "ttl": 3600, "values": list(NAME_SERVERS)},
        {"type": "A", "ttl": 300, "values": ["192.0.2.1", "192.0.2.2"]},
        {"type": "MX", "ttl": 300, "values": [{"preference": 10, "exchange": "mx.octodns.test."}]},
        {"type": "CAA", "ttl": 300, "values": [{"flags": 0, "tag": "issue", "value": "ca.test"}]},
        {"type": "TXT", "ttl": 300, "values": ["v=spf1 mx -all", r"v=DKIM1\; k=rsa\; p=" + "A" * 380]},
    ],
    "*.wild": {"type": "AAAA", "ttl": 60, "value": "2001:db8::1"},
    "_443._tcp": {
        "type": "TLSA",
        "values": [
            {
                "certificate_usage": 3,
                "selector": 1,
                "matching_type": 1,
                "certificate_association_data": "ab" * 32,
            }
        ],
    },
    "_sip._tcp": {"type": "SRV", "values": [{"priority": 0, "weight": 5, "port": 5060, "target": "sip.octodns.test."}]},
    "alias": {"type": "CNAME", "value": "octodns.test."},
    "fingerprint": {"type": "SSHFP", "values": [{"algorithm": 4, "fingerprint_type": 2, "fingerprint": "cd" * 32}]},
    "naptr": {
        "type": "NAPTR",
        "values": [
            {
                "order": 10,
                "preference": 100,
                "flags": "S",
                "service": "SIP+D2U",
                "regexp": "!^.*$!sip:info@octodns.test!",
                "replacement": ".",
            }
        ],
    },
    "ptr": {"type": "PTR", "values": ["octodns.test."]},
    "sub": {"type": "NS", "values": ["ns.sub.octodns.test."]},
    "service": {
        "type": "HTTPS",
        "values": [{"svcpriority": 1, "targetname": ".", "svcparams": {"alpn": ["h2", "h3"]}}],
    },
    "www": {"type": "A", "ttl": 300, "value": "192.0.2.10"},
}


class OctoDns:
    """octoDNS's programs with a configuration for one zone."""

    def __init__(self, directory: Path, service: Service) -> None:
        self.directory = directory
        self.records = dict(RECORDS)
        port = int(service.url.rsplit(":", 1)[1])
        provider = {"class": "octodns_powerdns.PowerDnsProvider", "host": LOOPBACK, "port": port}
        provider |= {"api_key": service.key, "notify": True, "timeout": 30}
        yaml_files = {"class": "octodns.provider.yaml.YamlProvider", "directory": str(directory / "zones")}
        config = {
            "providers": {"files": {**yaml_files, "default_ttl": 3600, "enforce_order": False}, "powerdns": provider},
            "zones": {"octodns.test.": {"sources": ["files"], "targets": ["powerdns"]}},
        }
        (directory / "zones").mkdir()
        (directory / "config.yaml").write_text(yaml.safe_dump(config))

    def sync(self) -> str:
        """Run octodns-sync, which makes the service equal to the records, and return its output."""
        (self.directory / "zones" / "octodns.test.yaml").write_text(yaml.safe_dump(self.records))
        return self._run("octodns-sync", "--doit")

    def dump(self) -> dict[str, Any]:
        """Run octodns-dump, and return the service's zone as octoDNS's YAML."""
        self._run(
            "octodns-dump", "--lenient", "--output-dir", str(self.directory / "dump"), "octodns.test.", "powerdns"
        )
        found: dict[str, Any] = yaml.safe_load((self.directory / "dump" / "octodns.test.yaml").read_text())
        return found

    def _run(self, program: str, *words: str) -> str:
        command = [str(python_programs("clients") / program), "--config-file", str(self.directory / "config.yaml")]
        done = subprocess.run(
            [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout[-4000:]
        return done.stdout


@pytest.fixture
def octodns(tmp_path: Path, service: Service) -> Iterator[OctoDns]:
    yield OctoDns(tmp_path, service)
    call(service, "DELETE", "zones/octodns.test.")
    expect_answers(service, "octodns.test.", "NS")


def test_octodns_makes_a_zone_changes_it_and_then_plans_nothing(octodns: OctoDns, service: Service) -> None:
    assert NOTHING_PLANNED not in octodns.sync()
    expect_answers(service, "octodns.test.", "A", "192.0.2.1", "192.0.2.2")
    expect_answers(service, "octodns.test.", "NS", *NAME_SERVERS)
    expect_answers(service, "anything.wild.octodns.test.", "AAAA", "2001:db8::1")
    expect_answers(service, "alias.octodns.test.", "CNAME", "octodns.test.")
    expect_answers(service, "_443._tcp.octodns.test.", "TLSA", f"3 1 1 {'AB' * 28} {'AB' * 4}")
    assert NOTHING_PLANNED in octodns.sync()

    octodns.records["www"] = {"type": "A", "ttl": 60, "values": ["192.0.2.11", "192.0.2.12"]}
    octodns.records["new"] = {"type": "AAAA", "ttl": 60, "value": "2001:db8::2"}
    del octodns.records["ptr"]
    octodns.sync()
    expect_answers(service, "www.octodns.test.", "A", "192.0.2.11", "192.0.2.12")
    expect_answers(service, "new.octodns.test.", "AAAA", "2001:db8::2")
    expect_answers(service, "ptr.octodns.test.", "PTR")
    assert NOTHING_PLANNED in octodns.sync()


def test_octodns_reads_back_every_type_that_it_wrote(octodns: OctoDns, service: Service) -> None:
    octodns.sync()
    dumped = octodns.dump()
    assert set(dumped) == set(RECORDS)
    assert dumped["_sip._tcp"]["value"] == {"priority": 0, "weight": 5, "port": 5060, "target": "sip.octodns.test."}
    assert dumped["service"]["value"]["svcparams"] == {"alpn": ["h2", "h3"]}
    [text] = [record["values"] for record in dumped[""] if record["type"] == "TXT"]
    assert sorted(text) == sorted(RECORDS[""][-1]["values"])
    octodns.records = dumped
    assert NOTHING_PLANNED in octodns.sync()


def test_octodns_takes_away_what_others_added(octodns: OctoDns, service: Service) -> None:
    octodns.sync()
    call(service, "PATCH", "zones/octodns.test.", {"rrsets": [rrset("stray.octodns.test.", "A", "192.0.2.99")]})
    expect_answers(service, "stray.octodns.test.", "A", "192.0.2.99")
    octodns.sync()
    expect_answers(service, "stray.octodns.test.", "A")
