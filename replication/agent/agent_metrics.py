"""Export a node's own metrics to Prometheus over plain HTTP, if agent.toml sets a port for them."""

import logging
import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from replication import stats
from replication.agent.powerdns.observe import Counters
from replication.agent.strangers import Strangers
from replication.wire.protocol import Status

METRICS_PATH = "/metrics"
PLAIN_TEXT = "text/plain; charset=utf-8"
# The longest time that a stuck scraper occupies a thread.
IDLE_SECONDS = 10.0

logger = logging.getLogger(__name__)

Family = CounterMetricFamily | GaugeMetricFamily


class MetricsServer(ThreadingHTTPServer):
    """An HTTP server for `GET /metrics` only, without authentication of clients."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(
        self, address: tuple[str, int], *, status: Callable[[], Status], counters: Callable[[], Counters | None]
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._status, self._counters = status, counters
        self._strangers = Strangers()
        super().__init__(address, _Handler)

    def get_request(self) -> tuple[Any, Any]:
        request, address = super().get_request()
        self._strangers.add(request, address[0])
        return request, address

    def shutdown_request(self, request: Any) -> None:
        self._strangers.remove(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.debug("a scrape of %s ended unexpectedly", client_address[0], exc_info=True)

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Node(self._status(), self._counters()))
        return generate_latest(registry)


class _Handler(BaseHTTPRequestHandler):
    timeout = IDLE_SECONDS
    server: MetricsServer

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != METRICS_PATH:
            self._answer(404, f"There is {METRICS_PATH} and nothing else.\n".encode(), PLAIN_TEXT)
            return
        try:
            text = self.server.exposition()
        except Exception:
            # A silently closed connection would look like a network fault, and nothing would indicate the agent.
            logger.exception("metrics failed")
            self._answer(500, b"The metrics could not be read; this agent's log says why.\n", PLAIN_TEXT)
        else:
            self._answer(200, text, CONTENT_TYPE_LATEST)

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, message: str, *args: Any) -> None:
        logger.debug(message, *args)


class _Node(Collector):
    def __init__(self, status: Status, counters: Counters | None) -> None:
        self._status, self._counters = status, counters

    def collect(self) -> Iterator[Metric]:
        yield from _of_stats()
        yield from _of_status(self._status)
        if self._counters is not None:
            yield from _of_powerdns(self._counters)


def _of_stats() -> Iterator[Family]:
    for metric in vars(stats).values():
        if isinstance(metric, stats.Counter):
            yield CounterMetricFamily(metric.name, metric.about, value=metric.value)
        elif isinstance(metric, stats.Maximum):
            yield GaugeMetricFamily(metric.name, metric.about, value=metric.value)


def _of_status(status: Status) -> Iterator[Family]:
    position = status.position.sequence if status.position else 0
    answered = status.answered.sequence if status.answered else 0
    for name, about, value in (
        ("position", "The newest sequence in the LMDB files", position),
        ("answered", "The newest sequence that PowerDNS was seen to answer", answered),
        ("schema", "PowerDNS's LMDB schema of the files", status.schema),
        ("powerdns_answers", "Whether PowerDNS answers as it should", not status.unserved),
        ("refusing", "Whether the last push was refused", bool(status.refusal)),
        ("map_used_ratio", "How full the fuller of the LMDB maps is", status.map_used),
        ("disk_free_bytes", "Free bytes on the disk with the LMDB files", status.disk_free_bytes),
        ("disk_bytes", "Size of that disk", status.disk_bytes),
        ("disk_free_inodes", "Free inodes of that disk", status.disk_free_inodes),
        ("disk_inodes", "Inodes of that disk; 0: it makes them as it needs them", status.disk_inodes),
        ("oldest_reader_transactions", "Transactions since the oldest LMDB reader began", status.oldest_reader),
        ("memory_bytes", "Memory of this agent", status.rss_bytes),
        ("memory_peak_bytes", "The most that it was", status.peak_rss_bytes),
        ("diverged_zones", "Zones whose rows are not what this agent wrote", status.diverged_count),
        ("checked_timestamp_seconds", "When a check of every row last ended", status.checked_at),
        ("started_timestamp_seconds", "When this agent was started", status.started_at),
        ("certificate_expiry_timestamp_seconds", "When its certificate ends", status.certificate_expires_at),
    ):
        yield GaugeMetricFamily(f"dnspanel_agent_{name}", about, value=float(value))
    info = GaugeMetricFamily("dnspanel_agent_info", "Versions; always 1", labels=("node", *sorted(status.versions)))
    info.add_metric([status.node, *(status.versions[name] for name in sorted(status.versions))], 1)
    yield info


def _of_powerdns(counters: Counters) -> Iterator[Family]:
    queries = CounterMetricFamily("dnspanel_powerdns_queries", "Questions that PowerDNS took", labels=("transport",))
    queries.add_metric(["udp"], counters.udp)
    queries.add_metric(["tcp"], counters.tcp)
    answers = CounterMetricFamily("dnspanel_powerdns_answers", "Answers that PowerDNS gave", labels=("rcode",))
    for rcode, count in counters.rcodes.items():
        answers.add_metric([rcode], count)
    cache = CounterMetricFamily(
        "dnspanel_powerdns_cache_lookups", "Lookups in PowerDNS's caches", labels=("cache", "result")
    )
    for name, hits, misses in (
        ("packet", counters.packet_hits, counters.packet_misses),
        ("query", counters.query_hits, counters.query_misses),
    ):
        cache.add_metric([name, "hit"], hits)
        cache.add_metric([name, "miss"], misses)
    yield from (queries, answers, cache)
    yield GaugeMetricFamily("dnspanel_powerdns_uptime_seconds", "How long PowerDNS has run", value=counters.uptime)
    yield GaugeMetricFamily(
        "dnspanel_powerdns_latency_seconds",
        "Its own running average of the time for an answer",
        value=counters.latency_us / 1e6,
    )
    yield GaugeMetricFamily("dnspanel_powerdns_memory_bytes", "Memory of PowerDNS", value=counters.memory_bytes)
