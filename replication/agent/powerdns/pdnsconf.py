"""Write a node's `pdns.conf`: one line for each setting, with its reason. Pure.

Settings that the agent relies on are marked `must`. Without them, PowerDNS doesn't find new zones, stale answers can
outlive an acknowledgement, or PowerDNS writes to files that only the agent is allowed to write.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from replication.agent.agent_config import AgentConfig, split_networks
from replication.agent.powerdns.running_config import CACHES
from replication.codec.schema import schema_for
from replication.wire.protocol import NEITHER, ComputedTypes

MIB = 1 << 20
LOOPBACK = ("127.0.0.0/8", "::1/128")


@dataclass(frozen=True, slots=True)
class PdnsSettings:
    """The settings that differ between nodes. `schema`: 4 for PowerDNS 4.7, 5 for 4.8 and 4.9, 6 for 5.0 and later."""

    schema: int
    lmdb_path: str
    socket_dir: str
    addresses: tuple[str, ...]
    port: int = 53
    cores: int = 1
    api_port: int = 8081
    api_key: str = ""  # without a key there is no web server, and so no live statistics
    map_size: int = 16000 * MIB
    cache_entries: int = 1_000_000
    transfers_to: tuple[str, ...] = ()  # networks that may transfer zones; none by default
    user: str = ""  # to run as, for a server started as root
    dname_processing: bool = True
    computed_types: ComputedTypes = NEITHER
    loglevel: int | None = None
    caches: bool = True


class Line(NamedTuple):
    """One setting with the reason for its value."""

    name: str
    value: str
    reason: str


def settings_of(config: AgentConfig, *, schema: int, computed_types: ComputedTypes) -> PdnsSettings:
    """Return PowerDNS's settings from the agent's configuration and the panel's choice of computed types."""
    return PdnsSettings(
        schema=schema,
        lmdb_path=str(config.lmdb_path),
        socket_dir=str(config.control_socket.parent),
        addresses=(config.dns_address,),
        port=config.dns_port,
        cores=config.receiver_threads,
        api_port=config.api_port,
        api_key=config.api_key,
        map_size=config.map_size,
        computed_types=computed_types,
        transfers_to=transfers_of(config),
        caches=config.caches,
    )


def transfers_of(config: AgentConfig) -> tuple[str, ...]:
    """Return the networks that are allowed to transfer zones, as configured.

    On a node that doesn't cache (ring 0), the default is loopback, because the panel's gateway transfers zones from
    there.
    """
    return split_networks(config.transfers_to) or (() if config.caches else LOOPBACK)


def render(settings: PdnsSettings) -> str:
    """Render the text of `pdns.conf`. Raise UnknownSchema if the schema isn't supported."""
    schema_for(settings.schema)
    blocks = (_data(settings), _caches(settings), _network(settings), _api(settings), _process(settings))
    text = ["# Written by dnspanel's agent; changes made here are overwritten.\n"]
    for block in blocks:
        text += [f"\n# {line.reason}\n{line.name}={line.value}\n" for line in block]
    return "".join(text)


def _data(settings: PdnsSettings) -> Iterator[Line]:
    yield Line("launch", "lmdb", "must: the data is in LMDB files that the agent writes in place")
    yield Line("lmdb-filename", settings.lmdb_path, "must: the main file; the records are in the same path with -0")
    yield Line("lmdb-shards", "1", "must: the agent writes one records file")
    yield Line(
        "lmdb-schema-version",
        str(settings.schema),
        "must: a newer PowerDNS refuses to start on these files instead of converting them, one way, under the agent",
    )
    yield Line(
        "lmdb-map-size",
        str(settings.map_size // MIB),
        "must: at least the agent's own, or every answer is SERVFAIL once the data outgrows it (MiB)",
    )
    yield Line("lmdb-sync-mode", "sync", "the few writes PowerDNS makes itself are as safe as the agent's")
    yield Line("primary", "no", "must: a primary writes notification times into the zone rows")
    yield Line("secondary", "no", "must: a secondary writes zones; here only the agent does")
    yield Line("dnsupdate", "no", "must: as above")
    if resolver := settings.computed_types.resolver:
        yield Line("expand-alias", "yes", "the panel names a resolver, by which an ALIAS is followed to its addresses")
        yield Line("resolver", resolver, "as above; it is asked for the targets of ALIAS and for nothing else")
    else:
        yield Line("expand-alias", "no", "ALIAS needs a resolver, and the panel names none for this node")
    lua = "yes" if settings.computed_types.lua else "no"
    yield Line("enable-lua-records", lua, "LUA records run code on the server: only where someone decided so")
    yield Line(
        "direct-dnskey",
        "yes",
        "DNSKEY, CDS and CDNSKEY records of a zone are those of its other signers: answered beside those of its keys",
    )
    dname = "yes" if settings.dname_processing else "no"
    yield Line(
        "dname-processing", dname, "a DNAME that is saved has to be followed; without any, it only costs lookups"
    )
    yield Line("8bit-dns", "yes", "names with bytes above 127 are legal and can be in a zone")
    if settings.schema >= 5:
        yield Line("ignore-unknown-settings", "resolve-across-zones", "younger releases know it, 4.8 does not")
        yield Line(
            "resolve-across-zones",
            "no",
            "a CNAME into another zone is left to the resolver: an answer made of two zones would stay in the "
            "packet cache when the other one changes",
        )


def _caches(settings: PdnsSettings) -> Iterator[Line]:
    if not settings.caches:
        for name in CACHES:
            yield Line(name, "0", "a private node: every answer comes from the files, so nothing has to be purged")
        return
    yield Line(
        "zone-cache-refresh-interval",
        "86400",
        "must be above 0: a question's zone is found in memory, not by lookups in LMDB for each of its labels; the "
        "agent tells PowerDNS of each new zone, so reading the whole list again is only a precaution",
    )
    yield Line("consistent-backends", "yes", "one lookup per name instead of one per type; our rows are consistent")
    # Only the newest releases can leave the targets of CNAMEs in other zones to the resolver (see _data).
    reach = (
        "the agent purges what changes; this bounds what it leaves: the serial beside an answer that there is no such "
        "name, and before 5.0 a CNAME to another zone's wildcard"
    )
    yield Line("cache-ttl", "20" if settings.schema >= 6 else "5", reach)
    yield Line("query-cache-ttl", "20", "rows, which a purge of their zone always reaches")
    yield Line("negquery-cache-ttl", "60", "as above")
    yield Line("max-packet-cache-entries", str(settings.cache_entries), "whole answers, about 0.5 kB each")
    yield Line("max-cache-entries", str(settings.cache_entries), "rows, about 0.5 kB each")


def _network(settings: PdnsSettings) -> Iterator[Line]:
    yield Line("local-address", ", ".join(settings.addresses), "where questions arrive; the agent asks here too")
    yield Line("local-port", str(settings.port), "as above")
    yield Line("receiver-threads", str(settings.cores), "must: the agent's `receiver_threads`; one per core")
    yield Line(
        "reuseport",
        "yes",
        "must: each receiver has a socket of its own, by which the agent knows that all of them went on",
    )
    yield Line(
        "distributor-threads",
        "1",
        "must: a receiver answers its question itself before it takes the next; also the fastest way with LMDB",
    )
    yield Line("max-tcp-connections", "128", "the default of 20 is soon used up by truncated answers")
    allowed = ", ".join(settings.transfers_to)
    yield Line("disable-axfr", "no" if allowed else "yes", "zones are nobody else's to copy unless told so")
    if allowed:
        yield Line("allow-axfr-ips", allowed, "who may transfer zones")
    yield Line("version-string", "anonymous", "the release is nobody's business")
    yield Line("security-poll-suffix", "", "a node asks nobody anything")


def _api(settings: PdnsSettings) -> Iterator[Line]:
    if not settings.api_key:
        return
    yield Line("webserver", "yes", "the agent reads the statistics here once a second")
    yield Line("webserver-address", "127.0.0.1", "must: releases up to 4.9.13 can be exhausted through it")
    yield Line("webserver-port", str(settings.api_port), "as above")
    yield Line("webserver-allow-from", "127.0.0.1", "as above")
    yield Line("webserver-loglevel", "none", "one request per second is nothing to log")
    yield Line("api", "yes", "the statistics are part of it")
    yield Line("api-key", settings.api_key, "known to the agent alone")


def _process(settings: PdnsSettings) -> Iterator[Line]:
    yield Line("socket-dir", settings.socket_dir, "must: the agent purges through the control socket in it")
    if settings.user:
        yield Line("setuid", settings.user, "must: the agent's user, or one cannot open the other's files")
        yield Line("setgid", settings.user, "as above")
    yield Line("daemon", "no", "a supervisor starts and stops it")
    yield Line("guardian", "no", "as above")
    yield Line("write-pid", "no", "as above")
    yield Line("disable-syslog", "yes", "the supervisor keeps what it prints")
    default = 4 if settings.schema == 4 else 3
    level = default if settings.loglevel is None else settings.loglevel
    yield Line("loglevel", str(level), "3 = errors, 4 = warnings too; younger releases warn of every single purge")
