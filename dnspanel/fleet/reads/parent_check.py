"""Show a person the last check of a zone's parent. Hide the parent's name if the person isn't allowed to know it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from dnspanel.accounts.actors.actors import Person
from dnspanel.fleet.models import ParentCheck, ParentState
from dnspanel.texts import gettext, gettext_noop, with_value
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from dnspanel.zones.signing.safety import ParentHere, parent_here

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
    knows_here: bool  # True if the person is allowed to know the parent zone on this panel

    @property
    def message(self) -> str:
        """The result of the check as a message, without the name of a hidden parent zone."""
        if self.check is None or self.check.state == ParentState.UNKNOWN:
            return gettext(NOBODY_KNOWS)
        if self.name != self.check.parent:
            told = with_value(self.check.message, "parent", gettext("in this panel"))
            return told.replace(f"the parent {self.check.parent}", "the parent, in this panel,")  # old texts
        return str(self.check.message)


def parent_of(zone: Zone, person: Person, now: datetime) -> tuple[ParentView, ParentHere | None]:
    """Return the last check of the zone's parent as a person sees it, and the parent if it is a zone on this panel."""
    here, check = parent_here(zone.name), ParentCheck.objects.filter(zone=zone).first()
    knows_here = here is not None and access.zones_visible_to(person).filter(pk=here.zone_id).exists()
    is_hidden = check is not None and here is not None and here.name == check.parent and not knows_here
    name = "" if check is None or is_hidden else check.parent
    return ParentView(check, name, _is_waiting(check, now), knows_here), here


def _is_waiting(check: ParentCheck | None, now: datetime) -> bool:
    """Return True if a person requested a check whose result can still arrive."""
    if check is None or check.requested_at is None or now - check.requested_at > PATIENCE:
        return False
    return check.checked_at is None or check.checked_at < check.requested_at
