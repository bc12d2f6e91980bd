"""Errors about publications, and about clones, undo, conflicts and removal times."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from dnspanel.texts import gettext, joined
from dnspanel.zones.errors.zone import ZoneError
from replication.dns import rdata

if TYPE_CHECKING:
    from dnspanel.zones.plan.merge import Conflict
    from dnspanel.zones.rules.violations import Violation


class TakenBack(ZoneError):
    """The publication was reverted because the canary couldn't serve it.

    `reason` is the canary's finding. It is empty for people who aren't allowed to see the publication.
    """

    def __init__(self, sequence: int, reason: str) -> None:
        self.sequence, self.reason = sequence, reason
        message = gettext("The change was reverted because the nodes couldn’t serve it.")
        super().__init__(f"{message} {reason}".rstrip())


class ExpiryRefused(ZoneError):
    """An RRset can't be removed at this time, or can't be removed automatically at all."""


class PublishRefused(ZoneError):
    """The base class of errors about rejected publications. Nothing was published, except with PublishedInPart."""


class NothingToPublish(PublishRefused):
    """The draft has no operations, or others have already published all of them."""

    def __init__(self) -> None:
        super().__init__(gettext("No changes to publish."))


class Conflicts(PublishRefused):
    """Others have published changes to RRsets that this draft also changes."""

    def __init__(self, conflicts: "Sequence[Conflict]") -> None:
        self.conflicts = tuple(conflicts)
        names: str = ", ".join(f"{c.change.name} {rdata.type_to_text(c.change.type)}" for c in self.conflicts[:5])
        if len(self.conflicts) > 5:
            names = gettext("{listed} and {count} more").format(listed=names, count=len(self.conflicts) - 5)
        super().__init__(
            gettext("Other people have changed these records in the meantime: {names}.").format(names=names)
        )


class RuleViolations(PublishRefused):
    """The resulting zone would violate rules: errors, or warnings that weren't accepted."""

    def __init__(self, violations: "Sequence[Violation]") -> None:
        self.violations = tuple(violations)
        super().__init__(joined(" ", (violation.message for violation in self.violations)))


@dataclass(frozen=True, slots=True)
class GuardedZone:
    """A zone whose change needs a confirmation: the reasons, and how many of its RRsets would be removed."""

    name: str
    reasons: tuple[str, ...]
    removed: int
    rrsets: int


class GuardHolds(PublishRefused):
    """The change removes many RRsets, apex NS or a DS, so a person must confirm it. `zones` are the affected zones."""

    def __init__(self, zones: Sequence[GuardedZone]) -> None:
        self.zones = tuple(zones)
        first = self.zones[0]
        super().__init__(
            gettext("{zone_name}: {list} Enter the zone name to confirm.").format(
                zone_name=first.name, list=joined(" ", first.reasons)
            )
        )


class MassDeletion(PublishRefused):
    """Many zones are deleted in a short time. A person must confirm the number of zones."""

    def __init__(  # noqa: PLR0913  # the numbers of the message
        self,
        *,
        count: int,
        recent: int,
        existing: int,
        most: int,
        window: timedelta,
        zones: Sequence[GuardedZone] = (),
        rrsets: int = 0,
    ) -> None:
        self.count, self.recent, self.existing, self.most = count, recent, existing, most
        self.zones, self.rrsets = tuple(zones), rrsets  # the first zones; the number of RRsets in all zones
        minutes = int(window.total_seconds()) // 60
        message = (
            gettext(
                "This would delete {count:,} of {existing:,} zones, in addition to {recent:,} deleted in the last "
                "{minutes} minutes. Someone must confirm deleting more than {most:,} zones within {minutes} "
                "minutes. Nothing was deleted."
            )
            if recent
            else gettext(
                "This would delete {count:,} of {existing:,} zones. Someone must confirm deleting more than "
                "{most:,} zones within {minutes} minutes. Nothing was deleted."
            )
        )
        super().__init__(message.format(count=count, existing=existing, recent=recent, most=most, minutes=minutes))

    @property
    def total(self) -> int:
        """The number of zones deleted by this action and shortly before it. A person types the number to confirm."""
        return self.count + self.recent


class PublishedInPart(PublishRefused):
    """Only some parts of a large change were published, because others changed the zone while it was being published.

    Send the same change again to publish the rest. Published parts no longer count as changes.
    """

    def __init__(self, *, pieces: int, of: int, last: int) -> None:
        self.last = last
        super().__init__(
            gettext(
                "Other people have changed the same records in the meantime. {pieces:,} of {of:,} parts were "
                "published, up to publication {last}. Send the request again for the rest."
            ).format(pieces=pieces, of=of, last=last)
        )


class QuotaExceeded(PublishRefused):
    """A person or a team would exceed a quota for zones, RRsets in a zone, drafts or operations in a draft."""


class PublishingOnHold(PublishRefused):
    """Publishing is on hold until a person chooses between the nodes' content and the panel's content."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            gettext("Publishing is on hold: {reason} Nothing was published. Your draft is saved.").format(reason=reason)
        )


class CannotResolve(ZoneError):
    """A conflict can't be resolved with the chosen option."""


class CannotClone(ZoneError):
    """A zone is too large to be cloned this many times. The message contains the limit."""


class CannotUndo(ZoneError):
    """The revision can't be undone with a draft. `instead` names the action that undoes it, or is ""."""

    def __init__(self, reason: str, *, instead: str = "") -> None:
        self.instead = instead  # "delete", "restore" or ""
        super().__init__(reason)


class NotOnHold(ZoneError):
    """Publishing is not on hold, so there is nothing to decide."""

    def __init__(self) -> None:
        super().__init__(gettext("Publishing is no longer on hold. Someone else might have decided first."))
