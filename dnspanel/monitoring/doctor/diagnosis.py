"""Run all checks of an installation."""

import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import replace
from datetime import datetime
from functools import partial

from django.conf import settings
from django.core.checks import ERROR, run_checks
from django.db import DatabaseError, InterfaceError

from dnspanel import __version__, checks
from dnspanel.alerts.alert_rules import conditions
from dnspanel.alerts.panel_conditions import PanelInputs
from dnspanel.alerts.process_rules import process_conditions
from dnspanel.conditions import Severity
from dnspanel.fleet.models import Node
from dnspanel.monitoring.doctor import file_checks, store_checks
from dnspanel.monitoring.doctor.check_inputs import CheckInputs, read_check_inputs
from dnspanel.monitoring.doctor.findings import Finding, Report, finding, finding_of
from dnspanel.monitoring.doctor.network_probes import Probe, probes
from dnspanel.monitoring.doctor.remedies import UNKNOWN, Level
from dnspanel.monitoring.health import ask_postgresql
from dnspanel.monitoring.part_checks import State, reason_of
from dnspanel.texts import gettext

# For all probes together. They run at the same time, and each has a few steps of at most two seconds.
PROBE_SECONDS, MOST_PROBES = 9.0, 32


def diagnose(*, now: datetime) -> Report:
    """Check the installation, and return what is wrong. A check that fails is in the report, and ends no other check.

    Queries run in this thread, and probes of the network in others, so the caller waits at most PROBE_SECONDS for them.
    """
    found: list[Finding] = []
    unchecked: dict[str, str] = {}

    def run(checks: Mapping[str, Callable[[], Iterable[Finding]]]) -> int:
        for name, check in checks.items():
            try:
                found.extend(check())
            except Exception as exc:  # a report with an unknown part is better than none
                unchecked[name] = reason_of(exc)
        return len(checks)

    count = run(_ALONE)
    # A server that hangs would keep the panel's own connections waiting for a minute.
    postgresql = ask_postgresql()["postgresql"]
    if postgresql.state is not State.OK:
        message = gettext("PostgreSQL can’t be used: {reason}").format(reason=postgresql.reason)
        found.append(finding("panel.postgresql", message))
        unchecked |= dict.fromkeys((*_WITH_DATABASE, *_WITH_INPUTS), postgresql.reason)
    else:
        count += run(_WITH_DATABASE)
        try:
            inputs = read_check_inputs(now)
        except (DatabaseError, InterfaceError) as exc:  # a migration is missing
            unchecked |= dict.fromkeys(_WITH_INPUTS, reason_of(exc))
        else:
            count += run({name: partial(check, inputs) for name, check in _WITH_INPUTS.items()})
            count += run(_run_together(dict(probes(inputs, {each.key for each in found}))))
    by_key = {each.key: each for each in found}
    causes = [each for each in by_key.values() if not by_key.keys() & each.causes]
    causes.sort(key=lambda each: (each.level != Level.PROBLEM, each.key))
    return Report(now, __version__, socket.gethostname(), tuple(causes), unchecked, count)


def _run_together(found: Mapping[str, Probe]) -> Mapping[str, Callable[[], list[Finding]]]:
    """Run the probes in threads, wait at most PROBE_SECONDS for all of them, and return their results as checks."""
    threads = ThreadPoolExecutor(MOST_PROBES, thread_name_prefix="doctor")
    running = {name: threads.submit(copy_context().run, lambda run: list(run()), each) for name, each in found.items()}
    wait(running.values(), PROBE_SECONDS)
    threads.shutdown(wait=False, cancel_futures=True)
    return {name: partial(future.result, 0) for name, future in running.items()}


def _check_settings() -> Iterator[Finding]:
    """Yield the messages of the panel's system checks, with their hints as fixes, and PANEL_DEBUG."""
    if settings.DEBUG:
        yield finding("panel.debug", gettext("PANEL_DEBUG is on, so error pages show code and settings to everyone."))
    for each in run_checks(tags=[checks.OWN]):
        level = Level.PROBLEM if each.level >= ERROR else Level.WARNING
        yield Finding(str(each.id), level, each.msg, each.hint or gettext(UNKNOWN.fix), "", str(each.id))


def _check_alerts(inputs: CheckInputs) -> Iterator[Finding]:
    """Yield what the alerts find at this moment, including what hasn't lasted long enough for an alert to open."""
    nodes: dict[int | None, Node] = {node.pk: node for node in inputs.nodes}
    redis_answers = inputs.reading.of(PanelInputs).redis_problem is None
    also = process_conditions(inputs.processes, inputs.now, redis_answers=redis_answers)
    for condition in conditions(inputs.reading, inputs.now, also=also):
        if condition.severity != Severity.INFO:
            found = finding_of(condition)
            yield replace(found, command=_with_units(found.command, nodes.get(condition.node_id)))


def _with_units(command: str, node: Node | None) -> str:
    """Return the command with the units of a canary or a front instead of a node's."""
    if node is None or not (node.is_ring0 or node.is_front) or not command.startswith("systemctl"):
        return command
    agent, server = ("dnspanel-canary", "pdns@canary") if node.is_ring0 else ("dnspanel-front", "dnsdist")
    return command.replace("dnspanel-agent", agent).replace("pdns", server)


_ALONE: Mapping[str, Callable[[], Iterable[Finding]]] = {
    "Redis": store_checks.check_redis,
    "secret files": file_checks.check_secret_files,
    "gateway certificate": file_checks.check_gateway_certificate,
}
_WITH_DATABASE = {"migrations": store_checks.check_migrations, "settings": _check_settings}
_WITH_INPUTS: Mapping[str, Callable[[CheckInputs], Iterable[Finding]]] = {
    "alerts": _check_alerts,
    "queues": store_checks.check_queues,
    "PostgreSQL": store_checks.check_postgresql,
    "replication": store_checks.check_replication,
    "clock": store_checks.check_clock,
    "processes": store_checks.check_processes,
    "nodes": store_checks.check_nodes,
    "backup drill": store_checks.check_drill,
}
