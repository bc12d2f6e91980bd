"""Conditions for problems of one node, and for the disk and the certificate of a node or of the panel. Pure."""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta

from dnspanel.conditions import Condition, Severity
from dnspanel.fleet.conditions.condition_inputs import NodeInputs, Setup
from dnspanel.fleet.node_health import Word
from dnspanel.texts import duration_text, gettext, gettext_noop, ngettext
from replication.wire.front_messages import front_report_in

# A code is valid for a quarter of an hour. A node created longer ago should have been reached by now.
NEVER_CONTACTED_FOR = timedelta(minutes=20)
# A node that is late for a shorter time will probably be in order before a person has read the message.
LATE_FOR = timedelta(seconds=30)
CERTIFICATE_SOON, CERTIFICATE_NOW = timedelta(days=30), timedelta(days=7)
DISK_SHARE, DISK_SHARE_AGAIN, DISK_SHARE_CRITICAL = 0.10, 0.12, 0.03
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
    setup = setup_conditions(node.name, node.setup, node.node_id)
    return [*(condition for condition in rules if condition is not None), *setup]


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


def setup_conditions(name: str, setup: Setup, node_id: int) -> Iterator[Condition]:
    """Yield a condition if the agent is older than the panel, and one if the setup differs from the panel's."""
    if setup.is_older:
        message = gettext(
            "The agent on {name} ({agent}) is older than the panel. Install the panel’s version, {panel}, on the node."
        ).format(name=name, agent=setup.agent, panel=setup.panel)
        yield Condition(f"node.agent:{name}", "node.agent", Severity.WARNING, message, node_id)
    if setup.differences:
        message = gettext("The setup on {name} differs from the panel’s settings. {differences}").format(
            name=name, differences=" ".join(setup.differences)
        )
        yield Condition(f"node.setup:{name}", "node.setup", Severity.WARNING, message, node_id)


def certificate_condition(
    expires_at: datetime | None, key: str, now: datetime, node: NodeInputs | None = None
) -> Condition | None:
    if expires_at is None or (left := expires_at - now) > CERTIFICATE_SOON:
        return None
    severity = Severity.CRITICAL if left <= CERTIFICATE_NOW else Severity.WARNING
    if node is None:
        message = (
            gettext("The panel’s certificate expires in {time}, on {day}. Automatic renewal failed.")
            if left > timedelta(0)
            else gettext("The panel’s certificate expired {time} ago, on {day}. Automatic renewal failed.")
        )
    else:
        message = (
            gettext("{name}’s certificate expires in {time}, on {day}. Automatic renewal failed.")
            if left > timedelta(0)
            else gettext("{name}’s certificate expired {time} ago, on {day}. Automatic renewal failed.")
        )
    message = message.format(
        name=node.name if node else "", time=duration_text(abs(left)), day=expires_at.date().isoformat()
    )
    return Condition(key, key.partition(":")[0], severity, message, node.node_id if node else None)


def disk_share(
    room: tuple[int, int], inodes: tuple[int, int], key: str, is_open: Collection[str], node: NodeInputs | None = None
) -> Condition | None:
    """Return a condition if the share of free bytes or of free inodes is low. The smaller share counts."""
    left = {is_inodes: free / total for is_inodes, (free, total) in ((False, room), (True, inodes)) if total}
    if not left or min(left.values()) >= (DISK_SHARE_AGAIN if key in is_open else DISK_SHARE):
        return None
    share, is_inodes = min((share, is_inodes) for is_inodes, share in left.items())
    if node is None:
        message = (
            gettext("The panel’s disk has only {count:,} free inodes ({share}).")
            if is_inodes
            else gettext("The panel’s disk has only {free} free ({share}).")
        )
    else:
        message = (
            gettext("The disk on {name} has only {count:,} free inodes ({share}).")
            if is_inodes
            else gettext("The disk on {name} has only {free} free ({share}).")
        )
    severity = Severity.CRITICAL if share < DISK_SHARE_CRITICAL else Severity.WARNING
    message = message.format(
        name=node.name if node else "", free=size_text(room[0]), count=inodes[0], share=f"{share:.1%}"
    )
    return Condition(key, key.partition(":")[0], severity, message, node.node_id if node else None)


def size_text(size: int) -> str:
    """Return a size with a binary unit for messages, such as 1.5 GiB."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"
