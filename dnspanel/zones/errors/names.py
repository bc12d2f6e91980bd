"""Errors about the names of zones."""

from collections.abc import Mapping, Sequence

from dnspanel.texts import gettext, ngettext
from dnspanel.zones.errors.zone import ZoneError


class NameRefused(ZoneError):
    """A zone cannot have this name."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(reason)


class NameTaken(NameRefused):
    """A zone with this name exists already."""

    def __init__(self, name: str) -> None:
        super().__init__(name, gettext("The zone {name} exists already.").format(name=name))


class PublicSuffix(NameRefused):
    """No one is allowed to have a zone with this name, because it is a public suffix or the root."""

    def __init__(self, name: str) -> None:
        what = gettext("the root") if name == "." else name
        super().__init__(
            name,
            gettext(
                "The zone {what} is refused, because it is above everyone’s zones. To allow it, change the "
                "settings PANEL_REFUSED_SUFFIXES and PANEL_PUBLIC_SUFFIX_LIST."
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
            gettext("{network} is not the name of a zone; its reverse names lie in {where}.").format(
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
                    "You are not allowed to create the zone {name}. It is below {other}, and you are not allowed to "
                    "change every record of that zone."
                )
                if other
                else gettext("You are not allowed to create the zone {name}. It is below a zone of another team.")
            )
        else:
            message = (
                gettext(
                    "You are not allowed to create the zone {name}. It is above {other}, and you are not allowed to "
                    "change every record of that zone."
                )
                if other
                else gettext("You are not allowed to create the zone {name}. It is above a zone of another team.")
            )
        super().__init__(name, message.format(name=name, other=other))


class SignedAtParent(NameRefused):
    """The zone above has a DS for this zone, but this zone would not be signed."""

    def __init__(self, name: str, parent: str) -> None:
        super().__init__(
            name,
            gettext(
                "{parent} holds a DS for {name}: resolvers that validate would answer nothing of it, "
                "because it would not be signed by the key that the DS names. Remove the DS from "
                "{parent} first, and wait for its TTL."
            ).format(parent=parent, name=name),
        )


class BreaksBelow(NameRefused):
    """The zone has a DS for a zone below it, `child`, that matches none of the child's keys."""

    def __init__(self, name: str, child: str, reason: str) -> None:
        self.child = child
        super().__init__(
            name,
            gettext(
                "{name} holds a DS for {child}, {reason}: resolvers that validate would answer nothing "
                "of it. Take the DS out, or put the right one in."
            ).format(name=name, child=child, reason=reason),
        )


class NamesRefused(ZoneError):
    """Zones cannot have some of the names. `refusals` has the reason for each such name. No zone was created."""

    def __init__(self, refusals: Mapping[str, NameRefused]) -> None:
        self.refusals = dict(refusals)
        first, more = next(iter(self.refusals.values())), len(self.refusals) - 1
        message: str = str(first)
        if more:
            message = ngettext(
                "{message} One more name is refused.", "{message} {count} more names are refused.", more
            ).format(message=message, count=more)
        super().__init__(message)

    @property
    def first(self) -> NameRefused:
        return next(iter(self.refusals.values()))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.refusals)


class NamesTaken(ZoneError):
    """Zones with some of the names exist already. No zone was created."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        first, more = self.names[0], len(self.names) - 1
        super().__init__(
            (
                gettext("The zone {first} exists already, and {more} more.")
                if more
                else gettext("The zone {first} exists already.")
            ).format(first=first, more=more)
        )


class NameReserved(NameRefused):
    """The panel itself uses this name to measure how far nodes have caught up."""

    def __init__(self, name: str) -> None:
        super().__init__(
            name, gettext("The name {name} is reserved: the panel uses it to see how far a node is.").format(name=name)
        )
