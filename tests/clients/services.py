"""The services for clients: a real `pdns_server` 4.7 and a complete stack of the panel. Also DNS queries for checks.

A test that passes with both shows that the client itself accepts the panel's answers.
"""

import json
import secrets
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dnspanel.demo.stack import Stack
from tests.dnspanel.transfer.running import PowerDNS, sqlite_powerdns
from tests.ports import free_port
from tests.stack import run_inside

LOOPBACK = "127.0.0.1"
REAL_KEY = "of-the-real-server"
# Until the last name server answers. It takes a fraction of a second. This limit only ends a hanging test.
SECONDS_TO_ANSWER = 15.0
NAME_SERVERS = ("ns1.clients.test.", "ns2.clients.test.")


@dataclass(frozen=True, slots=True)
class TsigKey:
    """A key for DNS UPDATE and zone transfer."""

    name: str
    secret: str
    algorithm: str = "hmac-sha256"

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.name}:{self.secret}"


class Service(Protocol):
    """The settings that a client needs: the API's URL and key, and the DNS ports that show its changes."""

    name: str
    url: str
    key: str
    dns_ports: Sequence[int]
    update_port: int  # accepts DNS UPDATE and AXFR with TSIG

    def acme_key(self, zone: str, name: str) -> str:
        """Return an API key whose rights suffice for ACME challenges at one name of a zone."""

    def tsig_key(self, zone: str) -> TsigKey:
        """Return a key that is allowed to update and transfer the zone."""


@dataclass(frozen=True)
class RealServer:
    """A `pdns_server` with its HTTP API. One key has all rights."""

    powerdns: PowerDNS
    url: str
    dns_ports: tuple[int, ...]
    update_port: int
    key: str = REAL_KEY
    name: str = "pdns_server"

    def acme_key(self, zone: str, name: str) -> str:
        return self.key

    def tsig_key(self, zone: str) -> TsigKey:
        name = _new_key_name(zone)
        self.powerdns.pdnsutil("generate-tsig-key", name, "hmac-sha256")
        for kind in ("TSIG-ALLOW-DNSUPDATE", "TSIG-ALLOW-AXFR"):
            self.powerdns.pdnsutil("set-meta", zone, kind, name)
        listed = self.powerdns.pdnsutil("list-tsig-keys").split()
        return TsigKey(name, listed[listed.index("hmac-sha256.", listed.index(name)) + 1])


@contextmanager
def real_server(directory: Path) -> Iterator[RealServer]:
    """Run a `pdns_server` with an empty SQLite database, the only local backend that stores comments."""
    powerdns, port = sqlite_powerdns(directory), free_port()
    settings = {"api": "yes", "api-key": REAL_KEY, "webserver-address": LOOPBACK, "webserver-port": port}
    no_caches = dict.fromkeys(("cache-ttl", "query-cache-ttl", "negquery-cache-ttl"), 0)
    updates = {"dnsupdate": "yes", "allow-dnsupdate-from": LOOPBACK, "allow-axfr-ips": "", "primary": "yes"}
    with powerdns.server(**settings, **no_caches, **updates) as dns_port:
        yield RealServer(powerdns, f"http://{LOOPBACK}:{port}", (dns_port,), dns_port)


@dataclass(frozen=True)
class Panel:
    """A running stack, with an account that owns the clients' tokens."""

    stack: Stack
    owner: str
    key: str
    name: str = "panel"

    @property
    def url(self) -> str:
        return self.stack.url

    @property
    def dns_ports(self) -> tuple[int, ...]:
        return tuple(node.dns_port for node in self.stack.nodes)

    @property
    def update_port(self) -> int:
        return self.stack.update_port

    def acme_key(self, zone: str, name: str) -> str:
        return _new_secret(self.stack, owner=self.owner, use="acme", zone=zone, name=name)

    def tsig_key(self, zone: str) -> TsigKey:
        name = _new_key_name(zone)
        return TsigKey(name, _new_secret(self.stack, owner=self.owner, use="tsig", zone=zone, name=name))


def panel_service(stack: Stack, *, owner: str) -> Panel:
    """Return the stack as a service for clients, with a token of this account that has all rights."""
    return Panel(stack, owner, _new_secret(stack, owner=owner, use="everything", zone=""))


def _new_key_name(zone: str) -> str:
    return f"{secrets.token_hex(4)}.{zone}"


def _new_secret(stack: Stack, **request: str) -> str:
    return run_inside(stack, "clients.make_token", request)


# Actions of the tests themselves


def call(service: Service, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """Send a request to the API below /api/v1/servers/localhost. Raise HTTPError if the status is an error."""
    request = urllib.request.Request(
        f"{service.url}/api/v1/servers/localhost/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"X-API-Key": service.key, "Accept": "application/json", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        text = reply.read()
    return json.loads(text) if text else None


def create_zone(service: Service, name: str, *rrsets: Mapping[str, Any]) -> None:
    """Create a zone with its name servers and these RRsets. Wait until all name servers answer for it.

    The zone's kind allows clients to request a NOTIFY.
    """
    call(service, "POST", "zones", {"name": name, "kind": "Master", "nameservers": NAME_SERVERS, "rrsets": rrsets})
    expect_answers(service, name, "NS", *NAME_SERVERS)


def rrset(name: str, rdtype: str, *contents: str, ttl: int = 300) -> dict[str, Any]:
    """Return an RRset for the body of an API call."""
    records = [{"content": content, "disabled": False} for content in contents]
    return {"name": name, "type": rdtype, "ttl": ttl, "changetype": "REPLACE", "records": records}


def expect_answers(service: Service, name: str, rdtype: str, *rdata: str) -> None:
    """Wait until all name servers answer exactly this rdata, by `dig`. Without rdata, expect no such record."""
    for port in service.dns_ports:
        deadline = time.monotonic() + SECONDS_TO_ANSWER
        while (found := dig(port, name, rdtype)) != sorted(rdata):
            if time.monotonic() > deadline:
                raise AssertionError(f"{service.name}, port {port}: {name} {rdtype} is {found}, not {sorted(rdata)}")
            time.sleep(0.02)


def dig(port: int, name: str, rdtype: str) -> list[str]:
    """Return the rdata that the name server at this local port answers."""
    command = ["dig", "+short", "+norecurse", "+time=2", "+tries=2", f"@{LOOPBACK}", "-p", str(port), name, rdtype]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return sorted(done.stdout.splitlines())
