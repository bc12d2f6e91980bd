"""Errors about zone names."""

from collections.abc import Mapping, Sequence

from dnspanel.texts import gettext, ngettext
from dnspanel.zones.errors.zone import ZoneError


class NameRefused(ZoneError):
    """A zone can't have this name."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(reason)


class NameTaken(NameRefused):
    """A zone with this name already exists."""

    def __init__(self, name: str) -> None:
        super().__init__(name, gettext("The zone {name} already exists.").format(name=name))


class PublicSuffix(NameRefused):
    """A zone isn't allowed to have this name, because it is a public suffix or the root."""

    def __init__(self, name: str) -> None:
        what = gettext("root (.)") if name == "." else name
        super().__init__(
            name,
            gettext(
                "The zone {what} isn’t allowed because its name is a public suffix. The operator can allow it "
                "with PANEL_REFUSED_SUFFIXES and PANEL_PUBLIC_SUFFIX_LIST."
            ).format(what=what),
        )


class ReverseName(NameRefused):
    """The name is a network or an address. `zones` are the reverse zones for it."""

    def __init__(self, name: str, network: str, zones: Sequence[str]) -> None:
        self.network, self.zones = network, tuple(zones)
        where: str = ", ".join(self.zones[:4]).removesuffix(".")
        if len(self.zones) > 4:
            where = gettext("{listed} and {count} more").format(listed=where, count=len(self.zones) - 4)
        super().__init__(
            name,
            gettext("{network} isn’t a zone name. The reverse names for this network are in {where}.").format(
                network=network, where=where
            ),
        )


class NameOfOthers(NameRefused):
    """The name is below or above (`side`) a zone in which the author is not allowed to change every record.

    `other` is that zone, or "" if the author is not allowed to see it.
    """

    def __init__(self, name: str, side: str, other: str) -> None:
        self.side, self.other = side, other
        if side == "below":
            message = (
                gettext(
                    "You can’t create the zone {name} below {other} because you aren’t allowed to change all records "
                    "in that zone."
                )
                if other
                else gettext("You can’t create the zone {name} below another team’s zone.")
            )
        else:
            message = (
                gettext(
                    "You can’t create the zone {name} above {other} because you aren’t allowed to change all records "
                    "in that zone."
                )
                if other
                else gettext("You can’t create the zone {name} above another team’s zone.")
            )
        super().__init__(name, message.format(name=name, other=other))


class SignedAtParent(NameRefused):
    """The parent zone has a DS for this zone, but the DS matches none of this zone's keys."""

    def __init__(self, name: str, parent: str) -> None:
        super().__init__(
            name,
            gettext(
                "{parent} has a DS for {name} that doesn’t match the zone’s keys, so validating resolvers would "
                "reject all answers. Delete the DS from {parent} first, and wait until its TTL has expired."
            ).format(parent=parent, name=name),
        )


class BreaksBelow(NameRefused):
    """The zone has a DS for a zone below it (`child`), but the DS matches none of the child's keys."""

    def __init__(self, name: str, child: str, reason: str) -> None:
        self.child = child
        super().__init__(
            name,
            gettext(
                "{name} has a DS for {child}, {reason}. Validating resolvers would reject all answers for that "
                "zone. Delete or correct the DS."
            ).format(name=name, child=child, reason=reason),
        )


class NamesRefused(ZoneError):
    """Zones can't have some of the names. `refusals` contains the reason for each of them. No zone was created."""

    def __init__(self, refusals: Mapping[str, NameRefused]) -> None:
        self.refusals = dict(refusals)
        first, more = next(iter(self.refusals.values())), len(self.refusals) - 1
        message: str = str(first)
        if more:
            message = ngettext(
                "{message} One other name was also refused.", "{message} {count} other names were also refused.", more
            ).format(message=message, count=more)
        super().__init__(message)

    @property
    def first(self) -> NameRefused:
        return next(iter(self.refusals.values()))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.refusals)


class NamesTaken(ZoneError):
    """Zones with some of the names already exist. No zone was created."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        first, more = self.names[0], len(self.names) - 1
        super().__init__(
            (
                gettext("The zone {first} and {more} more already exist.")
                if more
                else gettext("The zone {first} already exists.")
            ).format(first=first, more=more)
        )


class NameReserved(NameRefused):
    """The panel uses this name itself, to measure how far nodes have caught up."""

    def __init__(self, name: str) -> None:
        super().__init__(
            name,
            gettext("The name {name} is reserved because the panel uses it to check whether nodes are in sync.").format(
                name=name
            ),
        )
