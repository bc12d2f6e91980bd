"""Terraform with HashiCorp's provider `dns`. It writes by DNS UPDATE, and reads back by queries with TSIG."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.packages import client_environment, go_programs
from tests.clients.services import LOOPBACK, Service, TsigKey, call, create_zone, expect_answers, rrset

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(shutil.which("terraform") is None, reason="the program terraform is not installed"),
]

ZONE = "tfdns.test."
NO_CHANGES, CHANGES = 0, 2  # exit codes of `plan -detailed-exitcode`

# One of each of the provider's resources. 600 bytes of TXT need EDNS to fit into a datagram.
RECORDS: dict[str, dict[str, Any]] = {
    "dns_a_record_set": {"name": "www", "ttl": 300, "addresses": ["192.0.2.1", "192.0.2.2"]},
    "dns_aaaa_record_set": {"name": "www", "ttl": 300, "addresses": ["2001:db8::1"]},
    "dns_cname_record": {"name": "alias", "ttl": 300, "cname": f"www.{ZONE}"},
    "dns_mx_record_set": {"ttl": 300, "mx": [{"preference": 10, "exchange": f"mail.{ZONE}"}]},
    "dns_ns_record_set": {"name": "below", "ttl": 300, "nameservers": ["ns1.elsewhere.test.", "ns2.elsewhere.test."]},
    "dns_ptr_record": {"name": "pointer", "ttl": 300, "ptr": f"www.{ZONE}"},
    "dns_srv_record_set": {
        "name": "_sip._tcp",
        "ttl": 300,
        "srv": [{"priority": 10, "weight": 60, "port": 5060, "target": f"www.{ZONE}"}],
    },
    "dns_txt_record_set": {"name": "text", "ttl": 300, "txt": ["a text", "v=x; " + "y" * 200]},
}


class Terraform:
    """The terraform program with a configuration in a directory."""

    def __init__(self, directory: Path, service: Service, key: TsigKey) -> None:
        self._directory = directory
        provider = {"server": LOOPBACK, "port": service.update_port, "transport": "tcp", "timeout": "30s"}
        signed = {"key_name": key.name, "key_algorithm": key.algorithm, "key_secret": key.secret}
        self._provider = {"dns": {"update": [{**provider, **signed}]}}
        overrides = (
            f'provider_installation {{\n dev_overrides {{ "hashicorp/dns" = "{go_programs("terraform-dns")}" }}\n}}'
        )
        (directory / "terraformrc").write_text(overrides)

    def write(self, records: dict[str, dict[str, Any]]) -> None:
        """Write a configuration with these records."""
        resources = {type_: {"it": {"zone": ZONE, **record}} for type_, record in records.items()}
        configuration = {"provider": self._provider, "resource": resources}
        (self._directory / "main.tf.json").write_text(json.dumps(configuration))

    def run(self, *arguments: str, ends: int = 0) -> str:
        """Run a command, and return its output. Raise AssertionError unless the exit code is `ends`."""
        done = subprocess.run(
            ["terraform", arguments[0], "-no-color", "-input=false", *arguments[1:]],
            cwd=self._directory,
            env=client_environment(TF_CLI_CONFIG_FILE=str(self._directory / "terraformrc"), CHECKPOINT_DISABLE="1"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
        )
        assert done.returncode == ends, done.stdout[-4000:]
        return done.stdout

    def apply(self) -> None:
        """Plan and apply changes, and check that a second plan has none."""
        self.run("plan", "-detailed-exitcode", ends=CHANGES)
        self.run("apply", "-auto-approve")
        self.run("plan", "-detailed-exitcode", ends=NO_CHANGES)


@pytest.fixture
def key(service: Service) -> Iterator[TsigKey]:
    create_zone(service, ZONE, rrset(f"mail.{ZONE}", "A", "192.0.2.25"))
    yield service.tsig_key(ZONE)
    call(service, "DELETE", f"zones/{ZONE}")


def test_every_resource_is_planned_applied_planned_again_imported_and_destroyed(
    service: Service, key: TsigKey, tmp_path: Path
) -> None:
    terraform = Terraform(tmp_path, service, key)
    terraform.write(RECORDS)
    terraform.apply()
    expect_answers(service, f"www.{ZONE}", "A", "192.0.2.1", "192.0.2.2")

    changed = {**RECORDS, "dns_a_record_set": {"name": "www", "ttl": 300, "addresses": ["192.0.2.2", "192.0.2.3"]}}
    terraform.write(changed)
    terraform.apply()
    expect_answers(service, f"www.{ZONE}", "A", "192.0.2.2", "192.0.2.3")

    (tmp_path / "terraform.tfstate").unlink()
    for type_, record in changed.items():
        terraform.run("import", f"{type_}.it", f"{record['name']}.{ZONE}" if "name" in record else ZONE)
    terraform.run("plan", "-detailed-exitcode", ends=NO_CHANGES)

    terraform.run("destroy", "-auto-approve")
    for record, type_ in (("www", "A"), ("www", "AAAA"), ("alias", "CNAME"), ("below", "NS"), ("text", "TXT")):
        expect_answers(service, f"{record}.{ZONE}", type_)
    terraform.run("plan", "-detailed-exitcode", ends=CHANGES)
