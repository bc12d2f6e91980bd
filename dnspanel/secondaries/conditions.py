"""Alert conditions for secondaries that are silent, behind, or give wrong answers."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from dnspanel.conditions import Condition, Reading, Severity, Subject
from dnspanel.secondaries.queries import DifferingSecondary, LateSecondary, differing_secondaries, late_secondaries
from dnspanel.texts import duration_text, gettext, gettext_noop, ngettext

KINDS = {
    "secondary.late": gettext_noop("Secondary is behind"),
    "secondary.silent": gettext_noop("Secondary isn’t responding"),
    "secondary.differs": gettext_noop("Secondary is giving wrong answers"),
}


@dataclass(frozen=True, slots=True)
class SecondaryInputs:
    """The secondaries that are behind or silent, and those whose answers differ from the panel's zones."""

    late: tuple[LateSecondary, ...] = ()
    differing: tuple[DifferingSecondary, ...] = ()


def read_secondaries(now: datetime, reading: Reading) -> SecondaryInputs:
    """Read the state of the secondaries in two queries."""
    return SecondaryInputs(tuple(late_secondaries(now)), tuple(differing_secondaries()))


def secondary_conditions(inputs: SecondaryInputs, now: datetime, is_open: Collection[str] = ()) -> Iterator[Condition]:
    """Yield a condition for each secondary that is behind or silent, or whose answers differ.

    A secondary that is both silent and behind is only reported as silent, because only its answers show its progress.
    """
    for each in inputs.late:
        key, about = f"secondary:{each.name}", (f"secondary:{each.secondary_id}",)
        if each.silent_since is not None:
            message = gettext("The secondary {name} hasn’t answered any queries for {time}.").format(
                name=each.name, time=duration_text(now - each.silent_since)
            )
            yield Condition(key, "secondary.silent", Severity.CRITICAL, message, about=about)
        elif each.behind_since is not None:
            first = each.first.rstrip(".")
            message = ngettext(
                "The secondary {name} has been behind on {first} for {time}.",
                "The secondary {name} has been behind on {count:,} zones for {time}. The first is {first}.",
                each.zones,
            ).format(name=each.name, count=each.zones, first=first, time=duration_text(now - each.behind_since))
            yield Condition(key, "secondary.late", Severity.WARNING, message, about=about)
    for differing in inputs.differing:
        message = ngettext(
            "The secondary {name} has given wrong answers for {first} for {time}. {difference}",
            "The secondary {name} has given wrong answers for {count:,} zones for {time}. The first is "
            "{first}. {difference}",
            differing.zones,
        ).format(
            name=differing.name,
            count=differing.zones,
            first=differing.first.rstrip("."),
            time=duration_text(now - differing.since),
            difference=differing.difference,
        )
        key, about = f"secondary.differs:{differing.name}", (f"secondary:{differing.secondary_id}",)
        yield Condition(key, "secondary.differs", Severity.CRITICAL, message, about=about)


SUBJECT = Subject(SecondaryInputs, KINDS, read_secondaries, secondary_conditions)
