"""Render a front's `dnsdist.conf`: one line for each setting, with its reason. Pure.

The file is Lua, which dnsdist 1.7 and later can read. `dnsdist_yaml` writes the same settings as YAML. Console commands
for a running dnsdist are always Lua, and are defined in this module.
"""

from collections.abc import Iterable, Iterator, Sequence
from uuid import NAMESPACE_OID, uuid5

from replication.front import decisions
from replication.front.bypass import EVERYTHING
from replication.front.decisions import BACKEND_SECONDS, Line, Means, Secrets, explain_lines
from replication.front.front_config import FrontConfig
from replication.store.applying import POSITION_ZONE
from replication.wire.front_messages import Backend

# Releases from 1.8 on have another name for it, and releases from 1.9 on need suffixes under that name.
_SKIP_CACHE = "(SetSkipCacheAction or SkipCacheAction)()"
_SUFFIXES = "(QNameSuffixRule or makeRule)"
_REASON = "\n-- "


def render(config: FrontConfig, secrets: Secrets, means: Means) -> str:
    """Render `dnsdist.conf`."""
    blocks = (_process(config, secrets), _listeners(config, means), _rules(config, means))
    fixed = "".join(explain_lines(block, _REASON) for block in blocks)
    live = explain_lines(_backends(config), _REASON)
    return f"-- {decisions.WRITTEN}\n{fixed}\n-- {decisions.LIVE}\n{live}"


def rotation_text(out: Iterable[str]) -> str:
    """Return the Lua code that takes the backends with these names out of rotation when dnsdist starts."""
    names = ", ".join(f"[{_quote_lua(name)}]=true" for name in sorted(out))
    return (
        "-- Out of rotation when this was written.\n"
        f"local out = {{{names}}}\n"
        "for _, server in pairs(getServers()) do if out[server.name] then server:setDown() end end\n"
    )


def server_id(backend: Backend) -> str:
    """Return this backend's id in dnsdist's console."""
    return str(uuid5(NAMESPACE_OID, f"dnspanel front {backend.name} {backend.endpoint} {backend.weight}"))


def new_server(backend: Backend) -> str:
    """Return the Lua call that creates this backend."""
    return (
        f'newServer({{address="{backend.endpoint}", name="{backend.name}", id="{server_id(backend)}", '
        f'weight={backend.weight}, checkName="{POSITION_ZONE}", checkType="TXT", mustResolve=true, checkInterval=1, '
        f"maxCheckFailures=1, tcpConnectTimeout=1, tcpSendTimeout={BACKEND_SECONDS}, "
        f"tcpRecvTimeout={BACKEND_SECONDS}}})"
    )


def remove_servers(names: Iterable[str]) -> list[str]:
    """Return the Lua calls that remove the backends with these names."""
    return [_for_servers(name, "rmServer(server)") for name in sorted(names)]


def take_down_servers(names: Iterable[str]) -> list[str]:
    """Return the Lua calls that mark these backends as down, so that no dnsdist thread queries them."""
    return [_for_servers(name, "server:setDown()") for name in sorted(names)]


def server_policy(backends: Sequence[Backend]) -> str:
    """Return the Lua call that sets the policy for choosing a backend."""
    return f"setServerPolicy({decisions.policy(backends).name})"


def hold_rule(zones: Iterable[str], rule_id: str) -> str:
    """Return the Lua call that adds a rule with this UUID, which makes these zones bypass the cache."""
    names = list(zones)
    selector = "AllRule()" if EVERYTHING in names else _suffixes(names)
    return f'addAction({selector}, {_SKIP_CACHE}, {{uuid="{rule_id}"}})'


def expunge(zones: Iterable[str]) -> list[str]:
    """Return the Lua calls that purge these zones from the cache."""
    names = list(zones)
    cache = 'getPool(""):getCache()'
    if EVERYTHING in names:
        return [f"{cache}:expunge(0)"]
    return [f"{cache}:expungeByName(newDNSName({_quote_lua(name)}), DNSQType.ANY, true)" for name in names]


def _process(config: FrontConfig, secrets: Secrets) -> Iterator[Line]:
    yield Line(f'controlSocket("127.0.0.1:{config.control_port}")', decisions.CONSOLE)
    yield Line(f"setKey({_quote_lua(secrets.console_key)})", decisions.CONSOLE_KEY)
    yield Line(f'webserver("127.0.0.1:{config.api_port}")', decisions.WEB_SERVER)
    yield Line(f'setWebserverConfig({{apiKey={_quote_lua(secrets.api_key)}, acl="127.0.0.1/32"}})', decisions.API_KEY)
    yield Line('setSecurityPollSuffix("")', decisions.ASKS_NOBODY)
    yield Line(f"setUDPTimeout({BACKEND_SECONDS})", decisions.UDP_TIMEOUT)


def _listeners(config: FrontConfig, means: Means) -> Iterator[Line]:
    if means.no_xdp:
        yield Line("", means.no_xdp)
    for queue in range(means.queues):
        name, path = _quote_lua(config.xdp_interface), _quote_lua(decisions.XSK_MAP)
        call = f"newXsk({{ifName={name}, NIC_queue_id={queue}, frameNums={decisions.XSK_FRAMES}, xskMapPath={path}}})"
        yield Line(f"local xsk{queue} = {call}", decisions.XSK)
    call = "setLocal"
    for endpoint in config.listen:
        for number in range(max(config.cores, means.queues)):
            xsk = f", xskSocket=xsk{number}" if number < means.queues else ""
            yield Line(f'{call}("{endpoint}", {{reusePort=true{xsk}}})', decisions.LISTENERS)
            call = "addLocal"
    yield Line('setACL({"0.0.0.0/0", "::/0"})', decisions.EVERYBODY)
    files = f"{_quote_lua(config.tls_certificate)}, {_quote_lua(config.tls_key)}"
    for offered in decisions.encrypted_protocols(config, means.release):
        options = ", {reusePort=true}" if offered.is_quic else ""
        if offered.is_https:
            headers = ", ".join(f"[{_quote_lua(name)}]={_quote_lua(value)}" for name, value in offered.headers.items())
            options = f', "{decisions.DOH_PATH}"' + (f", {{customResponseHeaders={{{headers}}}}}" if headers else "")
        for address in offered.addresses:
            line = Line(f'{offered.call}("{address}", {files}{options})', offered.reason)
            yield from [line] * (config.cores if offered.is_quic else 1)
        if not offered.addresses:
            yield Line("", offered.reason)


def _rules(config: FrontConfig, means: Means) -> Iterator[Line]:
    yield Line("addAction(NotRule(OpcodeRule(DNSOpcode.Query)), RCodeAction(DNSRCode.REFUSED))", decisions.QUERIES_ONLY)
    yield Line(
        "addAction(OrRule({QTypeRule(DNSQType.AXFR), QTypeRule(DNSQType.IXFR)}), RCodeAction(DNSRCode.REFUSED))",
        decisions.NO_TRANSFERS,
    )
    if limit := config.queries_per_second:
        yield Line(
            f"addAction(AndRule({{MaxQPSIPRule({limit}, 32, 64), TCPRule(false)}}), TCAction())", decisions.LIMIT
        )
    yield Line(f"addAction({_suffixes([POSITION_ZONE])}, {_SKIP_CACHE})", decisions.POSITION)
    if entries := config.cache_entries:
        if means.release.is_late_over_tcp:
            yield Line(f"addAction(TCPRule(true), {_SKIP_CACHE})", decisions.NO_CACHE_OVER_TCP)
        ages = f"maxTTL={decisions.MOST_TTL}, maxNegativeTTL={decisions.MOST_NEGATIVE_TTL}"
        yield Line(f'getPool(""):setCache(newPacketCache({entries}, {{{ages}}}))', decisions.CACHE)


def _backends(config: FrontConfig) -> Iterator[Line]:
    yield Line(server_policy(config.backends), decisions.policy(config.backends).reason)
    for backend in config.backends:
        yield Line(new_server(backend), decisions.BACKEND)
    yield Line(f"includeDirectory({_quote_lua(str(config.rotation_dir))})", decisions.ROTATION)


def _for_servers(name: str, call: str) -> str:
    return f"for _, server in pairs(getServers()) do if server.name == {_quote_lua(name)} then {call} end end"


def _suffixes(names: Iterable[str]) -> str:
    """Return a dnsdist selector that matches these names and all names below them."""
    return f"{_SUFFIXES}({{{', '.join(map(_quote_lua, names))}}})"


def _quote_lua(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
