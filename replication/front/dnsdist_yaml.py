"""The `dnsdist.yml` of a front, which dnsdist reads from 2.0 on: the decisions of `dnsdist_conf` in that form. Pure.

Values are written as JSON, which is YAML too. A backend is one line, by which a front that starts anew finds out who
was out of rotation.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from replication.front import decisions
from replication.front.config import FrontConfig
from replication.front.decisions import BACKEND_SECONDS, Means, Secrets
from replication.front.dnsdist_conf import server_id
from replication.store.applying import POSITION_ZONE
from replication.wire.front import Backend

_CACHE, _XSK = "answers", "packets"


class _Entry(NamedTuple):
    """One item of a list, and why it is there; None where the reason is why there is none."""

    value: Mapping[str, Any] | None
    reason: str


def render(config: FrontConfig, secrets: Secrets, means: Means, out: Collection[str] = ()) -> str:
    """The text of `dnsdist.yml`; the backends of these names begin out of rotation."""
    fixed = "".join((*_process(config, secrets), *_listeners(config, means), *_rules(config)))
    policy = decisions.policy(config.backends)
    live = _mapping("load_balancing_policies", {"default_policy": (policy.name, policy.reason)})
    backends = [_Entry(_backend(each, each.name in out), decisions.BACKEND) for each in config.backends]
    reason = f"\n# {decisions.ROTATION}\n"
    return f"# {decisions.WRITTEN}\n{fixed}\n# {decisions.LIVE}\n{live}{reason}{_list('backends', backends)}"


def out_in(text: str, backends: Iterable[Backend]) -> frozenset[str]:
    """Which of these are out of rotation in a `dnsdist.yml`."""
    lines = frozenset(text.splitlines())
    return frozenset(each.name for each in backends if _item(_backend(each, is_out=True)) in lines)


def _process(config: FrontConfig, secrets: Secrets) -> Iterator[str]:
    yield _mapping(
        "console",
        {
            "listen_address": (f"127.0.0.1:{config.control_port}", decisions.CONSOLE),
            "key": (secrets.console_key, decisions.CONSOLE_KEY),
        },
    )
    yield _mapping(
        "webserver",
        {
            "listen_addresses": ([f"127.0.0.1:{config.api_port}"], decisions.WEB_SERVER),
            "api_key": (secrets.api_key, decisions.API_KEY),
            "acl": (["127.0.0.1/32"], decisions.API_KEY),
        },
    )
    yield _mapping("security_polling", {"suffix": ("", decisions.ASKS_NOBODY)})
    yield _mapping("tuning", {"udp": ({"timeout": BACKEND_SECONDS}, decisions.UDP_TIMEOUT)})


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
        yield _list("xsk", [_Entry(socket, decisions.XSK)])
    yield f"\n# {decisions.EVERYBODY}\nacl: {json.dumps(['0.0.0.0/0', '::/0'])}\n"
    binds = []
    for endpoint in config.listen:
        plain = {"listen_address": str(endpoint), "protocol": "Do53", "reuseport": True}
        if means.queues:
            binds.append(_Entry(plain | {"threads": means.queues, "xsk": _XSK}, decisions.LISTENERS))
        if config.cores > means.queues:
            binds.append(_Entry(plain | {"threads": config.cores - means.queues}, decisions.LISTENERS))
    tls = {"certificates": [{"certificate": config.tls_certificate, "key": config.tls_key}]}
    for offered in decisions.encrypted(config, means.release):
        for address in offered.addresses:
            doh = {"doh": {"paths": [decisions.DOH_PATH]}} if offered.is_https else {}
            bind = {"listen_address": str(address), "protocol": offered.protocol, "tls": tls, **doh}
            binds.append(_Entry(bind, offered.reason))
        if not offered.addresses:
            binds.append(_Entry(None, offered.reason))
    yield _list("binds", binds)


def _rules(config: FrontConfig) -> Iterator[str]:
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
    yield _list("query_rules", rules)
    if entries := config.cache_entries:
        ages = {"max_ttl": decisions.MOST_TTL, "max_negative_ttl": decisions.MOST_NEGATIVE_TTL}
        yield _list("packet_caches", [_Entry({"name": _CACHE, "size": entries, **ages}, decisions.CACHE)])
        yield _list("pools", [_Entry({"name": "", "packet_cache": _CACHE}, decisions.CACHE)])


def _rule(selector: Mapping[str, Any], action: Mapping[str, Any], reason: str) -> _Entry:
    return _Entry({"selector": selector, "action": action}, reason)


def _backend(backend: Backend, is_out: bool) -> Mapping[str, Any]:
    return {
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


def _mapping(name: str, fields: Mapping[str, tuple[Any, str]]) -> str:
    """One key of the file, whose fields each have a reason."""
    text, previous = [f"\n{name}:\n"], ""
    for key, (value, reason) in fields.items():
        text.append("" if reason == previous else f"  # {reason}\n")
        text.append(f"  {key}: {json.dumps(value)}\n")
        previous = reason
    return "".join(text)


def _list(name: str, entries: Iterable[_Entry]) -> str:
    """One key of the file, whose items each have a reason."""
    text, previous = [f"\n{name}:\n"], ""
    for entry in entries:
        text.append("" if entry.reason == previous else f"  # {entry.reason}\n")
        text.append(f"{_item(entry.value)}\n" if entry.value is not None else "")
        previous = entry.reason
    return "".join(text)


def _item(value: Mapping[str, Any]) -> str:
    return f"  - {json.dumps(value)}"
