"""Decide the settings for a front's dnsdist, with reasons, independently of the configuration format. Pure.

Values that the front's agent relies on are marked `must`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from replication.front.front_config import FrontConfig
from replication.front.release import DOH, DOH3, DOQ, DOT, Release
from replication.wire.front_messages import Backend, Endpoint

# The time that dnsdist waits for a node.
BACKEND_SECONDS = 2
MOST_TTL, MOST_NEGATIVE_TTL = 3600, 300
DOH_PATH = "/dns-query"
# The path of the kernel objects for dnsdist (`xdp`), and the number of packets that fit: 32 MB for each queue.
XSK_MAP, XSK_FRAMES = "/sys/fs/bpf/dnsdist/xskmap", 16384

WRITTEN = "Written by dnspanel's front; changes made here are overwritten."
# Text after this line is sent to a running dnsdist; changes before it need a restart.
LIVE = "The nodes. What follows is changed in the running dnsdist too, by the agent."

CONSOLE = "must: the agent takes backends out of rotation through it"
CONSOLE_KEY = "must: without a key anybody on this machine could"
WEB_SERVER = "must: the agent reads the states and the numbers here"
API_KEY = "known to the agent alone; no password, so the pages are closed"
ASKS_NOBODY = "a front asks nobody anything"
UDP_TIMEOUT = "must: what nodes may still answer is over after this"
XSK = "packets of the interface come here past the kernel (AF_XDP), one socket for each of its queues"
LISTENERS = "where questions arrive: a socket for each core, among which the kernel shares them out"
EVERYBODY = "zones are for everybody; dnsdist's own list has private networks only"
QUERIES_ONLY = "changes and notices never come this way: behind a front everybody has its address"
NO_TRANSFERS = "nor do transfers, which are allowed by address"
LIMIT = "who asks more is told to come by TCP, which nobody can do under another's address"
POSITION = "must: how far a node is comes from the node"
NO_CACHE_OVER_TCP = (
    "must: over TCP, TLS, HTTPS and QUIC nodes are asked: dnsdist's threads for TCP learn too late of zones that change"
)
CACHE = "answers are kept; the agent sees to it that none is given of a zone that has changed"
BACKEND = "must: dnsdist itself takes out who gives no position; who is late is the agent's to find out"
ROTATION = "must: a dnsdist that starts anew begins with those out of rotation that were"


class Secrets(NamedTuple):
    """Secrets shared only by dnsdist and the agent on the same machine."""

    console_key: str  # 32 bytes in Base64
    api_key: str


@dataclass(frozen=True, slots=True)
class Means:
    """The installed dnsdist release, and the kernel features that it can use on this machine."""

    release: Release
    queues: int = 0  # the interface's queues that bypass the kernel; 0: none
    no_xdp: str = ""  # the reason if packets should bypass the kernel but don't


class Line(NamedTuple):
    """A configuration line with its reason. If its text is empty, the reason explains why the line is missing."""

    text: str
    reason: str


class Policy(NamedTuple):
    """A dnsdist policy for choosing a backend."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Offered:
    """An encrypted protocol for clients. If it has no addresses, the reason explains why it is not offered."""

    protocol: str
    call: str
    reason: str
    addresses: tuple[Endpoint, ...]
    headers: Mapping[str, str] = field(default_factory=dict)  # of each answer over HTTPS, in addition to dnsdist's own

    @property
    def is_https(self) -> bool:
        """True for DNS over HTTP/1 and HTTP/2, which needs a path in dnsdist's configuration."""
        return self.protocol == "DoH"

    @property
    def is_quic(self) -> bool:
        """True for QUIC protocols. dnsdist uses one thread for each of their sockets, as for UDP."""
        return self.protocol in ("DoQ", "DoH3")


def explain_lines(lines: Iterable[Line], opening: str) -> str:
    """Format configuration lines, each below `opening` and its reason. Equal reasons in a row are written once."""
    text, previous = [], ""
    for line in lines:
        text.append("" if line.reason == previous else f"{opening}{line.reason}\n")
        text.append(f"{line.text}\n" if line.text else "")
        previous = line.reason
    return "".join(text)


def needs_restart(before: str, after: str) -> bool:
    """Return True if dnsdist must be restarted to apply the configuration text `after` instead of `before`."""
    return before.partition(LIVE)[0] != after.partition(LIVE)[0]


def policy(backends: Sequence[Backend]) -> Policy:
    """Return dnsdist's policy for these backends: by weight if the weights differ, else by the fewest open queries."""
    if len({backend.weight for backend in backends}) > 1:
        return Policy("wrandom", "by weight")
    return Policy("leastOutstanding", "to whoever has the fewest questions open, the fastest first")


def encrypted_protocols(config: FrontConfig, release: Release) -> Iterator[Offered]:
    """Yield each configured protocol, without addresses if dnsdist lacks it. Yield nothing if no certificate is set."""
    if not config.tls_certificate:
        return
    # Browsers learn of HTTP/3 only from this header.
    has_http3 = config.doh3_port and DOH3 in release.features
    headers = {"alt-svc": f'h3=":{config.doh3_port}"'} if has_http3 else {}
    for feature, protocol, call, port, name in (
        (DOT, "DoT", "addTLSLocal", config.dot_port, "DNS over TLS (RFC 7858)"),
        (DOH, "DoH", "addDOHLocal", config.doh_port, "DNS over HTTPS (RFC 8484)"),
        (DOQ, "DoQ", "addDOQLocal", config.doq_port, "DNS over QUIC (RFC 9250)"),
        (DOH3, "DoH3", "addDOH3Local", config.doh3_port, "DNS over HTTP/3 (RFC 8484, RFC 9114)"),
    ):
        if port and feature in release.features:
            yield Offered(protocol, call, name, tuple(_at(config.listen, port)), headers if feature == DOH else {})
        elif port:
            yield Offered(protocol, call, f"no {name}: this dnsdist was built without it", ())


def _at(listen: Iterable[Endpoint], port: int) -> Iterator[Endpoint]:
    """Yield these endpoints with another port, without duplicates."""
    yield from dict.fromkeys(Endpoint(endpoint.address, port) for endpoint in listen)
