"""Display a run over many zones: its state, progress, counts, and URLs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar
from uuid import UUID, uuid4

from django.urls import reverse
from django.utils import timezone

from dnspanel.zones import models
from dnspanel.zones.runs.run_turns import TakenBackBatch, taken_back_of

AnyRun = models.PolicyRun | models.TemplateRun | models.ChangeRun
RunZone = models.PolicyRunZone | models.TemplateRunZone | models.ChangeRunZone
Run = TypeVar("Run", models.PolicyRun, models.TemplateRun, models.ChangeRun)
# By finding: its tone, its text in a dry run, and its text in the run itself.
Labels = Mapping[str, tuple[str, str, str]]

LISTED = 30

_TONES = {
    models.RunState.DONE: ("ok", "check"),
    models.RunState.FAILED: ("bad", "error"),
    models.RunState.CANCELLED: ("quiet", "minus"),
    models.RunState.RUNNING: ("info", "sync"),
    models.RunState.WAITING: ("quiet", "clock"),
}


@dataclass(frozen=True, slots=True)
class DisplayRun(Generic[Run]):
    """A run in lists and on its own page. `page` is the page's URL name, `changing` the findings that change a zone."""

    run: Run

    page: ClassVar[str]
    changing: ClassVar[tuple[str, ...]]

    @property
    def to_change(self) -> int:
        """The number of findings that would change a zone."""
        return sum(self.run.counts.get(finding, 0) for finding in self.changing)

    @property
    def form_id(self) -> UUID:
        """A one-time id for the form that applies the run."""
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
        """The CSS class of the button that applies the run."""
        return "btn-primary"

    @property
    def tone(self) -> str:
        return _TONES[models.RunState(self.run.state)][0]

    @property
    def icon(self) -> str:
        return _TONES[models.RunState(self.run.state)][1]

    @property
    def taken_back(self) -> list[TakenBackBatch]:
        """The run's publications that were reverted because the canary didn't serve them."""
        return taken_back_of(self.run)

    @property
    def is_unfinished(self) -> bool:
        return self.run.state in models.UNFINISHED_STATES

    @property
    def percent(self) -> int:
        return min(100, 100 * self.run.done // self.run.total) if self.run.total else 0

    @property
    def seconds(self) -> float:
        ended = self.run.ended_at or timezone.now()
        return (ended - self.run.started_at).total_seconds() if self.run.started_at else 0

    @property
    def page_version(self) -> str:
        """A string that changes whenever the page changes."""
        return f"{self.run.state}-{self.run.done}"


@dataclass(frozen=True, slots=True)
class Counted:
    """One kind of finding in a run: its count, and the zones listed for it."""

    finding: str
    label: str
    tone: str
    count: int
    zones: list[RunZone]

    @property
    def is_partial(self) -> bool:
        return len(self.zones) < self.count


def count_findings(run: AnyRun, labels: Labels, listed: Iterable[tuple[str, RunZone]]) -> list[Counted]:
    """Return the run's counts so far, one for each kind of finding that occurred.

    `listed` has pairs of a finding and a zone, and is evaluated only after the run has ended.
    """
    zones: dict[str, list[RunZone]] = {}
    if run.state not in models.UNFINISHED_STATES:
        for finding, row in listed:
            zones.setdefault(finding, []).append(row)
    return [
        Counted(finding, dry if run.dry_run else label, tone, run.counts[finding], zones.get(finding, []))
        for finding, (tone, dry, label) in labels.items()
        if run.counts.get(finding)
    ]
