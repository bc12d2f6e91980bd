"""Run all checks of an installation."""

import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from datetime import datetime
from functools import partial

from django.core.checks import ERROR, run_checks
from django.db import DatabaseError, InterfaceError

from dnspanel import __version__, checks
from dnspanel.alerts.alert_rules import conditions
from dnspanel.alerts.panel_conditions import PanelInputs
from dnspanel.alerts.process_rules import process_conditions
from dnspanel.conditions import Condition, Severity
from dnspanel.monitoring.doctor import database_checks, file_checks, redis_checks
from dnspanel.monitoring.doctor.facts import Facts, read_facts
from dnspanel.monitoring.doctor.findings import Finding, Report, Unchecked, finding_of, without_consequences
from dnspanel.monitoring.doctor.network_probes import Probe, probes
from dnspanel.monitoring.doctor.remedies import UNKNOWN, Level
from dnspanel.monitoring.part_checks import reason_of
from dnspanel.texts import gettext

# For all probes together. They run at the same time, and each has a few steps of at most two seconds.
PROBE_SECONDS = 7.0
MOST_PROBES = 32


def diagnose(*, now: datetime) -> Report:
    """Check the installation, and return what is wrong. A check that fails is in the report, and ends no other check.

    Queries run in this thread, and probes of the network in others, so the caller waits at most PROBE_SECONDS for them.
    """
    diagnosis = _Diagnosis()
    for name, check in _WITHOUT_FACTS.items():
        diagnosis.run(name, check)
    try:
        facts = read_facts(now)
    except (DatabaseError, InterfaceError) as exc:
        diagnosis.miss_facts(exc)
    else:
        for name, judge in _WITH_FACTS.items():
            diagnosis.run(name, partial(judge, facts))
        diagnosis.run_together(dict(probes(facts)))
    found = tuple(without_consequences(diagnosis.findings))
    return Report(now, __version__, socket.gethostname(), found, tuple(diagnosis.unchecked), diagnosis.checks)


class _Diagnosis:
    """The results of the checks so far."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.unchecked: list[Unchecked] = []
        self.checks = 0

    def run(self, name: str, check: Callable[[], Iterable[Finding]]) -> None:
        self.checks += 1
        try:
            self.findings += check()
        except Exception as exc:  # a report with an unknown part is better than none
            self.unchecked.append(Unchecked(name, reason_of(exc)))

    def run_together(self, found: Mapping[str, Probe]) -> None:
        """Run the probes in threads, and wait for at most PROBE_SECONDS for all of them."""
        threads = ThreadPoolExecutor(MOST_PROBES, thread_name_prefix="doctor")
        running = {name: threads.submit(copy_context().run, _collect, probe) for name, probe in found.items()}
        wait(running.values(), PROBE_SECONDS)
        for name, future in running.items():
            self.run(name, partial(future.result, 0))
        threads.shutdown(wait=False, cancel_futures=True)

    def miss_facts(self, exc: Exception) -> None:
        """Note that the checks that need PostgreSQL couldn't be done. Missing migrations are already named."""
        if not any(each.id == "panel.migrations" for each in self.findings):
            message = gettext("The panel can’t use PostgreSQL: {reason}").format(reason=reason_of(exc))
            condition = Condition("panel.postgresql", "panel.postgresql", Severity.CRITICAL, message)
            self.findings.append(finding_of(condition))
        self.unchecked += [Unchecked(name, reason_of(exc)) for name in _WITH_FACTS]
        self.checks += len(_WITH_FACTS)


def _collect(probe: Probe) -> list[Finding]:
    return list(probe())


def _check_settings() -> Iterator[Finding]:
    """Yield the messages of the panel's system checks. Their hints are the fixes."""
    for each in run_checks(tags=[checks.OWN]):
        level = Level.PROBLEM if each.level >= ERROR else Level.WARNING
        yield Finding(str(each.id), level, each.msg, each.hint or gettext(UNKNOWN.fix), "", str(each.id))


def _check_alerts(facts: Facts) -> Iterator[Finding]:
    """Yield what the alerts find at this moment, including what hasn't lasted long enough for an alert to open."""
    redis_answers = facts.reading.of(PanelInputs).redis_problem is None
    also = process_conditions(facts.processes, facts.now, redis_answers=redis_answers)
    for condition in conditions(facts.reading, facts.now, also=also):
        if condition.severity != Severity.INFO:
            yield finding_of(condition)


_WITHOUT_FACTS: Mapping[str, Callable[[], Iterable[Finding]]] = {
    "migrations": database_checks.check_migrations,
    "settings": _check_settings,
    "debug": database_checks.check_debug,
    "redis": redis_checks.check_redis,
    "redis password": redis_checks.check_redis_password,
    "secret files": file_checks.check_secret_files,
    "gateway certificate": file_checks.check_gateway_certificate,
}
_WITH_FACTS: Mapping[str, Callable[[Facts], Iterable[Finding]]] = {
    "alerts": _check_alerts,
    "queues": redis_checks.check_queues,
    "PostgreSQL version": database_checks.check_version,
    "PostgreSQL settings": database_checks.check_settings,
    "PostgreSQL connections": database_checks.check_connections,
    "standbys": database_checks.check_standbys,
    "replication slots": database_checks.check_slots,
    "clock": database_checks.check_clock,
    "processes": database_checks.check_processes,
    "canary": database_checks.check_canary,
    "PowerDNS releases": database_checks.check_releases,
    "backup drill": database_checks.check_drill,
}
