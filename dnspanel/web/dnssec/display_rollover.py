"""Prepare rollovers for display: the current step, its conditions, and the DS records to request from the parent."""

from dataclasses import dataclass
from datetime import datetime

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.dnssec.display import Line
from dnspanel.web.templatetags.panel import duration
from dnspanel.zones.dnssec import rollover_queries
from dnspanel.zones.dnssec.rollover_stages import Kind, Step
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.models import Rollover

KIND_LABELS = {
    Kind.ZSK: gettext_lazy("Zone-signing key (pre-publication)"),
    Kind.KSK: gettext_lazy("Key-signing key (double KSK)"),
    Kind.KSK_DOUBLE_DS: gettext_lazy("Key-signing key (double DS)"),
    Kind.CSK: gettext_lazy("Combined key (CSK)"),
    Kind.ALGORITHM: gettext_lazy("Algorithm (all keys)"),
    Kind.INSECURE: gettext_lazy("Unsigning the zone"),
    Kind.SECURE: gettext_lazy("First DS at parent"),
}
_STEP_LABELS = {
    Step.PUBLISH: gettext_lazy("new key published"),
    Step.SIGN: gettext_lazy("new key active"),
    Step.DS: gettext_lazy("DS at parent"),
    Step.EXCHANGE: gettext_lazy("keys replaced"),
    Step.UNPUBLISH: gettext_lazy("old key unpublished"),
    Step.REMOVE: gettext_lazy("old key removed"),
    Step.CLEAN: gettext_lazy("old DS removed"),
    Step.WITHDRAW: gettext_lazy("new DS withdrawn"),
    Step.BACK: gettext_lazy("reverting"),
    Step.UNDONE: gettext_lazy("reverted"),
}
_STEP_LABELS_OF = {(Kind.SECURE, Step.PUBLISH): gettext_lazy("signed on all nodes")}
# Steps in which the parent's operator can already have been asked to add the new DS.
_ASKS_PARENT = (Step.DS,)
_CANCELLED_FREELY = (Kind.KSK_DOUBLE_DS, Kind.SECURE)


@dataclass(frozen=True, slots=True)
class DisplayStep:
    """A step of the rollover. `word` is "done", "current" or "to come"."""

    label: str
    word: str


@dataclass(frozen=True, slots=True)
class DisplayRollover:
    """A rollover, as shown on its card."""

    row: Rollover
    now: datetime

    @property
    def kind(self) -> str:
        return KIND_LABELS[Kind(self.row.kind)]

    @property
    def step(self) -> str:
        return _step_label(self.row, Step(self.row.step))

    @property
    def steps(self) -> list[DisplayStep]:
        """The rollover's steps, toward the new keys or, after a cancellation, back to the old keys."""
        return [DisplayStep(_step_label(self.row, step), word) for step, word in rollover_queries.steps_of(self.row)]

    @property
    def can_withdraw(self) -> bool:
        """True if the user must confirm, before canceling, that the request to the parent was withdrawn."""
        return Step(self.row.step) in _ASKS_PARENT and bool(self.row.new_ds) and self.row.kind not in _CANCELLED_FREELY

    @property
    def is_over(self) -> bool:
        return self.row.ended_at is not None

    @property
    def outcome(self) -> str:
        return gettext("cancelled") if self.row.is_cancelled else gettext("done")

    @property
    def remaining(self) -> str:
        """The time until the next step can start, or "" if that time has passed or is unknown."""
        if self.row.earliest is None or self.row.earliest <= self.now:
            return ""
        return duration((self.row.earliest - self.now).total_seconds())

    @property
    def add_lines(self) -> list[Line]:
        """The DS records that must be added at the parent."""
        return [self._line("add", gettext("DS to add"), text) for text in self.row.add_ds]

    @property
    def remove_lines(self) -> list[Line]:
        """The DS records that must be removed at the parent."""
        return [self._line("remove", gettext("DS to remove"), text) for text in self.row.remove_ds]

    def _line(self, verb: str, label: str, text: str) -> Line:
        # An id always has the same text, so that opened fields stay open when the card is rendered again.
        return Line(f"{verb}-{text.split()[3][:16]}", label, f"{self.row.zone.name} IN DS {text}")


def _step_label(row: Rollover, step: Step) -> str:
    return _STEP_LABELS_OF.get((Kind(row.kind), step), _STEP_LABELS[step])


def possible_kinds(state: SigningState) -> list[Kind]:
    """Return the kinds of rollovers that the zone's keys allow."""
    return [kind for kind, refusal in rollover_queries.kinds_of(state).items() if not refusal]
