"""Alert conditions for consumer catalogs."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from dnspanel.catalogs.queries import CatalogTrouble, troubled_catalogs
from dnspanel.conditions import Condition, Reading, Severity, Subject
from dnspanel.texts import duration_text, gettext, gettext_noop, ngettext

KINDS = {"panel.catalogs": gettext_noop("Followed catalogs have problems")}


@dataclass(frozen=True, slots=True)
class CatalogInputs:
    """The consumer catalogs with problems."""

    catalogs: tuple[CatalogTrouble, ...] = ()


def read_catalogs(now: datetime, reading: Reading) -> CatalogInputs:
    """Return the consumer catalogs with problems."""
    return CatalogInputs(tuple(troubled_catalogs()))


def catalog_conditions(inputs: CatalogInputs, now: datetime, is_open: Collection[str] = ()) -> Iterator[Condition]:
    """Yield one condition for all consumer catalogs with problems, or none if there are no problems."""
    if not inputs.catalogs:
        return
    first, more = inputs.catalogs[0], len(inputs.catalogs) - 1
    message = gettext("The catalog {name} has had a problem for {time}. {message}").format(
        name=first.zone_name, time=duration_text(now - first.since), message=first.message
    )
    if more:
        message = ngettext(
            "{message} {count} other catalog has a problem.", "{message} {count:,} other catalogs have problems.", more
        ).format(message=message, count=more)
    about = tuple(f"zone:{each.zone_name}" for each in inputs.catalogs)
    yield Condition("panel.catalogs", "panel.catalogs", Severity.WARNING, message, about=about)


SUBJECT = Subject(CatalogInputs, KINDS, read_catalogs, catalog_conditions)
