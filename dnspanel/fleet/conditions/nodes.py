"""Conditions for problems of one node. Pure."""

from collections.abc import Collection
from datetime import datetime, timedelta

from dnspanel.conditions import Condition, Severity
from dnspanel.durations import duration_text
from dnspanel.fleet.conditions.certificates import certificate_condition
from dnspanel.fleet.conditions.condition_inputs import NodeInputs
from dnspanel.fleet.conditions.disks import disk_share, size_text
from dnspanel.fleet.conditions.setup import setup_faults
from dnspanel.fleet.node_health import Word
from dnspanel.texts import gettext, gettext_noop, ngettext
from replication.wire.front_messages import front_report_in

# A code is valid for a quarter of an hour. A node created longer ago should have been reached by now.
NEVER_CONTACTED_FOR = timedelta(minutes=20)
# A node that is late for a shorter time will probably be in order before a person has read the message.
LATE_FOR = timedelta(seconds=30)
DISK_DAYS, DISK_DAYS_AGAIN = 7.0, 10.0
MAP_SHARE, MAP_SHARE_AGAIN, MAP_SHARE_CRITICAL = 0.70, 0.67, 0.90
# LMDB cannot reuse pages that a reader may need. With a reader this many transactions behind, the file only grows.
READER_LAG, READER_LAG_AGAIN = 10_000, 1_000
CLOCK_OFF, CLOCK_OFF_AGAIN = 10.0, 5.0  # seconds
CLOCK_OFF_CRITICAL = 3600.0
BOOTSTRAP_SLOW = timedelta(minutes=15)
DIVERGED_FOR = timedelta(minutes=5)

KINDS = {
    "node.late": gettext_noop("Node is late"),
    "node.stale": gettext_noop("Node is serving stale data"),
    "node.offline": gettext_noop("Node is offline"),
    "node.rejecting": gettext_noop("Node is rejecting updates"),
    "node.powerdns": gettext_noop("DNS server on a node isn’t answering correctly"),
    "node.diverged": gettext_noop("Zones on a node differ from those in the panel"),
    "node.digest": gettext_noop("Node digest differs from the panel’s"),
    "node.disk": gettext_noop("Node disk is almost full"),
    "node.map": gettext_noop("Node LMDB map is almost full"),
    "node.reader": gettext_noop("LMDB reader on a node is behind"),
    "node.certificate": gettext_noop("Node certificate expires soon"),
    "node.clock": gettext_noop("Node clock is wrong"),
    "node.bootstrap": gettext_noop("Node isn’t receiving its snapshot"),
    "node.agent": gettext_noop("Node agent is older than the panel"),
    "node.setup": gettext_noop("Node setup differs from the panel’s settings"),
    "node.front": gettext_noop("Front has too few nodes in rotation"),
}


def node_conditions(
    node: NodeInputs, now: datetime, is_open: Collection[str], *, contact_is_known: bool
) -> list[Condition]:
    rules = (
        _health(node, now, contact_is_known=contact_is_known),
        _powerdns(node),
        _front(node),
        _condition_of_divergence(node, now),
        _disk(node, is_open),
        _map(node, is_open),
        _reader(node, is_open),
        certificate_condition(node.certificate_expires_at, f"node.certificate:{node.name}", now, node),
        _clock(node, is_open),
        _bootstrap(node, now),
    )
    faults = (
        Condition(f"{kind}:{node.name}", kind, severity, message, node.node_id)
        for kind, severity, message in setup_faults(node.name, node.setup)
    )
    return [*(condition for condition in rules if condition is not None), *faults]


def _health(node: NodeInputs, now: datetime, *, contact_is_known: bool) -> Condition | None:
    """Return one alert if the node is late for long, stale, offline or rejecting: these are stages of one problem."""
    word = node.health.word
    message = gettext("{name} is {word}. {message}").format(
        name=node.name, word=gettext(str(word)), message=node.health.message
    )
    key = f"node.standing:{node.name}"
    if word == Word.LATE and node.health.lag_seconds >= LATE_FOR.total_seconds():
        return Condition(key, "node.late", Severity.WARNING, message, node.node_id)
    if word == Word.OFFLINE and not contact_is_known:
        return None  # the collector is silent: the state is unknown
    if word == Word.OFFLINE and node.new_since is not None and now - node.new_since < NEVER_CONTACTED_FOR:
        return None  # it was just approved
    if word in {Word.STALE, Word.OFFLINE, Word.REJECTING}:
        return Condition(key, f"node.{word}", Severity.CRITICAL, message, node.node_id)
    return None


def _powerdns(node: NodeInputs) -> Condition | None:
    if not (unserved := str(node.report.get("unserved", ""))):
        return None
    program = "dnsdist" if node.report.get("front") else "PowerDNS"
    message = gettext("{program} on {name} isn’t responding correctly. Reason: {reason}").format(
        program=program, name=node.name, reason=unserved
    )
    return Condition(f"node.powerdns:{node.name}", "node.powerdns", Severity.CRITICAL, message, node.node_id)


def _front(node: NodeInputs) -> Condition | None:
    """Return an alert for a front with fewer nodes than its minimum. Clients possibly get no or outdated answers."""
    report = front_report_in(node.report)
    if report is None or not report.is_below_minimum:
        return None
    message = gettext("{name} has {count} of {total} nodes in rotation. The minimum is {minimum}.").format(
        name=node.name, count=report.in_rotation, total=len(report.backends), minimum=report.minimum
    )
    return Condition(f"node.front:{node.name}", "node.front", Severity.CRITICAL, message, node.node_id)


def _condition_of_divergence(node: NodeInputs, now: datetime) -> Condition | None:
    """Return an alert if zones have differed from the panel for a long time, or if only the digest differs.

    Repair takes about a minute, so a lasting difference needs a person.
    """
    if node.diverged and node.diverged_since is not None and now - node.diverged_since >= DIVERGED_FOR:
        message = ngettext(
            "On {name}, {count} zone has differed from the panel’s version for {time}.",
            "On {name}, {count:,} zones have differed from the panel’s versions for {time}.",
            node.diverged,
        ).format(name=node.name, count=node.diverged, time=duration_text(now - node.diverged_since))
        return Condition(f"node.diverged:{node.name}", "node.diverged", Severity.CRITICAL, message, node.node_id)
    if node.digest_equal is False and not node.diverged and node.bootstrap_since is None:
        message = gettext("{name}’s digest differs from the panel’s, but no zone is known to differ.").format(
            name=node.name
        )
        return Condition(f"node.digest:{node.name}", "node.digest", Severity.CRITICAL, message, node.node_id)
    return None


def _disk(node: NodeInputs, is_open: Collection[str]) -> Condition | None:
    free, total = int(node.report.get("disk_free_bytes", 0)), int(node.report.get("disk_bytes", 0))
    key = f"node.disk:{node.name}"
    inodes = int(node.report.get("disk_free_inodes", 0)), int(node.report.get("disk_inodes", 0))
    share = disk_share((free, total), inodes, key, is_open, node)
    if share is not None or not node.bytes_a_day or node.bytes_a_day <= 0 or not total:
        return share
    days = free / node.bytes_a_day
    if days > (DISK_DAYS_AGAIN if key in is_open else DISK_DAYS):
        return None
    message = gettext("At the current rate, the disk on {name} will be full in {days:.0f} days ({free} free).").format(
        name=node.name, days=days, free=size_text(free)
    )
    return Condition(key, "node.disk", Severity.WARNING, message, node.node_id)


def _map(node: NodeInputs, is_open: Collection[str]) -> Condition | None:
    used, key = float(node.report.get("map_used", 0.0)), f"node.map:{node.name}"
    if used <= (MAP_SHARE_AGAIN if key in is_open else MAP_SHARE):
        return None
    severity = Severity.CRITICAL if used > MAP_SHARE_CRITICAL else Severity.WARNING
    message = gettext(
        "The LMDB map on {name} is {used} full. Increase lmdb-map-size and the agent’s map_size_mib."
    ).format(name=node.name, used=f"{used:.0%}")
    return Condition(key, "node.map", severity, message, node.node_id)


def _reader(node: NodeInputs, is_open: Collection[str]) -> Condition | None:
    lag, key = int(node.report.get("oldest_reader", 0)), f"node.reader:{node.name}"
    if lag <= (READER_LAG_AGAIN if key in is_open else READER_LAG):
        return None
    message = gettext(
        "An LMDB reader on {name} is {count:,} transactions behind. The node’s files will keep growing "
        "until this reader exits."
    ).format(name=node.name, count=lag)
    return Condition(key, "node.reader", Severity.WARNING, message, node.node_id)


def _clock(node: NodeInputs, is_open: Collection[str]) -> Condition | None:
    offset, key = node.clock_offset, f"node.clock:{node.name}"
    if offset is None or abs(offset) <= (CLOCK_OFF_AGAIN if key in is_open else CLOCK_OFF):
        return None
    message = (
        gettext("The clock on {name} is {time} ahead of the panel’s clock.")
        if offset > 0
        else gettext("The clock on {name} is {time} behind the panel’s clock.")
    ).format(name=node.name, time=duration_text(timedelta(seconds=abs(offset))))
    if abs(offset) < CLOCK_OFF_CRITICAL:
        return Condition(key, "node.clock", Severity.WARNING, message, node.node_id)
    message = gettext(
        "{message} The node uses this clock for signing. If it’s off by a week, validating resolvers will "
        "reject the node’s signed zones."
    ).format(message=message)
    return Condition(key, "node.clock", Severity.CRITICAL, message, node.node_id)


def _bootstrap(node: NodeInputs, now: datetime) -> Condition | None:
    if node.bootstrap_since is None:
        return None
    key, kind = f"node.bootstrap:{node.name}", "node.bootstrap"
    if node.bootstrap_error:
        message = gettext("{name} can’t receive its snapshot. Reason: {reason}").format(
            name=node.name, reason=node.bootstrap_error
        )
        return Condition(key, kind, Severity.CRITICAL, message, node.node_id)
    if (lasting := now - node.bootstrap_since) < BOOTSTRAP_SLOW:
        return None
    message = gettext("{name} has been receiving a snapshot for {time}.").format(
        name=node.name, time=duration_text(lasting)
    )
    return Condition(key, kind, Severity.WARNING, message, node.node_id)
