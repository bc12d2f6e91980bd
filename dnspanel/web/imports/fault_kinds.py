"""Import errors and warnings grouped by kind, for a list of badges."""

from collections.abc import Iterable
from dataclasses import dataclass

from dnspanel.texts import gettext_lazy
from dnspanel.transfer.imports.queries import FaultKind

SEVERITY_TONES = {"error": "bad", "warning": "warn", "note": "info"}
SEVERITY_NAMES = {"error": gettext_lazy("error"), "warning": gettext_lazy("warning"), "note": gettext_lazy("note")}
SEVERITY_ICONS = {"error": "error", "warning": "alert", "note": "info"}


@dataclass(frozen=True, slots=True)
class DisplayFaultKind:
    """A kind of error or warning, with its count and one example."""

    code: str
    severity: str
    count: int
    sample: str

    @property
    def tone(self) -> str:
        return SEVERITY_TONES.get(self.severity, "info")

    @property
    def icon(self) -> str:
        return SEVERITY_ICONS.get(self.severity, "info")


def fault_kinds_for_display(kinds: Iterable[FaultKind]) -> list[DisplayFaultKind]:
    """Convert kinds of errors and warnings for display, in the same order."""
    return [DisplayFaultKind(kind.code, kind.severity, kind.count, kind.sample) for kind in kinds]
