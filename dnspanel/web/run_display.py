"""A run over many zones as pages show it: its state, and how far it is."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.utils import timezone

from dnspanel.zones.models import UNFINISHED_STATES, PolicyRun, RunState, TemplateRun

Run = TypeVar("Run", PolicyRun, TemplateRun)

_TONES = {
    RunState.DONE: ("ok", "check"),
    RunState.FAILED: ("bad", "error"),
    RunState.CANCELLED: ("quiet", "minus"),
    RunState.RUNNING: ("info", "sync"),
    RunState.WAITING: ("quiet", "clock"),
}


@dataclass(frozen=True, slots=True)
class DisplayRun(Generic[Run]):
    """A run in a list or on its page."""

    run: Run

    @property
    def tone(self) -> str:
        return _TONES[RunState(self.run.state)][0]

    @property
    def icon(self) -> str:
        return _TONES[RunState(self.run.state)][1]

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
    def seen(self) -> str:
        """A text that changes whenever the page does."""
        return f"{self.run.state}-{self.run.done}"
