"""Render a front's `dnsdist.yml`, for dnsdist 2.0 and later, with the same settings as `dnsdist_conf`. Pure.

Values are written as JSON, which is also YAML. A backend is one line, so that a restarted front finds the backends that
were out of rotation.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from replication.front import decisions
from replication.front.decisions import BACKEND_SECONDS, Line, Means, Secrets, explain_lines
from replication.front.dnsdist_conf import server_id
from replication.front.front_config import FrontConfig
from replication.store.applying import POSITION_ZONE
from replication.wire.front_messages import Backend

_CACHE, _XSK = "answers", "packets"


def render(config: FrontConfig, secrets: Secrets, means: Means, out: Collection[str] = ()) -> str:
    """Render `dnsdist.yml`. The backends named in `out` start out of rotation."""
    fixed = "".join((*_process(config, secrets), *_listeners(config, means), *_rules(config, means)))
    policy = decisions.policy(config.backends)
    live = _key("load_balancing_policies", [_field("default_policy", policy.name, policy.reason)])
    backends = [_backend(each, is_out=each.name in out) for each in config.backends]
    reason = f"\n# {decisions.ROTATION}\n"
    return f"# {decisions.WRITTEN}\n{fixed}\n# {decisions.LIVE}\n{live}{reason}{_key('backends', backends)}"


def out_in(text: str, backends: Iterable[Backend]) -> frozenset[str]:
    """Return the names of the backends that are out of rotation in this `dnsdist.yml` text."""
    lines = frozenset(text.splitlines())
    return frozenset(each.name for each in backends if _backend(each, is_out=True).text in lines)


def _process(config: FrontConfig, secrets: Secrets) -> Iterator[str]:
    yield _key(
        "console",
        [
            _field("listen_address", f"127.0.0.1:{config.control_port}", decisions.CONSOLE),
            _field("key", secrets.console_key, decisions.CONSOLE_KEY),
        ],
    )
    yield _key(
        "webserver",
        [
            _field("listen_addresses", [f"127.0.0.1:{config.api_port}"], decisions.WEB_SERVER),
            _field("api_key", secrets.api_key, decisions.API_KEY),
            _field("acl", ["127.0.0.1/32"], decisions.API_KEY),
        ],
    )
    yield _key("security_polling", [_field("suffix", "", decisions.ASKS_NOBODY)])
    yield _key("tuning", [_field("udp", {"timeout": BACKEND_SECONDS}, decisions.UDP_TIMEOUT)])


def _listeners(config: FrontConfig, means: Means) -> Iterator[str]:
    if means.no_xdp:
        yield f"\n# {means.no_xdp}\n"
    if means.queues:
        socket = {
            "name": _XSK,
            "interface": config.xdp_interface,
            "queues": means.queues,
            "frames": decisions.XSK_FRAMES,
            "map_path": decisions.XSK_MAP,
        }
        yield _key("xsk", [_item(socket, decisions.XSK)])
    yield f"\n# {decisions.EVERYBODY}\nacl: {json.dumps(['0.0.0.0/0', '::/0'])}\n"
    binds = []
    for endpoint in config.listen:
        plain = {"listen_address": str(endpoint), "protocol": "Do53", "reuseport": True}
        if means.queues:
            binds.append(_item(plain | {"threads": means.queues, "xsk": _XSK}, decisions.LISTENERS))
        if config.cores > means.queues:
            binds.append(_item(plain | {"threads": config.cores - means.queues}, decisions.LISTENERS))
    tls = {"certificates": [{"certificate": config.tls_certificate, "key": config.tls_key}]}
    for offered in decisions.encrypted_protocols(config, means.release):
        more: dict[str, Any] = {"reuseport": True, "threads": config.cores} if offered.is_quic else {}
        if offered.is_https:
            headers = [{"key": name, "value": value} for name, value in offered.headers.items()]
            more["doh"] = {"paths": [decisions.DOH_PATH]} | ({"custom_response_headers": headers} if headers else {})
        for address in offered.addresses:
            bind = {"listen_address": str(address), "protocol": offered.protocol, "tls": tls, **more}
            binds.append(_item(bind, offered.reason))
        if not offered.addresses:
            binds.append(Line("", offered.reason))
    yield _key("binds", binds)


def _rules(config: FrontConfig, means: Means) -> Iterator[str]:
    refused = {"type": "RCode", "rcode": "Refused"}
    transfers = [{"type": "QType", "qtype": qtype} for qtype in ("AXFR", "IXFR")]
    rules = [
        _rule({"type": "Not", "selector": {"type": "Opcode", "code": "Query"}}, refused, decisions.QUERIES_ONLY),
        _rule({"type": "Or", "selectors": transfers}, refused, decisions.NO_TRANSFERS),
    ]
    if limit := config.queries_per_second:
        too_many = {"type": "MaxQPSIP", "qps": limit, "ipv4_mask": 32, "ipv6_mask": 64}
        both = {"type": "And", "selectors": [too_many, {"type": "TCP", "tcp": False}]}
        rules.append(_rule(both, {"type": "TC"}, decisions.LIMIT))
    position = {"type": "QNameSuffix", "suffixes": [POSITION_ZONE]}
    rules.append(_rule(position, {"type": "SetSkipCache"}, decisions.POSITION))
    if config.cache_entries and means.release.is_late_over_tcp:
        over_tcp = {"type": "TCP", "tcp": True}
        rules.append(_rule(over_tcp, {"type": "SetSkipCache"}, decisions.NO_CACHE_OVER_TCP))
    yield _key("query_rules", rules)
    if entries := config.cache_entries:
        ages = {"max_ttl": decisions.MOST_TTL, "max_negative_ttl": decisions.MOST_NEGATIVE_TTL}
        yield _key("packet_caches", [_item({"name": _CACHE, "size": entries, **ages}, decisions.CACHE)])
        yield _key("pools", [_item({"name": "", "packet_cache": _CACHE}, decisions.CACHE)])


def _rule(selector: Mapping[str, Any], action: Mapping[str, Any], reason: str) -> Line:
    return _item({"selector": selector, "action": action}, reason)


def _backend(backend: Backend, *, is_out: bool) -> Line:
    fields = {
        "address": str(backend.endpoint),
        "name": backend.name,
        "id": server_id(backend),
        "protocol": "Do53",
        "weight": backend.weight,
        "health_checks": {
            "mode": "down" if is_out else "auto",
            "qname": POSITION_ZONE,
            "qtype": "TXT",
            "must_resolve": True,
            "interval": 1,
            "max_failures": 1,
        },
        "tcp": {"connect_timeout": 1, "send_timeout": BACKEND_SECONDS, "receive_timeout": BACKEND_SECONDS},
    }
    return _item(fields, decisions.BACKEND)


def _key(name: str, lines: Iterable[Line]) -> str:
    """Format a key of the file with its fields or items."""
    return f"\n{name}:\n{explain_lines(lines, '  # ')}"


def _field(name: str, value: Any, reason: str) -> Line:
    return Line(f"  {name}: {json.dumps(value)}", reason)


def _item(value: Mapping[str, Any], reason: str) -> Line:
    return Line(f"  - {json.dumps(value)}", reason)
