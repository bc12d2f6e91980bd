"""The `dnsdist.conf` of a front: one line per decision, each with its reason. Pure.

It is Lua, as dnsdist 1.7 and everything later reads it. What the front's agent relies on is marked `must`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid5

from replication.front.bypass import EVERYTHING
from replication.front.config import FrontConfig
from replication.store.applying import POSITION_ZONE
from replication.wire.front import Backend

# How long dnsdist waits for a node.
BACKEND_SECONDS = 2
# Releases from 1.8 on have another name for it.
_SKIP_CACHE = "(SetSkipCacheAction or SkipCacheAction)()"


class Secrets(NamedTuple):
    """What only dnsdist and the agent beside it know."""

    console_key: str  # 32 bytes in Base64
    api_key: str


class Line(NamedTuple):
    """One call and why it is made."""

    text: str
    reason: str


# What is behind this line a running dnsdist is told; for anything before it, it has to start anew.
_LIVE = "\n-- The nodes. What follows is changed in the running dnsdist too, by the agent.\n"


def render(config: FrontConfig, secrets: Secrets) -> str:
    """The text of `dnsdist.conf`."""
    fixed = _text((_process(config, secrets), _listeners(config), _rules(config)))
    live = _text((_backends(config),))
    return f"-- Written by dnspanel's front; changes made here are overwritten.\n{fixed}{_LIVE}{live}"


def needs_restart(before: str, after: str) -> bool:
    """Whether only a dnsdist that starts anew goes by the text `after`, where it went by `before`."""
    return before.partition(_LIVE)[0] != after.partition(_LIVE)[0]


def _text(blocks: Iterable[Iterable[Line]]) -> str:
    text = []
    for block in blocks:
        previous = ""
        for line in block:
            text.append(f"{line.text}\n" if line.reason == previous else f"\n-- {line.reason}\n{line.text}\n")
            previous = line.reason
    return "".join(text)


def rotation_text(out: Iterable[str]) -> str:
    """What dnsdist reads when it starts: the backends, by name, that are out of rotation."""
    names = ", ".join(f"[{_quoted(name)}]=true" for name in sorted(out))
    return (
        "-- Out of rotation when this was written.\n"
        f"local out = {{{names}}}\n"
        "for _, server in pairs(getServers()) do if out[server.name] then server:setDown() end end\n"
    )


def server_id(backend: Backend) -> str:
    """By which the console speaks of this backend."""
    return str(uuid5(NAMESPACE_OID, f"dnspanel front {backend.name} {backend.endpoint} {backend.weight}"))


def new_server(backend: Backend) -> str:
    """The call that makes this backend."""
    return (
        f'newServer({{address="{backend.endpoint}", name="{backend.name}", id="{server_id(backend)}", '
        f'weight={backend.weight}, checkName="{POSITION_ZONE}", checkType="TXT", mustResolve=true, checkInterval=1, '
        f"maxCheckFailures=1, tcpConnectTimeout=1, tcpSendTimeout={BACKEND_SECONDS}, "
        f"tcpRecvTimeout={BACKEND_SECONDS}}})"
    )


def remove_servers(names: Iterable[str]) -> list[str]:
    """The calls after which dnsdist has no backend of these names."""
    return [
        f"for _, server in pairs(getServers()) do if server.name == {_quoted(name)} then rmServer(server) end end"
        for name in sorted(names)
    ]


def server_policy(backends: Sequence[Backend]) -> str:
    """The call that says which backend is asked."""
    weighted = len({backend.weight for backend in backends}) > 1
    return f"setServerPolicy({'wrandom' if weighted else 'leastOutstanding'})"


def hold_rule(zones: Iterable[str], rule_id: str) -> str:
    """The call that makes a rule with this UUID: of these zones nothing comes from the cache, or gets into it."""
    names = list(zones)
    suffixes = "AllRule()" if EVERYTHING in names else "{" + ", ".join(map(_quoted, names)) + "}"
    return f'addAction({suffixes}, {_SKIP_CACHE}, {{uuid="{rule_id}"}})'


def expunge(zones: Iterable[str]) -> list[str]:
    """The calls after which the cache has nothing of these zones."""
    names = list(zones)
    cache = 'getPool(""):getCache()'
    if EVERYTHING in names:
        return [f"{cache}:expunge(0)"]
    return [f"{cache}:expungeByName(newDNSName({_quoted(name)}), DNSQType.ANY, true)" for name in names]


def _process(config: FrontConfig, secrets: Secrets) -> Iterator[Line]:
    console = f'controlSocket("127.0.0.1:{config.control_port}")'
    yield Line(console, "must: the agent takes backends out of rotation through it")
    yield Line(f"setKey({_quoted(secrets.console_key)})", "must: without a key anybody on this machine could")
    yield Line(f'webserver("127.0.0.1:{config.api_port}")', "must: the agent reads the states and the numbers here")
    yield Line(
        f'setWebserverConfig({{apiKey={_quoted(secrets.api_key)}, acl="127.0.0.1/32"}})',
        "known to the agent alone; no password, so the pages are closed",
    )
    yield Line('setSecurityPollSuffix("")', "a front asks nobody anything")
    yield Line(f"setUDPTimeout({BACKEND_SECONDS})", "must: what nodes may still answer is over after this")


def _listeners(config: FrontConfig) -> Iterator[Line]:
    reason = "where questions arrive: a socket for each core, among which the kernel shares them out"
    call = "setLocal"
    for endpoint in config.listen:
        for _ in range(config.cores):
            yield Line(f'{call}("{endpoint}", {{reusePort=true}})', reason)
            call = "addLocal"
    yield Line('setACL({"0.0.0.0/0", "::/0"})', "zones are for everybody; dnsdist's own list has private networks only")
    if not config.tls_certificate:
        return
    files = f"{_quoted(config.tls_certificate)}, {_quoted(config.tls_key)}"
    for endpoint in config.listen:
        host = str(endpoint).rpartition(":")[0]
        if config.dot_port:
            yield Line(f'addTLSLocal("{host}:{config.dot_port}", {files})', "DNS over TLS (RFC 7858)")
        if config.doh_port:
            yield Line(f'addDOHLocal("{host}:{config.doh_port}", {files}, "/dns-query")', "DNS over HTTPS (RFC 8484)")


def _rules(config: FrontConfig) -> Iterator[Line]:
    yield Line(
        "addAction(NotRule(OpcodeRule(DNSOpcode.Query)), RCodeAction(DNSRCode.REFUSED))",
        "changes and notices never come this way: behind a front everybody has its address",
    )
    yield Line(
        "addAction(OrRule({QTypeRule(DNSQType.AXFR), QTypeRule(DNSQType.IXFR)}), RCodeAction(DNSRCode.REFUSED))",
        "nor do transfers, which are allowed by address",
    )
    if limit := config.queries_per_second:
        yield Line(
            f"addAction(AndRule({{MaxQPSIPRule({limit}, 32, 64), TCPRule(false)}}), TCAction())",
            "who asks more is told to come by TCP, which nobody can do under another's address",
        )
    yield Line(
        f"addAction({{{_quoted(POSITION_ZONE)}}}, {_SKIP_CACHE})",
        "must: how far a node is comes from the node",
    )
    if entries := config.cache_entries:
        yield Line(
            f'getPool(""):setCache(newPacketCache({entries}, {{maxTTL=3600, maxNegativeTTL=300}}))',
            "answers are kept; the agent sees to it that none is given of a zone that has changed",
        )


def _backends(config: FrontConfig) -> Iterator[Line]:
    weighted = len({backend.weight for backend in config.backends}) > 1
    yield Line(
        server_policy(config.backends),
        "by weight" if weighted else "to whoever has the fewest questions open, the fastest first",
    )
    for backend in config.backends:
        yield Line(
            new_server(backend),
            "must: dnsdist itself takes out who gives no position; who is late is the agent's to find out",
        )
    yield Line(
        f"includeDirectory({_quoted(str(config.rotation_dir))})",
        "must: a dnsdist that starts anew begins with those out of rotation that were",
    )


def _quoted(text: str) -> str:
    """A Lua string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
