"""Check the panel's processes and periodic work for alert conditions. Pure.

A problem with a single cause is reported as a single condition. For example, while beat or Redis is unreachable, no
queue is reported as stuck and no work as overdue.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from dnspanel.conditions import Condition, Severity
from dnspanel.fleet.processes.process_roles import (
    ANSWER_WITHIN,
    BEAT,
    BUSY_FOR,
    COLLECTOR,
    LONGEST_TASK,
    PROXY,
    REMEMBERED_FOR,
    REQUIRED,
    UPDATE,
)
from dnspanel.fleet.processes.state import STABLE_AFTER, PeriodicNow, ProcessesNow, ProcessNow
from dnspanel.texts import duration_text, gettext, gettext_noop, joined, ngettext

# A stopped process may be restarting, and a new panel may not have started all of its processes yet.
STOPPED_FOR = timedelta(seconds=60)
NEVER_STARTED_FOR = timedelta(minutes=5)
# Workers reconnect to Redis within this time.
REDIS_BACK_FOR = timedelta(seconds=60)
FAILURES, FAILING_FOR = 3, timedelta(minutes=1)
SELDOM = timedelta(hours=1)  # for work with at least this period, a single failure is an alert
MOST_OVERDUE_NAMED = 3

# The consequences while no process of this name is running.
EFFECTS: Mapping[str, str] = {
    "web": gettext_noop("pages and APIs don’t respond"),
    "proxy": gettext_noop("pages and APIs are unreachable"),
    "publish": gettext_noop("changes are saved, but nodes get no updates"),
    "push": gettext_noop("nodes get no updates"),
    "bootstrap": gettext_noop("new nodes get no snapshot"),
    "sources": gettext_noop("imports and comparisons can’t read their sources"),
    "bulk": gettext_noop("imports, exports and bulk changes don’t continue"),
    "system": gettext_noop("snapshots, trash cleanup and audit log chaining don’t run"),
    "collector": gettext_noop("the state of the nodes is unknown"),
    "beat": gettext_noop("periodic tasks don’t start, and lost messages aren’t recovered"),
    "update": gettext_noop("DNS UPDATE and zone transfer requests aren’t answered"),
}
# The purpose of each entry in beat's schedule. A test fails if an entry is missing.
WORK: Mapping[str, str] = {
    "encode-log": gettext_noop("encoding publications"),
    "empty-trash": gettext_noop("emptying the trash"),
    "prune-log": gettext_noop("removing old history"),
    "link-acts": gettext_noop("chaining audit log entries"),
    "check-audit-chain": gettext_noop("checking the audit log chain"),
    "tend-search": gettext_noop("maintaining the search index"),
    "follow-in-search": gettext_noop("adding changes to the search index"),
    "drive-runs": gettext_noop("running bulk changes"),
    "look-at-what-is-published": gettext_noop("checking newly published records"),
    "look-at-ldap-people": gettext_noop("checking LDAP accounts"),
    "resume-denial": gettext_noop("changing denial of existence"),
    "publish-due": gettext_noop("publishing scheduled changes"),
    "remove-expired": gettext_noop("removing expired records"),
    "drive-transfers": gettext_noop("running imports and exports"),
    "keep-addresses": gettext_noop("updating vanity name server addresses"),
    "forget-old-files": gettext_noop("deleting old import and export files"),
    "tend-hold": gettext_noop("resuming publishing after a hold"),
    "tend-log": gettext_noop("creating snapshots and pruning segments"),
    "bootstrap-waiting-nodes": gettext_noop("creating snapshots for waiting nodes"),
    "push-late-nodes": gettext_noop("updating late nodes"),
    "check-parents": gettext_noop("checking parent zones of signed zones"),
    "look-at-unproven-zones": gettext_noop("checking zones that fail validation"),
    "compare-nodes": gettext_noop("comparing nodes with the panel"),
    "watch-fleet": gettext_noop("checking for alerts"),
    "forget-old-alerts": gettext_noop("deleting old alerts"),
    "rotate-identities": gettext_noop("renewing certificates"),
    "set-up-computed-types": gettext_noop("setting up computed records on nodes"),
    "tidy-identities": gettext_noop("deleting old certificates"),
    "drive-rollovers": gettext_noop("DNSSEC rollovers"),
    "reconcile-signalling-names": gettext_noop("updating DNSSEC signalling names"),
    "begin-due-rollovers": gettext_noop("starting DNSSEC rollovers"),
    "begin-first-ds": gettext_noop("announcing DS records for newly signed zones"),
    "advance-delivery": gettext_noop("updating the next node group"),
    "notice-events": gettext_noop("sending webhooks"),
    "ask-quiet-hooks": gettext_noop("testing publish hooks"),
    "drive-secondaries": gettext_noop("notifying secondaries"),
    "drive-transfers-in": gettext_noop("transferring zones from primaries"),
    "follow-catalogs": gettext_noop("syncing consumed catalog zones"),
    "follow-producers": gettext_noop("updating produced catalog zones"),
    "follow-members": gettext_noop("updating the secondaries’ zone lists"),
    "renew-signatures-elsewhere": gettext_noop("renewing signatures for secondaries"),
    "forget-answers": gettext_noop("deleting old API responses"),
    "drive-evidence": gettext_noop("sending the audit log to its destinations"),
    "forget-old-deliveries": gettext_noop("deleting old webhook deliveries"),
}


def process_conditions(state: ProcessesNow, now: datetime, *, redis_answers: bool) -> list[Condition]:
    """Return the problems of processes and periodic work."""
    found = [*_of_names(state, now), *_of_lost(state, now), *_of_long_tasks(state, now)]
    named = {condition.key.partition(":")[2] for condition in found}
    was_away = state.redis_away_at is not None and now - state.redis_away_at < REDIS_BACK_FOR
    if not redis_answers or was_away or BEAT in named or not state.living(BEAT, now):
        return found
    for queue in BUSY_FOR:
        if queue not in named and (condition := _of_queue(queue, state, now)) is not None:
            found.append(condition)
            named.add(queue)
    judged = [each for each in state.periodic if each.queue not in named]
    return [*found, *_of_failing(judged, now), *_of_overdue(judged, state, now)]


def overdue_after(work: PeriodicNow) -> timedelta:
    """Return the time from a success until the work is overdue: some intervals plus its queue's maximum busy time."""
    is_daily = work.interval >= timedelta(hours=12)
    after = work.interval * 1.25 if is_daily else work.interval * 3 + timedelta(minutes=1)
    return after + BUSY_FOR[work.queue]


def is_overdue(work: PeriodicNow, now: datetime, watched_since: datetime | None) -> bool:
    """Return True if the work is overdue and the panel has run long enough to have done it."""
    running_since = watched_since or work.since
    patience = min(overdue_after(work), SELDOM)
    last = work.succeeded_at or work.since
    return now - last > overdue_after(work) and now - running_since > patience


def is_failing(work: PeriodicNow, now: datetime) -> bool:
    """Return True if the work has failed several times in a row. For work that rarely runs, one failure is enough."""
    if not work.failures or work.failing_since is None:
        return False
    return work.interval >= SELDOM or (work.failures >= FAILURES and now - work.failing_since >= FAILING_FOR)


def _of_names(state: ProcessesNow, now: datetime) -> Iterator[Condition]:
    """Yield a condition for each expected name without a working process, except the collector and starting ones."""
    seen = {each.name for each in state.processes}
    expected = [*REQUIRED, *(name for name in (PROXY, UPDATE) if name in seen)] if seen else []
    for name in expected:
        if name == COLLECTOR or state.living(name, now):
            continue
        if name == PROXY and not state.living(COLLECTOR, now):
            continue  # the proxy may run, but only a collector can check it
        if (since := _silent_since(name, state, now)) is None:
            continue
        message = gettext("No {name} process has been running for {time}. Effect: {effect}.").format(
            name=name, time=duration_text(now - since), effect=gettext(EFFECTS[name])
        )
        yield Condition(f"panel.process:{name}", "panel.process", Severity.CRITICAL, message)


def _silent_since(name: str, state: ProcessesNow, now: datetime) -> datetime | None:
    """Return the time since when no process with this name has worked, or None if one may still be starting."""
    if silent := [each.at for each in state.processes if each.name == name]:
        return max(silent)
    if (left_at := state.left.get(name)) is not None:
        is_stable = state.watched_since is not None and now - state.watched_since > STABLE_AFTER
        return left_at if is_stable and now - left_at > STOPPED_FOR else None
    since = state.watched_since
    return since if since is not None and now - since > NEVER_STARTED_FOR else None


def _of_lost(state: ProcessesNow, now: datetime) -> Iterator[Condition]:
    """Yield a condition for each process that recently stopped responding while others with its name still work."""
    for each in state.processes:
        others = len(state.living(each.name, now))
        if not each.is_silent(now, state.watched_since) or not others or now - each.at > REMEMBERED_FOR:
            continue
        message = ngettext(
            "{name} on {host} (process {pid}) hasn’t responded for {time}. {count} other process is running.",
            "{name} on {host} (process {pid}) hasn’t responded for {time}. {count} other processes are running.",
            others,
        ).format(name=each.name, host=each.host, pid=each.pid, time=duration_text(now - each.at), count=others)
        yield Condition(f"panel.process:{_place(each)}", "panel.process", Severity.WARNING, message)


def _of_long_tasks(state: ProcessesNow, now: datetime) -> Iterator[Condition]:
    for each in state.processes:
        if each.task_since is None or each.is_silent(now, state.watched_since):
            continue
        if now - each.task_since > LONGEST_TASK:
            message = gettext("{name} on {host} (process {pid}) has been running one task for {time}: {task}.").format(
                name=each.name, host=each.host, pid=each.pid, time=duration_text(now - each.task_since), task=each.task
            )
            yield Condition(f"panel.stuck:{_place(each)}", "panel.stuck", Severity.WARNING, message)


def _of_queue(queue: str, state: ProcessesNow, now: datetime) -> Condition | None:
    """Return a condition if the queue's workers haven't answered the roll call for too long, or None.

    Workers that don't answer hang, or all of their threads have been busy for too long. Without workers, return None,
    because `_of_names` reports them.
    """
    workers = state.living(queue, now)
    since = max(
        filter(
            None,
            (
                state.answered.get(queue),
                min((each.started_at for each in workers), default=None),
                min((each.started_at for each in state.living(BEAT, now)), default=None),
                state.watched_since,
            ),
        ),
        default=now,
    )
    full = [each for each in workers if each.places and each.busy >= each.places]
    is_full = len(full) == len(workers)
    if not workers or now - since <= (BUSY_FOR[queue] if is_full else ANSWER_WITHIN):
        return None
    if not is_full:
        message = gettext("{name} hasn’t accepted a task for {time}, although it has free worker threads.").format(
            name=queue, time=duration_text(now - since)
        )
        return Condition(f"panel.stuck:{queue}", "panel.stuck", Severity.CRITICAL, message)
    oldest = min(full, key=lambda each: each.task_since or now)
    places = sum(each.places for each in full)
    message = ngettext(
        "{name} hasn’t accepted a task for {time}. Its only worker thread has been busy with {task} for {age}.",
        "{name} hasn’t accepted a task for {time}. All {count} worker threads are busy. The "
        "longest-running task is {task} ({age}).",
        places,
    ).format(
        name=queue,
        time=duration_text(now - since),
        count=places,
        task=oldest.task,
        age=duration_text(now - (oldest.task_since or now)),
    )
    severity = Severity.CRITICAL if queue in {"publish", "push"} else Severity.WARNING
    return Condition(f"panel.stuck:{queue}", "panel.stuck", severity, message)


def _of_failing(periodic: list[PeriodicNow], now: datetime) -> Iterator[Condition]:
    for work in periodic:
        if is_failing(work, now) and work.failing_since is not None:
            message = ngettext(
                "A periodic task failed {count} time in {time}: {work}. {error}",
                "A periodic task failed {count:,} times in {time}: {work}. {error}",
                work.failures,
            ).format(
                count=work.failures,
                time=duration_text(now - work.failing_since),
                work=gettext(WORK.get(work.name, work.name)),
                error=work.error,
            )
            yield Condition(f"panel.failing:{work.name}", "panel.failing", Severity.WARNING, message)


def _of_overdue(periodic: list[PeriodicNow], state: ProcessesNow, now: datetime) -> Iterator[Condition]:
    """Yield a single condition for all overdue work, except failing work, which has its own condition."""
    late = [w for w in periodic if is_overdue(w, now, state.watched_since) and not is_failing(w, now)]
    if not late:
        return
    late.sort(key=lambda work: work.succeeded_at or work.since)
    first = joined(
        ", ",
        [
            gettext("{work} ({time} ago)").format(
                work=gettext(WORK.get(work.name, work.name)),
                time=duration_text(now - (work.succeeded_at or work.since)),
            )
            for work in late[:MOST_OVERDUE_NAMED]
        ],
    )
    message = ngettext(
        "A periodic task is overdue. Last run: {first}.",
        "{count} periodic tasks are overdue. Last run: {first}.",
        len(late),
    ).format(count=len(late), first=first)
    yield Condition("panel.overdue", "panel.overdue", Severity.WARNING, message)


def _place(each: ProcessNow) -> str:
    return f"{each.name}@{each.host}:{each.pid}"
