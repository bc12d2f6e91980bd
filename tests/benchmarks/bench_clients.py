"""A test of real clients of the PowerDNS API, unmodified, with the whole stack, and their times.

The clients are those that are too large to build in every test run. lego and certbot obtain certificates from Pebble, a
real ACME server, and external-dns keeps a zone equal to its source. Each runs the same acceptance test with a real
`pdns_server` and with the panel, Celery and three name servers. `dig` then checks the result at every server. ACME
clients have only a token of the preset "ACME for one name".

The first run builds the programs from the Go module proxy below ~/.cache/dnspanel/clients. This takes minutes and some
gigabytes, and is not measured. The exit status is 1 if a client failed.
"""

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks import stacks
from tests.benchmarks.say import say
from tests.clients import certbot, external_dns, lego
from tests.clients.packages import forget_go_caches, go_programs, python_programs
from tests.clients.pebble import Pebble, names_in, pebble
from tests.clients.services import (
    NAME_SERVERS,
    Panel,
    Service,
    call,
    create_zone,
    expect_answers,
    panel_service,
    real_server,
    rrset,
)
from tests.stack import make_person

FOREIGN = '"a foreign value"'
AT_ONCE = 4


@contextmanager
def acme_zone(zone: str, service: Service, directory: Path) -> Iterator[Pebble]:
    """Create a zone with a foreign value at the challenge name, and an ACME server that checks that name."""
    create_zone(service, zone, rrset(f"_acme-challenge.{zone}", "TXT", FOREIGN))
    with pebble(directory, service) as running:
        yield running
    expect_answers(service, f"_acme-challenge.{zone}", "TXT", FOREIGN)
    call(service, "DELETE", f"zones/{zone}")
    expect_answers(service, zone, "SOA")


def accept_lego(service: Service, directory: Path) -> None:
    """Test lego with apex and wildcard (two values at one name), then with names of one zone at the same time."""
    zone = "lego.test."
    with acme_zone(zone, service, directory) as acme:
        domains = ("lego.test", "*.lego.test")
        key = service.acme_key(zone, zone)
        expect_names(
            lego.obtain(*domains, directory=directory / "lego", service=service, key=key, pebble=acme), *domains
        )

        def obtain(number: int) -> None:
            domain = f"service{number}.lego.test"
            key = service.acme_key(zone, f"{domain}.")
            expect_names(
                lego.obtain(domain, directory=directory / f"lego-{number}", service=service, key=key, pebble=acme),
                domain,
            )
            expect_answers(service, f"_acme-challenge.{domain}.", "TXT")

        # PowerDNS on SQLite answers one of several simultaneous changes with status 500.
        with ThreadPoolExecutor(AT_ONCE if isinstance(service, Panel) else 1) as pool:
            list(pool.map(obtain, range(AT_ONCE)))


def accept_certbot(plugin: certbot.Plugin) -> Callable[[Service, Path], None]:
    """Return a function that tests certbot with this plugin, for apex and wildcard."""

    def accept(service: Service, directory: Path) -> None:
        # Under a real top-level domain, because lexicon, used by both plugins, splits names by the Public Suffix List.
        zone = "certbot.example.org."
        domains = ("certbot.example.org", "*.certbot.example.org")
        with acme_zone(zone, service, directory) as acme:
            key = service.acme_key(zone, zone)
            obtained = certbot.obtain(
                plugin, *domains, directory=directory / "certbot", service=service, key=key, pebble=acme
            )
            expect_names(obtained, *domains)

    return accept


def accept_external_dns(service: Service, directory: Path) -> None:
    """Test external-dns: it creates, finds no changes, changes, deletes its own records, and keeps other records."""
    zone, domain = "external.test.", "external.test"
    create_zone(service, zone, rrset(f"foreign.{zone}", "A", "192.0.2.99"))
    many = {(f"host{number}.{domain}", "A"): [f"192.0.2.{number}"] for number in range(1, 60)}
    with external_dns.source(directory) as source:

        def synchronize() -> str:
            return external_dns.synchronize(source, zone=zone, service=service)

        source.wants(
            {**many, (f"www.{domain}", "CNAME"): [f"host1.{domain}"], (f"six.{domain}", "AAAA"): ["2001:db8::1"]}
        )
        synchronize()
        for name in (f"host1.{zone}", f"host59.{zone}"):
            expect_answers(service, name, "A", f"192.0.2.{name.split('.')[0].removeprefix('host')}")
        expect_answers(service, f"www.{zone}", "CNAME", f"host1.{zone}")
        expect_answers(service, f"six.{zone}", "AAAA", "2001:db8::1")
        if external_dns.ALL_RIGHT not in synchronize():
            raise AssertionError("external-dns found something to do a second time")
        source.wants({(f"host1.{domain}", "A"): ["192.0.2.101", "192.0.2.102"]})
        synchronize()
        expect_answers(service, f"host1.{zone}", "A", "192.0.2.101", "192.0.2.102")
        for gone, rdtype in ((f"host59.{zone}", "A"), (f"www.{zone}", "CNAME"), (f"six.{zone}", "AAAA")):
            expect_answers(service, gone, rdtype)
        source.wants({})
        synchronize()
        expect_answers(service, f"host1.{zone}", "A")
    expect_answers(service, f"foreign.{zone}", "A", "192.0.2.99")
    expect_answers(service, zone, "NS", *NAME_SERVERS)
    call(service, "DELETE", f"zones/{zone}")


def expect_names(certificate: Path, *domains: str) -> None:
    if names_in(certificate) != set(domains):
        raise AssertionError(f"the certificate is for {names_in(certificate)}, not for {set(domains)}")


CLIENTS: dict[str, Callable[[Service, Path], None]] = {
    "lego": accept_lego,
    "external-dns": accept_external_dns,
    **{name: accept_certbot(plugin) for name, plugin in certbot.PLUGINS.items()},
}


def install(clients: Sequence[str]) -> None:
    """Install the programs for these clients below ~/.cache/dnspanel/clients. Raise NotInstalled if that fails."""
    for name in ("clients", "clients-certbot1"):
        python_programs(name)
    for name in ("pebble", *(client for client in ("lego", "external-dns") if client in clients)):
        began = time.monotonic()
        go_programs(name)
        if (took := time.monotonic() - began) > 1:
            say(f"built {name} in {took:.0f} s")
    forget_go_caches()


def accepted(client: str, service: Service) -> bool:
    """Return True if the client works with the service. Otherwise print the reason."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"{client}-") as directory:
        try:
            CLIENTS[client](service, Path(directory))
        except Exception:
            traceback.print_exc()
            say(f"{client:>22} {service.name:<12} FAILED")
            return False
    say(f"{client:>22} {service.name:<12} passed {time.monotonic() - began:6.1f} s")
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", action="append", choices=CLIENTS, help="only this client; repeatable")
    wanted = parser.parse_args().client or list(CLIENTS)
    install(wanted)
    with tempfile.TemporaryDirectory(prefix="pdns-") as directory, real_server(Path(directory)) as real:
        really = {client: accepted(client, real) for client in wanted}
    with stacks.bench_stack("clients") as bench:
        make_person(bench.stack, "automation")
        panel = panel_service(bench.stack, owner="automation")
        ours = {client: accepted(client, panel) for client in wanted}
    result = {client: "passed" if ours[client] else "failed" for client in wanted}
    pdns_failed = [client for client, passed in really.items() if not passed]
    say(json.dumps({"bench": "clients", **result, **({"failed_at_pdns_server": pdns_failed} if pdns_failed else {})}))
    sys.exit(0 if all(ours.values()) and not pdns_failed else 1)


if __name__ == "__main__":
    main()
