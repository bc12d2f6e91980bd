"""A run over many zones as pages show it: its state, how far it is, what it counted, and where its pages are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar
from uuid import UUID, uuid4

from django.urls import reverse
from django.utils import timezone

from dnspanel.zones.models import (
    UNFINISHED_STATES,
    ChangeRun,
    ChangeRunZone,
    PolicyRun,
    PolicyRunZone,
    RunState,
    TemplateRun,
    TemplateRunZone,
)
from dnspanel.zones.runs.run_turns import TakenBackBatch, taken_back_of

AnyRun = PolicyRun | TemplateRun | ChangeRun
RunZone = PolicyRunZone | TemplateRunZone | ChangeRunZone
Run = TypeVar("Run", PolicyRun, TemplateRun, ChangeRun)
# By what is found: tone, and words for a dry run and for the run itself.
Labels = Mapping[str, tuple[str, str, str]]

LISTED = 30

_TONES = {
    RunState.DONE: ("ok", "check"),
    RunState.FAILED: ("bad", "error"),
    RunState.CANCELLED: ("quiet", "minus"),
    RunState.RUNNING: ("info", "sync"),
    RunState.WAITING: ("quiet", "clock"),
}


@dataclass(frozen=True, slots=True)
class DisplayRun(Generic[Run]):
    """A run in a list or on its page; `page` is the name of that page's URL, `changing` what would change a zone."""

    run: Run

    page: ClassVar[str]
    changing: ClassVar[tuple[str, ...]]

    @property
    def to_change(self) -> int:
        """How much of what was found would change something."""
        return sum(self.run.counts.get(finding, 0) for finding in self.changing)

    @property
    def form_id(self) -> UUID:
        """The one-time id of the form that carries it out."""
        return uuid4()

    @property
    def url(self) -> str:
        return reverse(self.page, args=[self.run.pk])

    @property
    def apply_url(self) -> str:
        return reverse(f"{self.page}-apply", args=[self.run.pk])

    @property
    def cancel_url(self) -> str:
        return reverse(f"{self.page}-cancel", args=[self.run.pk])

    @property
    def apply_class(self) -> str:
        """How the button that carries it out looks."""
        return "btn-primary"

    @property
    def tone(self) -> str:
        return _TONES[RunState(self.run.state)][0]

    @property
    def icon(self) -> str:
        return _TONES[RunState(self.run.state)][1]

    @property
    def taken_back(self) -> list[TakenBackBatch]:
        """Its publications that the canary could not answer with."""
        return taken_back_of(self.run)

    @property
    def is_unfinished(self) -> bool:
        return self.run.state in UNFINISHED_STATES

    @property
    def percent(self) -> int:
        return min(100, 100 * self.run.done // self.run.total) if self.run.total else 0

    @property
    def seconds(self) -> float:
        ended = self.run.ended_at or timezone.now()
        return (ended - self.run.started_at).total_seconds() if self.run.started_at else 0

    @property
    def page_version(self) -> str:
        """A text that changes whenever the page does."""
        return f"{self.run.state}-{self.run.done}"


@dataclass(frozen=True, slots=True)
class Counted:
    """What a run counted, with the zones that it lists."""

    finding: str
    label: str
    tone: str
    count: int
    zones: list[RunZone]

    @property
    def is_partial(self) -> bool:
        return len(self.zones) < self.count


def count_findings(run: AnyRun, labels: Labels, listed: Iterable[tuple[str, RunZone]]) -> list[Counted]:
    """Return what the run counted so far.

    The listed zones, each with what was found, are asked for once it has ended.
    """
    zones: dict[str, list[RunZone]] = {}
    if run.state not in UNFINISHED_STATES:
        for finding, row in listed:
            zones.setdefault(finding, []).append(row)
    return [
        Counted(finding, dry if run.dry_run else label, tone, run.counts[finding], zones.get(finding, []))
        for finding, (tone, dry, label) in labels.items()
        if run.counts.get(finding)
    ]
