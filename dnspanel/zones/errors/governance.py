"""Errors about named drafts, approval rules, freezes, publish hooks and requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dnspanel.accounts.actors.actors import Right
from dnspanel.accounts.errors import NotFound
from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.errors.rights import RightMissing
from dnspanel.zones.errors.zone import ZoneError

if TYPE_CHECKING:
    from dnspanel.accounts.actors.actors import Author
    from dnspanel.zones.governance.hook_questions import Question


@dataclass(frozen=True, slots=True)
class Attempt:
    author: "Author"
    channel: str
    reason: str
    at: datetime


class KeptBack(RightMissing):
    """A rule blocks this publication. `attempt` is set if someone tried to publish."""

    attempt: Attempt | None = None

    def __init__(self, zone_name: str, reason: str) -> None:
        super().__init__(Right.CHANGE, zone_name)
        self.args = (reason,)


class ApprovalNeeded(KeptBack):
    """A rule requires approval by others, or a ticket, before the change is published."""


class Frozen(KeptBack):
    """A freeze blocks publications of this zone now."""


class HookRefused(RightMissing):
    """A publish hook didn't allow this publication. `zones` maps the affected zones' ids to their names."""

    def __init__(self, zones: Mapping[int, str], reason: str) -> None:
        self.zones = zones
        super().__init__(Right.CHANGE, next(iter(zones.values()), ""))
        self.args = (reason,)


class HookUnasked(HookRefused):
    """Publish hooks must answer `questions` first. `publish_hooks.after_hooks` sends these outside of transactions."""

    def __init__(self, questions: "Sequence[Question]", author: "Author", now: datetime) -> None:
        self.questions, self.author, self.now = questions, author, now
        zones = {pk: name for question in questions for pk, name in question.zones.items()}
        super().__init__(zones, gettext("A publish hook wasn’t asked about this change."))


class RequestUnknown(ZoneError, NotFound):
    """The request for approval doesn't exist, or this person isn't allowed to see it."""

    text = gettext_noop("Request not found.")


class RequestRefused(ZoneError):
    """A request for approval can't be made, answered, withdrawn or published in its state. Nothing was changed."""


class RuleRefused(ZoneError):
    """An approval rule, a freeze or a publish hook has an invalid field. `field` is its name."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        super().__init__(reason)


class RuleUnknown(ZoneError, NotFound):
    """The approval rule, freeze or publish hook doesn't exist, or this person isn't allowed to see it."""

    text = gettext_noop("Rule not found.")


class DraftUnknown(ZoneError, NotFound):
    """The draft doesn't exist, or this person isn't allowed to see it."""

    text = gettext_noop("Draft not found.")


class DraftRefused(ZoneError):
    """A draft can't be saved, renamed, resumed, merged, shared or transferred in this way. Nothing was changed."""
