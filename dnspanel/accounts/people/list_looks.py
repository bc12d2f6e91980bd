"""Store a user's display settings for lists and the dashboard: hidden columns or cards, and row density. Verbs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from django.db import transaction

from dnspanel.accounts.models import User
from dnspanel.texts import gettext_lazy


class ListName(StrEnum):
    """The lists that have display settings. The dashboard also counts as a list."""

    ZONES = "zones"
    RECORDS = "records"
    HOME = "home"


# The columns or cards that can be hidden, with their titles. The other columns identify the row.
COLUMNS: Mapping[ListName, Mapping[str, str]] = MappingProxyType(
    {
        ListName.ZONES: {
            "dnssec": "DNSSEC",
            "rrsets": "RRsets",
            "serial": gettext_lazy("Serial"),
            "changed": gettext_lazy("Revision"),
            "author": gettext_lazy("Author"),
            "sync": gettext_lazy("On nodes"),
            "marks": gettext_lazy("Team and tags"),
        },
        ListName.RECORDS: {"ttl": "TTL", "comment": gettext_lazy("Comment")},
        ListName.HOME: {"steps": gettext_lazy("First steps")},
    }
)


@dataclass(frozen=True, slots=True)
class ListLook:
    """The display settings of a list: its hidden columns and its row density."""

    of: ListName
    hidden: frozenset[str] = frozenset()
    dense: bool = False

    @property
    def css(self) -> str:
        return " ".join([f"no-{column}" for column in sorted(self.hidden)] + ["is-dense"] * self.dense)

    @property
    def columns(self) -> tuple[tuple[str, str, bool], ...]:
        """The columns that can be hidden, as tuples of key, label, and True if the column is shown."""
        return tuple((key, text, key not in self.hidden) for key, text in COLUMNS[self.of].items())


def look_of(person: User, of: ListName) -> ListLook:
    """Return the user's display settings for this list. Needs no query."""
    stored = person.list_looks.get(of, {})
    hidden = frozenset(stored.get("hidden", ())) & COLUMNS[of].keys()
    return ListLook(of, hidden, dense=stored.get("dense", of == ListName.ZONES))


def set_look(*, person: User, of: ListName, columns: Iterable[str], dense: bool) -> ListLook:
    """Store the shown columns and the row density of this list. Return the settings. Ignore unknown columns."""
    hidden = COLUMNS[of].keys() - set(columns)
    with transaction.atomic(durable=True):
        looks = User.objects.select_for_update(no_key=True).values_list("list_looks", flat=True).get(pk=person.pk)
        looks = looks | {of: {"hidden": sorted(hidden), "dense": dense}}
        User.objects.filter(pk=person.pk).update(list_looks=looks)
    person.list_looks = looks
    return look_of(person, of)
