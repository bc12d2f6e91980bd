"""Terraform's own comparison of plans, with a resource like the PowerDNS provider's, whose module no registry serves.

A resource that Terraform plans again after it was applied is deleted and recreated by each apply, forever.
"""

import json
import subprocess
from collections.abc import Iterator

import pytest

from tests.clients.packages import go_programs
from tests.clients.services import Service, call, create_zone

pytestmark = pytest.mark.flow

ZONE = "plans.test."
KEY = "v=DKIM1; k=rsa; p=" + "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA" * 7
VALUES = {
    "A": ["192.0.2.1", "192.0.2.2"],
    "AAAA": ["2001:db8::1"],
    "CAA": ['0 issue "letsencrypt.org"'],
    "CNAME": ["WWW.Example.NET."],
    "DNAME": ["Other.Example.NET."],
    "DS": [f"12345 13 2 {'ab' * 32}"],
    "HTTPS": ["1 Web.Example.NET. alpn=h2"],
    "LOC": ["51 30 12.748 N 0 7 39.612 W 0.00m 1.00m 10000.00m 10.00m"],
    "MX": ["10 Mail.Example.NET.", "20 b.example.net."],
    "NAPTR": ['100 50 "s" "SIP+D2U" "" _SIP._udp.Example.NET.'],
    "PTR": ["My\\032Printer.Example.NET."],
    "SRV": ["0 5 443 Web.Example.NET."],
    "SSHFP": [f"4 2 {'ab' * 32}"],
    "TLSA": [f"3 1 1 {'ab' * 32}"],
    "TXT": [f'"{KEY}"', '"grüß"', '"a" "b"'],
}


@pytest.fixture
def zone(service: Service) -> Iterator[str]:
    create_zone(service, ZONE)
    yield ZONE
    call(service, "DELETE", f"zones/{ZONE}")


def test_what_was_applied_is_not_planned_again(service: Service, zone: str) -> None:
    assert {type: again for type in VALUES if (again := planned_again(service, zone, type))} == {}


def planned_again(service: Service, zone: str, type: str) -> str:
    """Return the changes in the second plan, or an empty string if there are none."""
    wanted = {"name": f"{type.lower()}.{zone}", "type": type, "ttl": 300, "records": VALUES[type]}
    command = [str(go_programs("terraform-record") / "terraform-record"), service.url, service.key, zone]
    done = subprocess.run(command, input=json.dumps(wanted), capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr
