"""The page of the panel's own processes and periodic jobs."""

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.alerts.process_rules import EFFECTS, WORK, is_failing, is_overdue
from dnspanel.fleet.processes.process_roles import LONGEST_TASK, REQUIRED
from dnspanel.fleet.processes.state import PeriodicNow, ProcessesNow, ProcessNow, processes_now
from dnspanel.texts import gettext
from dnspanel.web.frame.layout import PanelRequest, is_fragment
from dnspanel.zones.rights import access


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """A process or a missing required process. `effect` is the consequence if no process with its name is alive."""

    name: str
    process: ProcessNow | None
    is_silent: bool
    is_slow: bool = False
    effect: str = ""


@dataclass(frozen=True, slots=True)
class PeriodicRow:
    work: PeriodicNow
    description: str
    is_overdue: bool
    is_failing: bool


@require_safe
def process_list(request: PanelRequest) -> HttpResponse:
    """List the processes and periodic jobs. Every five seconds, htmx fetches only the lists."""
    access.require(request.user, Permission.FLEET)
    now = timezone.now()
    state = processes_now()
    context = {"processes": process_rows(state, now), "periodic": periodic_rows(state, now)}
    return render(request, "fleet/_processes.html" if is_fragment(request) else "fleet/processes.html", context)


def process_rows(state: ProcessesNow, now: datetime) -> list[ProcessRow]:
    """Return rows for processes and missing required ones, silent and missing first, or [] if no process is known."""
    rows = []
    for each in state.processes:
        is_slow = each.task_since is not None and now - each.task_since > LONGEST_TASK
        is_silent = each.is_silent(now, state.watched_since)
        effect = "" if state.living(each.name, now) else _effect(each.name)
        rows.append(ProcessRow(each.name, each, is_silent, is_slow, effect))
    names = {each.name for each in state.processes}
    if names:
        missing = [name for name in REQUIRED if name not in names]
        rows += [ProcessRow(name, None, is_silent=True, effect=_effect(name)) for name in missing]
    return sorted(rows, key=lambda row: not row.is_silent)


def _effect(name: str) -> str:
    return gettext(EFFECTS[name]) if name in EFFECTS else ""


def periodic_rows(state: ProcessesNow, now: datetime) -> list[PeriodicRow]:
    """Return a row for each periodic job, with overdue and failing jobs first."""
    rows = [
        PeriodicRow(
            work=work,
            description=gettext(WORK.get(work.name, work.name)),
            is_overdue=is_overdue(work, now, state.watched_since),
            is_failing=is_failing(work, now),
        )
        for work in state.periodic
    ]
    return sorted(rows, key=lambda row: (not (row.is_failing or row.is_overdue), row.work.name))
