"""What is wrong, worked out from inputs: `inputs` reads them, `watch` keeps what comes out. Pure.

A condition is one thing that is wrong just now. Its key names it for as long as it lasts, however its message
changes; a node that is offline and was late before is the same trouble, grown worse. Where a number decides, what is
wrong already stays wrong until the number is clearly better (`is_open`), so that nothing flaps around its limit.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from dnspanel.alerts import causes
from dnspanel.alerts.models import Severity
from dnspanel.alerts.node_rules import Setup, setup_faults
from dnspanel.catalogs.queries import Troubled
from dnspanel.evidence.health import DestinationHealth
from dnspanel.fleet.health import CONTACT_KNOWN_FOR, Health, Word, spoken
from dnspanel.fleet.models import NodeState
from dnspanel.fleet.rollout.waiting import BEFORE_NODES, LATE_AFTER, LATE_AGAIN, VERY_LATE_AFTER, Waiting, describe
from dnspanel.redis_health import RedisProblem
from dnspanel.secondaries.queries import DifferingSecondary, LateSecondary
from dnspanel.texts import gettext, joined, ngettext
from replication.wire.front import front_report_in

# A code lives for a quarter of an hour; a node that was made longer ago should have been reached by now.
NEVER_CONTACTED_FOR = timedelta(minutes=20)
# A node that is late for less than this will probably be in order before anybody has read the message.
LATE_FOR = timedelta(seconds=30)
DISK_SHARE, DISK_SHARE_AGAIN = 0.10, 0.12
DISK_SHARE_CRITICAL = 0.03
DISK_DAYS, DISK_DAYS_AGAIN = 7.0, 10.0
MAP_SHARE, MAP_SHARE_AGAIN, MAP_SHARE_CRITICAL = 0.70, 0.67, 0.90
# LMDB cannot reuse what a reader may still see: so many transactions behind, the file only grows.
READER_LAG, READER_LAG_AGAIN = 10_000, 1_000
CERTIFICATE_SOON, CERTIFICATE_NOW = timedelta(days=30), timedelta(days=7)
CLOCK_OFF, CLOCK_OFF_AGAIN = 10.0, 5.0  # seconds
CLOCK_OFF_CRITICAL = 3600.0
LOG_AGE, LOG_AGE_CRITICAL = timedelta(seconds=60), timedelta(minutes=10)
COLLECTOR_SILENT = timedelta(seconds=20)
BOOTSTRAP_SLOW = timedelta(minutes=15)
DIVERGED_FOR = timedelta(minutes=5)
PINNED_FOR = timedelta(hours=1)
BACKUP_AGE = timedelta(hours=26)
EVIDENCE_FAILS_FOR, EVIDENCE_CRITICAL = timedelta(minutes=5), timedelta(hours=1)
# Who is sent the log from its beginning has old acts before it, and is no trouble while it takes some.
EVIDENCE_BEHIND_FOR = timedelta(minutes=10)
EVIDENCE_REJECTED_FOR = timedelta(days=1)
SIGNATURES_CRITICAL = timedelta(days=2)  # the first signature of a zone ends within this, or has ended

KINDS: Mapping[str, str] = {
    "node.late": "A node is late",
    "node.stale": "A node serves old answers",
    "node.offline": "A node's agent does not answer",
    "node.rejecting": "A node refuses what it is sent",
    "node.powerdns": "PowerDNS on a node does not answer as it should",
    "node.diverged": "Zones of a node are not what the panel sent",
    "node.digest": "A node's digest is not the panel's",
    "node.disk": "A node's disk fills up",
    "node.map": "A node's LMDB map fills up",
    "node.reader": "A reader on a node keeps LMDB from reusing space",
    "node.certificate": "A node's certificate ends",
    "node.clock": "A node's clock is off",
    "node.bootstrap": "A node does not get its snapshot",
    "node.agent": "A node's agent is older than the panel",
    "node.setup": "A node is not set up as the panel has it",
    "node.front": "A front has fewer nodes in rotation than it should",
    "secondary.late": "A secondary is behind for longer than its bound",
    "secondary.silent": "A secondary does not answer",
    "secondary.differs": "A secondary answers otherwise than its zones are",
    "panel.late": "Publications do not reach the nodes in time",
    "panel.stall": "Publishing stands still",
    "panel.log_age": "Publications wait to be encoded",
    "panel.held": "Publishing is held",
    "panel.stopped": "Delivery was stopped",
    "panel.pinned": "The fleet is pinned",
    "panel.failed": "A publication was taken back",
    "panel.past_rules": "A publication went past the rules of approval",
    "panel.planned": "A planned publication was not published at its time",
    "panel.object": "An object of the log is damaged",
    "panel.postgresql": "PostgreSQL does not answer",
    "panel.redis": "Redis does not answer",
    "panel.collector": "The collector is silent",
    "panel.process": "A process of the panel is not at work",
    "panel.stuck": "A worker of the panel takes no tasks",
    "panel.overdue": "Periodic work of the panel is overdue",
    "panel.failing": "Periodic work of the panel fails",
    "panel.certificate": "The panel's certificate ends",
    "panel.disk": "The panel's disk fills up",
    "panel.backup": "The last backup is too old",
    "panel.ds": "Zones do not validate from their parents",
    "panel.unproven": "Zones do not validate on nodes, by no publication",
    "panel.parents": "Parents of signed zones do not answer",
    "panel.rollovers": "DNSSEC rollovers stand still",
    "panel.signatures": "Signatures that zones came with end",
    "panel.expired": "Records that should have gone by themselves stay",
    "panel.transfers": "Zones are not transferred from their primaries",
    "panel.catalogs": "Catalogs of others are not followed as they say",
    "panel.hook": "A publish hook does not answer",
    "panel.evidence": "A destination of the audit log takes nothing",
    "panel.evidence_behind": "A destination of the audit log is behind",
    "panel.evidence_rejected": "A destination of the audit log would not keep acts",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that is wrong just now."""

    key: str
    kind: str
    severity: Severity
    message: str
    node_id: int | None = None


@dataclass(frozen=True, slots=True)
class NodeInputs:
    """What is known of one node; `report` is its agent's last, and stays when the agent is silent."""

    node_id: int
    name: str
    state: str
    health: Health
    report: Mapping[str, Any]
    new_since: datetime | None = None  # of a node that was never reached: since when there is one
    clock_offset: float | None = None  # seconds; positive: ahead of the panel
    certificate_expires_at: datetime | None = None
    digest_equal: bool | None = None
    diverged: int = 0
    diverged_since: datetime | None = None
    bootstrap_since: datetime | None = None
    bootstrap_error: str = ""
    bytes_a_day: float | None = None  # by which its free disk shrinks; None: not known yet
    setup: Setup = field(default_factory=Setup)
    is_ahead: bool = False  # its files are where this panel never was


@dataclass(frozen=True, slots=True)
class DeliveryInputs:
    """How far publications may go, and why no further."""

    stopped_reason: str = ""
    stopped_at: datetime | None = None
    pinned: int | None = None
    pinned_reason: str = ""
    pinned_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ZonesInputs:
    """Zones of which the same is true: how many, and those since the longest, with since when."""

    count: int = 0
    first: tuple[tuple[str, datetime], ...] = ()


@dataclass(frozen=True, slots=True)
class TransfersInputs:
    """Zones that get nothing from their primaries elsewhere, since when; why the first; how many no node has."""

    late: ZonesInputs = ZonesInputs()
    reason: str = ""
    unserved: int = 0


@dataclass(frozen=True, slots=True)
class HookInputs:
    """A publish hook that does not answer, since when, and whether nothing of its zones is published by that."""

    hook_id: int
    called: str
    scope: str
    since: datetime
    refuses: bool


@dataclass(frozen=True, slots=True)
class AlertInputs:
    """What is known of the fleet and the panel at one moment."""

    nodes: tuple[NodeInputs, ...] = ()
    secondaries: tuple[LateSecondary, ...] = ()
    differing: tuple[DifferingSecondary, ...] = ()
    stalls: tuple[str, ...] = ()
    unencoded_since: datetime | None = None  # of the oldest publication that no segment holds
    waiting: Waiting | None = None  # the oldest publication that the last nodes do not answer with, and where it waits
    hold_reason: str = ""
    delivery: DeliveryInputs = DeliveryInputs()
    failed: tuple[tuple[int, str], ...] = ()  # sequence, why
    past_rules: tuple[tuple[int, str, str], ...] = ()  # id of the request, whose publication, why
    unpublished: tuple[tuple[int, str, str], ...] = ()  # id of the request, its name, why not
    damaged_segments: int = 0
    redis_problem: RedisProblem | None = None
    collector_at: datetime | None = None
    certificate_expires_at: datetime | None = None
    disk_free_bytes: int = 0
    disk_bytes: int = 0
    disk_free_inodes: int = 0
    disk_inodes: int = 0  # 0: the file system makes them as it needs them
    backup_at: datetime | None = None  # of the newest one that is whole
    misled: ZonesInputs = ZonesInputs()  # signed zones that do not validate from their parents, or will not for some
    unproven: ZonesInputs = ZonesInputs()  # those that do not validate on a node, though no publication did that
    unknown: ZonesInputs = ZonesInputs()  # those whose parents could not be asked for long
    rollovers: ZonesInputs = ZonesInputs()  # those whose rollover waits for something that does not come
    ending: ZonesInputs = ZonesInputs()  # those whose signatures, which they came with, end soon: at that time
    expired: ZonesInputs = ZonesInputs()  # those with an RRset that should have been removed by itself since then
    transfers: TransfersInputs = TransfersInputs()
    catalogs: tuple[Troubled, ...] = ()
    hooks: tuple[HookInputs, ...] = ()
    evidence: tuple[DestinationHealth, ...] = ()
    set_up_at: datetime | None = None  # when the panel began to have something to lose


def conditions(
    inputs: AlertInputs, now: datetime, *, is_open: Collection[str] = (), also: Iterable[Condition] = ()
) -> list[Condition]:
    """Return everything that is wrong by itself; `is_open` has the keys of what was wrong at the last look.

    `also` is what other rules found wrong.
    """
    known = inputs.collector_at is not None and now - inputs.collector_at <= CONTACT_KNOWN_FOR
    found = [*also, *_of_panel(inputs, now, is_open), *_of_secondaries(inputs, now)]
    found += [*_of_hooks(inputs, now), *_of_evidence(inputs, now)]
    for node in inputs.nodes:
        if node.state in {NodeState.ACTIVE, NodeState.DRAINED}:
            found += _of_node(node, now, is_open, contact_is_known=known)
    return _without_consequences(_late_once(found, inputs.waiting, is_open), inputs)


def _without_consequences(found: list[Condition], inputs: AlertInputs) -> list[Condition]:
    """Return one condition for each cause. That publications arrive late is said with what makes them late."""
    # While a publication waits before the nodes, no node is late for a reason of its own, however short that is.
    waits = {causes.WAITS} if inputs.waiting is not None and inputs.waiting.place in BEFORE_NODES else set()
    ahead = {node.node_id for node in inputs.nodes if node.is_ahead}
    own, consequences = causes.split(found, also=waits, ahead=ahead)
    late = {cause: each.message for cause, each in consequences if each.kind == "panel.late"}
    return [_with_consequence(each, late.get(each.kind) or late.get(each.key)) for each in own]


def _with_consequence(cause: Condition, consequence: str | None) -> Condition:
    if not consequence:
        return cause
    message = gettext("{message} {consequence}").format(message=cause.message, consequence=consequence)
    return replace(cause, message=message)


def _late_once(found: list[Condition], waiting: Waiting | None, is_open: Collection[str]) -> list[Condition]:
    """A node that is late and publications that wait for it are one trouble; what was an alert first stays it."""
    key_of_node = f"node.standing:{waiting.name}" if waiting is not None and waiting.place not in BEFORE_NODES else ""
    if not {key_of_node, "panel.late"} <= {each.key for each in found}:
        return found
    second = key_of_node if "panel.late" in is_open and key_of_node not in is_open else "panel.late"
    return [each for each in found if each.key != second]


def _of_node(node: NodeInputs, now: datetime, is_open: Collection[str], *, contact_is_known: bool) -> list[Condition]:
    rules = (
        _health(node, now, contact_is_known=contact_is_known),
        _powerdns(node),
        _front(node),
        _diverged(node, now),
        _disk(node, is_open),
        _map(node, is_open),
        _reader(node, is_open),
        _certificate(node.certificate_expires_at, f"node.certificate:{node.name}", now, node),
        _clock(node, is_open),
        _bootstrap(node, now),
    )
    faults = (
        Condition(f"{kind}:{node.name}", kind, severity, message, node.node_id)
        for kind, severity, message in setup_faults(node.name, node.setup)
    )
    return [*(condition for condition in rules if condition is not None), *faults]


def _health(node: NodeInputs, now: datetime, *, contact_is_known: bool) -> Condition | None:
    """Late, stale, offline and rejecting are one trouble, which may grow."""
    word = node.health.word
    message = gettext("{name} is {word}. {message}").format(
        name=node.name, word=gettext(str(word)), message=node.health.message
    )
    key = f"node.standing:{node.name}"
    if word == Word.LATE and node.health.lag_seconds >= LATE_FOR.total_seconds():
        return Condition(key, "node.late", Severity.WARNING, message, node.node_id)
    if word == Word.OFFLINE and not contact_is_known:
        return None  # the collector is silent: nobody knows
    if word == Word.OFFLINE and node.new_since is not None and now - node.new_since < NEVER_CONTACTED_FOR:
        return None  # it was just approved
    if word in {Word.STALE, Word.OFFLINE, Word.REJECTING}:
        return Condition(key, f"node.{word}", Severity.CRITICAL, message, node.node_id)
    return None


def _powerdns(node: NodeInputs) -> Condition | None:
    if not (unserved := str(node.report.get("unserved", ""))):
        return None
    program = "dnsdist" if node.report.get("front") else "PowerDNS"
    message = gettext("{program} on {name} does not answer as it should: {reason}").format(
        program=program, name=node.name, reason=unserved
    )
    return Condition(f"node.powerdns:{node.name}", "node.powerdns", Severity.CRITICAL, message, node.node_id)


def _front(node: NodeInputs) -> Condition | None:
    """Of a front only: below the minimum clients may get no answer, or an old one."""
    report = front_report_in(node.report)
    if report is None or not report.is_below_minimum:
        return None
    message = gettext("{name} has {count} of {total} nodes in rotation, and should have {minimum} at least.").format(
        name=node.name, count=report.in_rotation, total=len(report.backends), minimum=report.minimum
    )
    return Condition(f"node.front:{node.name}", "node.front", Severity.CRITICAL, message, node.node_id)


def _diverged(node: NodeInputs, now: datetime) -> Condition | None:
    """Repair takes a minute; what is not mended by then needs a person."""
    if node.diverged and node.diverged_since is not None and now - node.diverged_since >= DIVERGED_FOR:
        message = ngettext(
            "On {name}, {count} zone is not what the panel sent, for {time}.",
            "On {name}, {count:,} zones are not what the panel sent, for {time}.",
            node.diverged,
        ).format(name=node.name, count=node.diverged, time=spoken(now - node.diverged_since))
        return Condition(f"node.diverged:{node.name}", "node.diverged", Severity.CRITICAL, message, node.node_id)
    if node.digest_equal is False and not node.diverged and node.bootstrap_since is None:
        message = gettext("The digest of {name} is not the panel's, and no zone is known that differs.").format(
            name=node.name
        )
        return Condition(f"node.digest:{node.name}", "node.digest", Severity.CRITICAL, message, node.node_id)
    return None


def _disk(node: NodeInputs, is_open: Collection[str]) -> Condition | None:
    free, total = int(node.report.get("disk_free_bytes", 0)), int(node.report.get("disk_bytes", 0))
    key = f"node.disk:{node.name}"
    inodes = int(node.report.get("disk_free_inodes", 0)), int(node.report.get("disk_inodes", 0))
    share = _disk_share((free, total), inodes, key, is_open, node)
    if share is not None or not node.bytes_a_day or node.bytes_a_day <= 0 or not total:
        return share
    days = free / node.bytes_a_day
    if days > (DISK_DAYS_AGAIN if key in is_open else DISK_DAYS):
        return None
    message = gettext(
        "The disk of {name} will be full in {days:.0f} days if it goes on like this: {free} free."
    ).format(name=node.name, days=days, free=_size(free))
    return Condition(key, "node.disk", Severity.WARNING, message, node.node_id)


def _disk_share(
    room: tuple[int, int], inodes: tuple[int, int], key: str, is_open: Collection[str], node: NodeInputs | None = None
) -> Condition | None:
    """Judge free bytes of all, and free inodes of all, by the one of which a smaller share is left."""
    left = {is_inodes: free / total for is_inodes, (free, total) in ((False, room), (True, inodes)) if total}
    if not left or min(left.values()) >= (DISK_SHARE_AGAIN if key in is_open else DISK_SHARE):
        return None
    share, is_inodes = min((share, is_inodes) for is_inodes, share in left.items())
    if node is None:
        message = (
            gettext("The panel's disk has {count:,} inodes free, {share} of them: without one no file can be made.")
            if is_inodes
            else gettext("The panel's disk has {free} free, {share} of it.")
        )
    else:
        message = (
            gettext("The disk of {name} has {count:,} inodes free, {share} of them: without one no file can be made.")
            if is_inodes
            else gettext("The disk of {name} has {free} free, {share} of it.")
        )
    severity = Severity.CRITICAL if share < DISK_SHARE_CRITICAL else Severity.WARNING
    message = message.format(name=node.name if node else "", free=_size(room[0]), count=inodes[0], share=f"{share:.1%}")
    return Condition(key, key.partition(":")[0], severity, message, node.node_id if node else None)


def _map(node: NodeInputs, is_open: Collection[str]) -> Condition | None:
    used, key = float(node.report.get("map_used", 0.0)), f"node.map:{node.name}"
    if used <= (MAP_SHARE_AGAIN if key in is_open else MAP_SHARE):
        return None
    severity = Severity.CRITICAL if used > MAP_SHARE_CRITICAL else Severity.WARNING
    message = gettext(
        "The LMDB map of {name} is {used} full: raise lmdb-map-size and the agent's map_size_mib."
    ).format(name=node.name, used=f"{used:.0%}")
    return Condition(key, "node.map", severity, message, node.node_id)


def _reader(node: NodeInputs, is_open: Collection[str]) -> Condition | None:
    lag, key = int(node.report.get("oldest_reader", 0)), f"node.reader:{node.name}"
    if lag <= (READER_LAG_AGAIN if key in is_open else READER_LAG):
        return None
    message = gettext(
        "A reader on {name} is {count:,} transactions old: its files grow until that program ends."
    ).format(name=node.name, count=lag)
    return Condition(key, "node.reader", Severity.WARNING, message, node.node_id)


def _certificate(
    expires_at: datetime | None, key: str, now: datetime, node: NodeInputs | None = None
) -> Condition | None:
    if expires_at is None or (left := expires_at - now) > CERTIFICATE_SOON:
        return None
    severity = Severity.CRITICAL if left <= CERTIFICATE_NOW else Severity.WARNING
    if node is None:
        message = (
            gettext("The certificate of the panel ends in {time}, on {day}, and was not renewed by itself.")
            if left > timedelta(0)
            else gettext("The certificate of the panel ended {time} ago, on {day}, and was not renewed by itself.")
        )
    else:
        message = (
            gettext("The certificate of {name} ends in {time}, on {day}, and was not renewed by itself.")
            if left > timedelta(0)
            else gettext("The certificate of {name} ended {time} ago, on {day}, and was not renewed by itself.")
        )
    message = message.format(name=node.name if node else "", time=spoken(abs(left)), day=expires_at.date().isoformat())
    return Condition(key, key.partition(":")[0], severity, message, node.node_id if node else None)


def _clock(node: NodeInputs, is_open: Collection[str]) -> Condition | None:
    offset, key = node.clock_offset, f"node.clock:{node.name}"
    if offset is None or abs(offset) <= (CLOCK_OFF_AGAIN if key in is_open else CLOCK_OFF):
        return None
    message = (
        gettext("The clock of {name} is {time} ahead of the panel's.")
        if offset > 0
        else gettext("The clock of {name} is {time} behind the panel's.")
    ).format(name=node.name, time=spoken(timedelta(seconds=abs(offset))))
    if abs(offset) < CLOCK_OFF_CRITICAL:
        return Condition(key, "node.clock", Severity.WARNING, message, node.node_id)
    message = gettext(
        "{message} It signs by that clock: off by a week, resolvers that validate answer nothing of its signed zones."
    ).format(message=message)
    return Condition(key, "node.clock", Severity.CRITICAL, message, node.node_id)


def _bootstrap(node: NodeInputs, now: datetime) -> Condition | None:
    if node.bootstrap_since is None:
        return None
    key, kind = f"node.bootstrap:{node.name}", "node.bootstrap"
    if node.bootstrap_error:
        message = gettext("{name} does not get its snapshot: {reason}").format(
            name=node.name, reason=node.bootstrap_error
        )
        return Condition(key, kind, Severity.CRITICAL, message, node.node_id)
    if (lasting := now - node.bootstrap_since) < BOOTSTRAP_SLOW:
        return None
    message = gettext("{name} has been getting a snapshot for {time}.").format(name=node.name, time=spoken(lasting))
    return Condition(key, kind, Severity.WARNING, message, node.node_id)


def _of_secondaries(inputs: AlertInputs, now: datetime) -> Iterator[Condition]:
    """Silent and late are one trouble: who does not answer cannot be seen to be in sync."""
    for each in inputs.secondaries:
        key = f"secondary:{each.name}"
        if each.silent_since is not None:
            message = gettext("The secondary {name} has answered no question for {time}.").format(
                name=each.name, time=spoken(now - each.silent_since)
            )
            yield Condition(key, "secondary.silent", Severity.CRITICAL, message)
        elif each.behind_since is not None:
            first = each.first.rstrip(".")
            message = ngettext(
                "The secondary {name} is behind with {first}, for {time}.",
                "The secondary {name} is behind with {count:,} zones, {first} first, for {time}.",
                each.zones,
            ).format(name=each.name, count=each.zones, first=first, time=spoken(now - each.behind_since))
            yield Condition(key, "secondary.late", Severity.WARNING, message)
    for differing in inputs.differing:
        message = ngettext(
            "The secondary {name} answers otherwise than {first} is, for {time}. {difference}",
            "The secondary {name} answers otherwise than {count:,} zones are, {first} first, for {time}. {difference}",
            differing.zones,
        ).format(
            name=differing.name,
            count=differing.zones,
            first=differing.first.rstrip("."),
            time=spoken(now - differing.since),
            difference=differing.difference,
        )
        yield Condition(f"secondary.differs:{differing.name}", "secondary.differs", Severity.CRITICAL, message)


def _of_hooks(inputs: AlertInputs, now: datetime) -> Iterator[Condition]:
    for hook in inputs.hooks:
        severity = Severity.CRITICAL if hook.refuses else Severity.WARNING
        message = (
            gettext("The publish hook {hook} has not answered for {time}. Publications of {scope} are refused.")
            if hook.refuses
            else gettext(
                "The publish hook {hook} has not answered for {time}. Publications of {scope} go without its answer."
            )
        ).format(hook=hook.called, time=spoken(now - hook.since), scope=hook.scope)
        yield Condition(f"panel.hook:{hook.hook_id}", "panel.hook", severity, message)


def _of_evidence(inputs: AlertInputs, now: datetime) -> Iterator[Condition]:
    """One that fails is behind by that: the same trouble. What it would not keep is another one."""
    for each in inputs.evidence:
        key = f"evidence:{each.pk}"
        if each.failing_since is not None and (lasting := now - each.failing_since) >= EVIDENCE_FAILS_FOR:
            severity = Severity.CRITICAL if lasting >= EVIDENCE_CRITICAL else Severity.WARNING
            message = ngettext(
                "{name} has taken nothing of the audit log for {time}: {count} act waits.",
                "{name} has taken nothing of the audit log for {time}: {count:,} acts wait.",
                each.behind,
            ).format(name=each.name, time=spoken(lasting), count=each.behind)
            yield Condition(key, "panel.evidence", severity, message)
        elif _is_behind(each, now):
            message = ngettext(
                "{name} is behind with the audit log: {count} act waits, and nobody sends it.",
                "{name} is behind with the audit log: {count:,} acts wait, and nobody sends them.",
                each.behind,
            ).format(name=each.name, count=each.behind)
            yield Condition(key, "panel.evidence_behind", Severity.WARNING, message)
        if each.rejected_at is not None and now - each.rejected_at < EVIDENCE_REJECTED_FOR:
            message = gettext(
                "{name} took acts of the audit log and would not keep them; its page has its words."
            ).format(name=each.name)
            yield Condition(f"panel.evidence_rejected:{each.pk}", "panel.evidence_rejected", Severity.WARNING, message)


def _is_behind(destination: DestinationHealth, now: datetime) -> bool:
    """Whether it lacks something old, and was sent nothing for long though it could have been."""
    times = (destination.oldest_at, destination.sent_at, destination.begun_at)
    is_slow = all(at is None or now - at >= EVIDENCE_BEHIND_FOR for at in times)
    return is_slow and destination.oldest_at is not None and destination.failing_since is None


def _redis_message(problem: RedisProblem) -> str:
    """Return what is wrong with Redis, and what goes on without it."""
    if problem is RedisProblem.FULL:
        return gettext("Redis is full: delivery goes on by polling, up to 5 s later, and there are no live numbers.")
    if problem is RedisProblem.REFUSES:
        return gettext(
            "Redis refuses writes: delivery goes on by polling, up to 5 s later, and there are no live numbers."
        )
    return gettext(
        "Redis does not answer: delivery goes on by polling, up to 5 s later, and there are no live numbers."
    )


def _of_panel(inputs: AlertInputs, now: datetime, is_open: Collection[str]) -> Iterator[Condition]:
    yield from _of_publishing(inputs, now)
    yield from _of_waiting(inputs.waiting, now, is_open)
    yield from _of_delivery(inputs, now)
    yield from _of_signing(inputs, now)
    yield from _of_expiry(inputs, now)
    yield from _of_transfers(inputs, now)
    yield from _of_catalogs(inputs, now)
    if inputs.redis_problem is not None:
        yield Condition("panel.redis", "panel.redis", Severity.CRITICAL, _redis_message(inputs.redis_problem))
    if _collector_is_silent(inputs, now):
        message = gettext(
            "The collector has not been at work since the panel was set up: nobody knows how the nodes are."
        )
        if inputs.collector_at:
            message = gettext("The collector has not been at work for {time}: nobody knows how the nodes are.").format(
                time=spoken(now - inputs.collector_at)
            )
        yield Condition("panel.collector", "panel.collector", Severity.CRITICAL, message)
    if ending := _certificate(inputs.certificate_expires_at, "panel.certificate", now):
        yield ending
    room, inodes = (inputs.disk_free_bytes, inputs.disk_bytes), (inputs.disk_free_inodes, inputs.disk_inodes)
    if filling := _disk_share(room, inodes, "panel.disk", is_open):
        yield filling
    safe_at = inputs.backup_at or inputs.set_up_at
    if safe_at is not None and now - safe_at > BACKUP_AGE:
        message = (
            gettext("The panel lacks a fresh backup: the last one is {time} old.").format(time=spoken(now - safe_at))
            if inputs.backup_at
            else gettext("The panel lacks a fresh backup: there is none.")
        )
        yield Condition("panel.backup", "panel.backup", Severity.WARNING, message)


def _of_signing(inputs: AlertInputs, now: datetime) -> Iterator[Condition]:
    """One condition for all zones, however many they are."""
    if inputs.misled.count:
        message = gettext("{zones}: what the parent has leads resolvers to no valid signatures.").format(
            zones=_zones(inputs.misled, now)
        )
        yield Condition("panel.ds", "panel.ds", Severity.CRITICAL, message)
    if inputs.unproven.count:
        message = gettext(
            "{zones}: the signatures that PowerDNS answers there are not good, and nothing that was published did "
            "that. All other zones are published."
        ).format(zones=_zones(inputs.unproven, now))
        yield Condition("panel.unproven", "panel.unproven", Severity.CRITICAL, message)
    if inputs.unknown.count:
        message = gettext("{zones}: nobody knows whether the parent has the right DS.").format(
            zones=_zones(inputs.unknown, now)
        )
        yield Condition("panel.parents", "panel.parents", Severity.WARNING, message)
    if inputs.rollovers.count:
        message = gettext("{zones}: the rollover of keys stands still and needs somebody.").format(
            zones=_zones(inputs.rollovers, now)
        )
        yield Condition("panel.rollovers", "panel.rollovers", Severity.WARNING, message)
    if inputs.ending.count:
        is_critical = any(end - now <= SIGNATURES_CRITICAL for _, end in inputs.ending.first)
        severity = Severity.CRITICAL if is_critical else Severity.WARNING
        message = gettext("{zones}: the signatures that they came with end; import them signed anew.").format(
            zones=_zones(inputs.ending, now)
        )
        yield Condition("panel.signatures", "panel.signatures", severity, message)


def _of_expiry(inputs: AlertInputs, now: datetime) -> Iterator[Condition]:
    if inputs.expired.count:
        message = gettext("{zones}: a record has expired, but stays; its row says why.").format(
            zones=_zones(inputs.expired, now)
        )
        yield Condition("panel.expired", "panel.expired", Severity.WARNING, message)


def _of_transfers(inputs: AlertInputs, now: datetime) -> Iterator[Condition]:
    transfers = inputs.transfers
    if not transfers.late.count:
        return
    message = gettext("{zones}: nothing comes from their primaries elsewhere.").format(
        zones=_zones(transfers.late, now)
    )
    if transfers.unserved:
        message = ngettext(
            "{message} No node answers for what never came or has expired: {count} of them is not served.",
            "{message} No node answers for what never came or has expired: {count:,} of them are not served.",
            transfers.unserved,
        ).format(message=message, count=transfers.unserved)
    message = gettext("{message} The first: {reason}").format(message=message, reason=transfers.reason)
    severity = Severity.CRITICAL if transfers.unserved else Severity.WARNING
    yield Condition("panel.transfers", "panel.transfers", severity, message)


def _of_catalogs(inputs: AlertInputs, now: datetime) -> Iterator[Condition]:
    """One condition for all catalogs of others, however many they are."""
    if not inputs.catalogs:
        return
    first, more = inputs.catalogs[0], len(inputs.catalogs) - 1
    message = gettext("The catalog {name}, for {time}: {message}").format(
        name=first.zone_name, time=spoken(now - first.since), message=first.message
    )
    if more:
        message = ngettext(
            "{message} Of {count} more there is something to be told.",
            "{message} Of {count:,} more there is something to be told.",
            more,
        ).format(message=message, count=more)
    yield Condition("panel.catalogs", "panel.catalogs", Severity.WARNING, message)


def _zones(zones: ZonesInputs, now: datetime) -> str:
    named: list[str] = [_named(name, now - at) for name, at in zones.first]
    if zones.count > len(zones.first):
        named.append(gettext("and {count:,} more").format(count=zones.count - len(zones.first)))
    return ngettext("{count} zone ({names})", "{count:,} zones ({names})", zones.count).format(
        count=zones.count, names=joined(", ", named)
    )


def _named(name: str, passed: timedelta) -> str:
    """A zone and how long something lasts there, or when it will be."""
    message = gettext("{name} for {time}") if passed >= timedelta(0) else gettext("{name} in {time}")
    return message.format(name=name, time=spoken(abs(passed)))


def _of_waiting(waiting: Waiting | None, now: datetime, is_open: Collection[str]) -> Iterator[Condition]:
    """The oldest publication that the last nodes do not answer with is old, and no other alert says why."""
    late_by = waiting.late_by(now) if waiting is not None else timedelta(0)
    if waiting is None or late_by < (LATE_AGAIN if "panel.late" in is_open else LATE_AFTER):
        return
    severity = Severity.CRITICAL if late_by >= VERY_LATE_AFTER else Severity.WARNING
    yield Condition("panel.late", "panel.late", severity, describe(waiting, now))


def _of_publishing(inputs: AlertInputs, now: datetime) -> Iterator[Condition]:
    if inputs.stalls:
        message = gettext("Publishing stands still: {reason}").format(reason=inputs.stalls[0])
        yield Condition("panel.stall", "panel.stall", Severity.CRITICAL, message)
    elif inputs.unencoded_since is not None and (age := now - inputs.unencoded_since) >= LOG_AGE:
        severity = Severity.CRITICAL if age >= LOG_AGE_CRITICAL else Severity.WARNING
        message = gettext(
            "The oldest publication that waits to be encoded is {time} old: no node can get it yet."
        ).format(time=spoken(age))
        yield Condition("panel.log_age", "panel.log_age", severity, message)
    if inputs.hold_reason:
        message = gettext("Publishing is held until a person decides: {reason}").format(reason=inputs.hold_reason)
        yield Condition("panel.held", "panel.held", Severity.CRITICAL, message)
    for sequence, reason in inputs.failed:
        message = gettext("Publication {sequence:,} was taken back: {reason}").format(sequence=sequence, reason=reason)
        yield Condition(f"panel.failed:{sequence}", "panel.failed", Severity.CRITICAL, message)
    for request, who, reason in inputs.past_rules:
        message = gettext("{who} published past the rules of approval: {reason}").format(
            who=who or gettext("Somebody"), reason=reason
        )
        yield Condition(f"panel.past_rules:{request}", "panel.past_rules", Severity.WARNING, message)
    for request, name, reason in inputs.unpublished:
        message = gettext("“{name}” was not published at its time: {reason}").format(name=name, reason=reason)
        yield Condition(f"panel.planned:{request}", "panel.planned", Severity.WARNING, message)
    if inputs.damaged_segments:
        message = ngettext(
            "{count} segment is damaged or gone from the storage: nodes that need it get a snapshot instead.",
            "{count:,} segments are damaged or gone from the storage: nodes that need them get a snapshot instead.",
            inputs.damaged_segments,
        ).format(count=inputs.damaged_segments)
        yield Condition("panel.object", "panel.object", Severity.WARNING, message)


def _of_delivery(inputs: AlertInputs, now: datetime) -> Iterator[Condition]:
    delivery = inputs.delivery
    if delivery.stopped_reason:
        message = gettext("Delivery was stopped: {reason}").format(reason=delivery.stopped_reason)
        yield Condition("panel.stopped", "panel.stopped", Severity.CRITICAL, message)
    if delivery.pinned is not None and delivery.pinned_at is not None and now - delivery.pinned_at >= PINNED_FOR:
        message = (
            gettext("The fleet has been pinned at {sequence:,} for {time} ({reason}).")
            if delivery.pinned_reason
            else gettext("The fleet has been pinned at {sequence:,} for {time}.")
        ).format(sequence=delivery.pinned, time=spoken(now - delivery.pinned_at), reason=delivery.pinned_reason)
        yield Condition("panel.pinned", "panel.pinned", Severity.WARNING, message)


def _collector_is_silent(inputs: AlertInputs, now: datetime) -> bool:
    if not any(node.state in {NodeState.ACTIVE, NodeState.DRAINED} for node in inputs.nodes):
        return False
    heard_at = inputs.collector_at or inputs.set_up_at  # a panel that is just starting has not had the time
    return heard_at is None or now - heard_at > COLLECTOR_SILENT


def _size(size: int) -> str:
    """1.5 GiB."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"
