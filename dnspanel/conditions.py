"""Conditions (problems that the panel reports as alerts), and a registry of the apps that find them.

The module `conditions` of each app reads the app's state and finds its problems. Each app registers its module as a
`Subject` at startup. `alerts` goes through all registered subjects without depending on the apps.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar, cast

from django.db import models

from dnspanel.texts import duration_text, gettext, joined, ngettext
from dnspanel.texts import gettext_lazy as _

Inputs = TypeVar("Inputs")


class Severity(models.TextChoices):
    """The urgency of a condition. A condition with INFO needs no action and ends automatically."""

    INFO = "info", _("information")
    WARNING = "warning", _("warning")
    CRITICAL = "critical", _("critical")

    @property
    def rank(self) -> int:
        """The sort key of this severity: the most urgent severity sorts first."""
        return -list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Condition:
    """An existing problem, identified by `key` across checks. `about` lists objects, such as `zone:example.test.`."""

    key: str
    kind: str
    severity: Severity
    message: str
    node_id: int | None = None
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedZones:
    """The number of zones with one kind of condition. `first` has the zones with the oldest conditions, with times."""

    count: int = 0
    first: tuple[tuple[str, datetime], ...] = ()

    @property
    def about(self) -> tuple[str, ...]:
        """The first zones in the form of `Condition.about`, without the node names that can follow a zone's name."""
        return tuple(f"zone:{name.partition(' ')[0]}" for name, _ in self.first)

    def message(self, now: datetime) -> str:
        """Format the number of zones, and the first zones with the durations of their conditions.

        For a future condition, the duration is the time until the condition begins.
        """
        named: list[str] = [_text_of_zone(name, now - at) for name, at in self.first]
        if self.count > len(self.first):
            named.append(gettext("and {count:,} more").format(count=self.count - len(self.first)))
        return ngettext("{count} zone ({names})", "{count:,} zones ({names})", self.count).format(
            count=self.count, names=joined(", ", named)
        )


NO_ZONES = NamedZones()


def _text_of_zone(name: str, passed: timedelta) -> str:
    """Return a zone's name with the duration of its condition, or with the time until the condition begins."""
    message = gettext("{name} for {time}") if passed >= timedelta(0) else gettext("{name} in {time}")
    return message.format(name=name, time=duration_text(abs(passed)))


class Reading:
    """The inputs that all subjects read at one point in time, keyed by class."""

    def __init__(self, *inputs: object, zones: Mapping[str, NamedZones] | None = None) -> None:
        self._inputs = {type(each): each for each in inputs}
        self._zones = zones or {}

    def add(self, inputs: object) -> None:
        self._inputs[type(inputs)] = inputs

    def get(self, kind: type[Inputs]) -> Inputs | None:
        """Return the inputs of this class, or None if no subject has read such inputs."""
        return cast("Inputs | None", self._inputs.get(kind))

    def of(self, kind: type[Inputs]) -> Inputs:
        """Return the inputs of this class. Raise KeyError if no subject has read such inputs."""
        return cast(Inputs, self._inputs[kind])

    def zones(self, kind: str) -> NamedZones:
        """Return the zones with this kind of condition, as returned by the queries in `Subject.zones`."""
        return self._zones.get(kind, NO_ZONES)


@dataclass(frozen=True, slots=True)
class Subject(Generic[Inputs]):
    """The conditions of one app: the titles of their kinds, and the functions that read inputs and find conditions.

    `read` also receives the inputs of subjects that were registered earlier. `zones` contains SELECT statements that
    return (zone_id, kind, since, nodes). `times` returns their parameters. All subjects' statements are combined with
    `UNION ALL`.
    """

    inputs: type[Inputs]
    kinds: Mapping[str, str]
    read: Callable[[datetime, Reading], Inputs]
    judge: Callable[[Inputs, datetime, Collection[str]], Iterable[Condition]]
    zones: str = ""
    times: Callable[[datetime], Mapping[str, datetime]] = lambda now: {}


_SUBJECTS: dict[type, Subject[Any]] = {}


def register(subject: Subject[Any]) -> None:
    """Register an app's subject after those whose inputs its `read` needs. Registering it again changes nothing."""
    _SUBJECTS[subject.inputs] = subject


def subjects() -> tuple[Subject[Any], ...]:
    """Return the subjects of all apps, in the order of their registration."""
    return tuple(_SUBJECTS.values())


def kinds() -> dict[str, str]:
    """Return all kinds of conditions with their English titles."""
    return {kind: meaning for subject in subjects() for kind, meaning in subject.kinds.items()}


def title_of_equal(kind: str, count: int) -> str:
    """Return the title for several conditions of one kind, such as `Node is offline (×3)`."""
    return gettext("{title} (×{count:,})").format(title=gettext(kinds().get(kind, kind)), count=count)
