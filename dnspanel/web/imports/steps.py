"""The step bar of an import, and the badge for its state."""

from dataclasses import dataclass

from django.urls import reverse

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.transfer.models import ENDED_STATES, ImportJob, State

STEPS = ("source", "scan", "choose", "dry-run", "apply", "report")
_TEXTS = (
    gettext_lazy("Source"),
    gettext_lazy("Scan"),
    gettext_lazy("Choose"),
    gettext_lazy("Dry run"),
    gettext_lazy("Apply"),
    gettext_lazy("Report"),
)

_STEP_OF_STATE = {
    State.UPLOADING: "source",
    State.SCANNING: "scan",
    State.CHOOSING: "choose",
    State.PLANNING: "dry-run",
    State.PLANNED: "dry-run",
    State.APPLYING: "apply",
    State.DONE: "report",
    State.UNDOING: "report",
    State.UNDONE: "report",
}

# Tone and icon of each state.
_BADGES = {
    State.UPLOADING: ("info", "import"),
    State.SCANNING: ("info", "sync"),
    State.CHOOSING: ("warn", "edit"),
    State.PLANNING: ("info", "sync"),
    State.PLANNED: ("warn", "eye"),
    State.APPLYING: ("info", "sync"),
    State.DONE: ("ok", "check"),
    State.UNDOING: ("info", "undo"),
    State.UNDONE: ("quiet", "undo"),
    State.CANCELLED: ("quiet", "close"),
    State.FAILED: ("bad", "error"),
}


@dataclass(frozen=True, slots=True)
class Badge:
    """A badge for a state: its color, icon and text."""

    tone: str
    icon: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    text: str
    is_done: bool
    is_now: bool
    is_bad: bool = False
    url: str = ""

    @property
    def css(self) -> str:
        return "is-bad" if self.is_bad else "is-now" if self.is_now else "is-done" if self.is_done else ""


def badge_of(job: ImportJob) -> Badge:
    """Return the badge for the import's state. A paused import has a badge of its own."""
    if job.paused:
        return Badge("warn", "pause", gettext("paused"))
    state = State(job.state)
    return Badge(*_BADGES[state], str(state.label))


def first_steps() -> list[Step]:
    """Return the step bar shown before the import is created."""
    return [Step(text, is_done=False, is_now=number == 0) for number, text in enumerate(_TEXTS)]


def step_of(job: ImportJob) -> str:
    """Return the import's current step, or the step where it was stopped (the report if publishing had started)."""
    found = _STEP_OF_STATE.get(State(job.state))
    if found is not None:
        return found
    if job.apply_seconds or job.last_sequence:
        return "report"
    if job.plan_seconds:
        return "dry-run"
    if job.scan_seconds:
        return "choose"
    return "scan" if job.items else "source"


def steps_of(job: ImportJob, display: str = "") -> list[Step]:
    """Return the import's step bar. `display` is the step that the page shows, if it isn't the current step."""
    at = STEPS.index(step_of(job))
    stopped = job.state in (State.FAILED, State.CANCELLED) and at < STEPS.index("report")
    ended = job.state in ENDED_STATES
    looked_at = STEPS.index(display) if display else at
    return [
        Step(
            text,
            is_done=number < at or (ended and not stopped and number == at),
            is_now=number == looked_at and not (ended and number == at),
            is_bad=stopped and number == at,
            url=_url(job, STEPS[number]) if number != looked_at else "",
        )
        for number, text in enumerate(_TEXTS)
    ]


def _url(job: ImportJob, step: str) -> str:
    """Return the step's URL if it is the current step, or if it is `choose` after a dry run. Otherwise return ""."""
    page = reverse("import-detail", args=[job.pk])
    if step == "choose" and job.state == State.PLANNED:
        return f"{page}?step=choose"
    return page if step == step_of(job) else ""
