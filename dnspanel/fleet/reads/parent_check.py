"""Show a person the last check of a zone's parent. Hide the parent's name if the person isn't allowed to know it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from dnspanel.accounts.actors.actors import Person
from dnspanel.accounts.actors.grants import Right
from dnspanel.fleet.models import ParentCheck, ParentState
from dnspanel.texts import gettext, gettext_noop, with_value
from dnspanel.zones.rights import access
from dnspanel.zones.signing.safety import ParentHere

# Results are not waited for longer, in case no worker runs.
PATIENCE = timedelta(seconds=60)
NOBODY_KNOWS = gettext_noop("DS at parent: not checked yet.")


@dataclass(frozen=True, slots=True)
class ParentView:
    """A parent check, as a person is allowed to see it. `check` is None before the first check.

    `name` is empty before the first check, and if the person isn't allowed to know the parent, a zone on this panel.
    """

    check: ParentCheck | None
    name: str
    is_waiting: bool  # True if a person just requested a check that no worker has done yet

    @property
    def message(self) -> str:
        """The result of the check as a message, without the name of a hidden parent zone."""
        if self.check is None or self.check.state == ParentState.UNKNOWN:
            return gettext(NOBODY_KNOWS)
        if self.name != self.check.parent:
            told = with_value(self.check.message, "parent", gettext("in this panel"))
            return told.replace(f"the parent {self.check.parent}", "the parent, in this panel,")  # old texts
        return str(self.check.message)


def parent_view(check: ParentCheck | None, here: ParentHere | None, *, knows_here: bool, now: datetime) -> ParentView:
    """Return the check as a person sees it. `knows_here`: the person is allowed to know the parent zone here."""
    is_hidden = check is not None and here is not None and here.name == check.parent and not knows_here
    return ParentView(check, "" if check is None or is_hidden else check.parent, _is_waiting(check, now))


def may_know_parent(person: Person, here: ParentHere | None) -> bool:
    """Return True if the parent is a zone on this panel that the person is allowed to know."""
    if here is None:
        return False
    return access.zones_within_reach(person, Right.READ).filter(pk=here.zone_id, deleted_at=None).exists()


def _is_waiting(check: ParentCheck | None, now: datetime) -> bool:
    """Return True if a person requested a check whose result can still arrive."""
    if check is None or check.requested_at is None or now - check.requested_at > PATIENCE:
        return False
    return check.checked_at is None or check.checked_at < check.requested_at
