"""Checks of the proxy, the gateway and each node's ports, as clients see them. Each step waits at most STEP_SECONDS."""

import socket
import ssl
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from functools import partial
from urllib.parse import urlsplit

import dns.exception
import dns.message
import dns.query
from cryptography import x509
from django.conf import settings

from dnspanel.checks import is_loopback
from dnspanel.fleet.models import Node
from dnspanel.fleet.processes.process_roles import PROXY, UPDATE, WEB
from dnspanel.monitoring.doctor.check_inputs import CheckInputs
from dnspanel.monitoring.doctor.file_checks import expiry_of, is_valid_for
from dnspanel.monitoring.doctor.findings import Finding, finding
from dnspanel.texts import gettext

STEP_SECONDS = 2.0
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # a server that listens there also answers here

Probe = Callable[[], Iterator[Finding]]


def probes(inputs: CheckInputs, named: Collection[str]) -> Iterator[tuple[str, Probe]]:
    """Yield the name of each probe with the probe, which is safe to call in a thread. Skip nodes that are `named`."""
    if inputs.processes.processes:
        yield "proxy", _probe_proxy
    if settings.PANEL_URL.startswith("https:"):
        yield "certificate", partial(_probe_certificate, inputs.now)
    if inputs.runs_here(UPDATE):
        yield "gateway", _probe_gateway
    # An address on loopback is another machine's, unless the process that connects to it runs here.
    is_here = inputs.runs_here("push")
    for node in (each for each in inputs.nodes if f"node.standing:{each.name}" not in named):
        if is_here or not is_loopback(node.agent_host):
            yield f"agent of {node.name}", partial(_probe_agent, node)
        if is_here or not is_loopback(node.dns_address):
            yield f"DNS of {node.name}", partial(_probe_dns, node)


def _probe_proxy() -> Iterator[Finding]:
    try:
        _connect(settings.PROXY_URL)
    except OSError as exc:
        message = gettext("The panel’s proxy doesn’t answer at {place}: {reason}.")
        causes = ["panel.not_running", f"panel.process:{PROXY}", f"panel.process:{WEB}"]
        yield finding("panel.proxy", message.format(place=settings.PROXY_URL, reason=exc), causes=causes)


def _probe_certificate(now: datetime) -> Iterator[Finding]:
    """Check the name and the expiry of the certificate that browsers see, or of PROXY_URL's if it can't be reached."""
    for url in (settings.PANEL_URL, settings.PROXY_URL):
        try:
            encoded = _connect(url)
        except OSError:
            continue
        if not encoded:
            return
        certificate = x509.load_der_x509_certificate(encoded)
        yield from expiry_of(certificate, "panel", settings.PANEL_URL, now)
        if not is_valid_for(urlsplit(settings.PANEL_URL).hostname or "", certificate):
            message = gettext("The certificate of {place} is not valid for this name.")
            yield finding("panel.tls_name", message.format(place=settings.PANEL_URL))
        return


def _connect(url: str) -> bytes:
    """Connect as browsers do, and return the certificate, or b"" without TLS. Don't check the certificate's issuer."""
    where = urlsplit(url)
    port = where.port or (443 if where.scheme == "https" else 80)
    with socket.create_connection((where.hostname or "", port), STEP_SECONDS) as connection:
        if where.scheme != "https":
            return b""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(connection, server_hostname=urlsplit(settings.PANEL_URL).hostname) as encrypted:
            return encrypted.getpeercert(binary_form=True) or b""


def _probe_gateway() -> Iterator[Finding]:
    address, port = _ANY.get(settings.UPDATE_HOST, settings.UPDATE_HOST), settings.UPDATE_PORT
    asks: dict[str, Callable[..., object]] = {f"UDP {port}": dns.query.udp, f"TCP {port}": dns.query.tcp}
    answers = {name: _answers(address, port, ask) for name, ask in asks.items()}
    if settings.UPDATE_TLS_PORT:
        answers[f"TCP {settings.UPDATE_TLS_PORT}"] = _accepts(address, settings.UPDATE_TLS_PORT)
    if silent := ", ".join(name for name, is_answered in answers.items() if not is_answered):
        message = gettext("The gateway doesn’t answer on {address}, {ports}.").format(address=address, ports=silent)
        yield finding("gateway.port", message, causes=[f"panel.process:{UPDATE}"])


def _probe_agent(node: Node) -> Iterator[Finding]:
    if not _accepts(node.agent_host, node.agent_port):
        message = gettext("The panel can’t connect to the agent of {name} at {address}, TCP port {port}.")
        text = message.format(name=node.name, address=node.agent_host, port=node.agent_port)
        yield finding("node.agent_port", text, node.name, causes=[f"node.standing:{node.name}"])


def _probe_dns(node: Node) -> Iterator[Finding]:
    udp, tcp = (_answers(node.dns_address, node.dns_port, ask) for ask in (dns.query.udp, dns.query.tcp))
    kind, message = "node.dns", gettext("{name} answers no DNS queries at {address}, port {port}.")
    if udp and tcp:
        return
    if udp:
        kind, message = "node.dns_tcp", gettext("{name} answers no DNS queries over TCP at {address}, port {port}.")
    if tcp:
        kind, message = "node.dns_udp", gettext("{name} answers no DNS queries over UDP at {address}, port {port}.")
    text = message.format(name=node.name, address=node.dns_address, port=node.dns_port)
    causes = [f"{each}:{node.name}" for each in ("node.powerdns", "node.standing", "node.release", "node.agent_port")]
    yield finding(kind, text, node.name, causes=causes)


def _accepts(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), STEP_SECONDS).close()
    except OSError:
        return False
    return True


def _answers(address: str, port: int, ask: Callable[..., object]) -> bool:
    """Return True if a server answers a DNS query there, with any response code. A lost packet is sent again."""
    for _ in range(2 if ask is dns.query.udp else 1):
        try:
            ask(dns.message.make_query(".", "SOA"), address, timeout=STEP_SECONDS, port=port)
        except (dns.exception.DNSException, EOFError, OSError):
            continue
        return True
    return False
