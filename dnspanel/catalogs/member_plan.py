"""Plan the changes to a catalog's members, from the catalog's current list and the stored members. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dnspanel.transfer.sources.catalog_members import Member

# This number of members can always leave at once without a confirmation.
FEW = 5


@dataclass(frozen=True, slots=True)
class Known:
    """A member as stored at the last turn. `is_here` is True if the zone exists as a member of this catalog."""

    label: str
    groups: tuple[str, ...]
    coo: str
    is_here: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The names of members, grouped by the change that they need.

    - `leave`: members that are no longer listed
    - `forget`: zones that are no longer listed and aren't here
    - `come`: listed zones that aren't here
    - `reset`: members with another label, which are transferred again from scratch
    - `retold`: members with other groups or another `coo`

    If `keeps` is True, the members in `leave` stay until a person confirms the removal, because there are too many.
    """

    leave: tuple[str, ...]
    forget: tuple[str, ...]  # no longer listed, and not here
    come: tuple[str, ...]
    reset: tuple[str, ...]
    retold: tuple[str, ...]
    keeps: bool


def plan_members(
    listed: Mapping[str, Member], known: Mapping[str, Known], *, most_lost: int, is_confirmed: bool
) -> Plan:
    """Return the plan that changes the known members to the listed members."""
    here = {name for name, each in known.items() if each.is_here}
    leave = tuple(sorted(here - listed.keys()))
    stay = sorted(here & listed.keys())
    return Plan(
        leave=leave,
        forget=tuple(sorted(known.keys() - here - listed.keys())),
        come=tuple(sorted(listed.keys() - here)),
        reset=tuple(name for name in stay if known[name].label != listed[name].label),
        retold=tuple(
            name for name in stay if (known[name].groups, known[name].coo) != (listed[name].groups, listed[name].coo)
        ),
        keeps=not is_confirmed and len(leave) > most_leaving(len(here), most_lost),
    )


def most_leaving(members: int, most_lost: int) -> int:
    """Return the number of members that can leave without a confirmation: `most_lost` percent, but at least FEW."""
    return members if most_lost == 100 else max(FEW, members * most_lost // 100)


def rule_of(groups: Collection[str], rules: Collection[tuple[int, str]]) -> int | None:
    """Return the id of the first rule (id, group) whose group is in `groups`, or None if no rule matches."""
    return next((pk for pk, group in rules if group in groups), None)
