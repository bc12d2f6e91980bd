"""Errors of approval rules, freezes, publish hooks and requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dnspanel.accounts.actors.grants import Right
from dnspanel.texts import gettext
from dnspanel.zones.errors.rights import RightMissing
from dnspanel.zones.errors.zone import ZoneError

if TYPE_CHECKING:
    from dnspanel.accounts.actors.actors import Author
    from dnspanel.zones.governance.hook_questions import Question


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to publish: author, channel, reason and time."""

    author: "Author"
    channel: str
    reason: str
    at: datetime


class KeptBack(RightMissing):
    """A rule blocks this publication. `attempt` is set once a person was refused."""

    attempt: Attempt | None = None

    def __init__(self, zone_name: str, reason: str) -> None:
        super().__init__(Right.CHANGE, zone_name)
        self.args = (reason,)


class ApprovalNeeded(KeptBack):
    """A rule asks for the approval of others, or for a ticket, before this is published."""


class Frozen(KeptBack):
    """Nothing is published in this zone just now."""


class HookRefused(RightMissing):
    """A publish hook did not let exactly this pass; `zones` are those that it is about, by id."""

    def __init__(self, zones: Mapping[int, str], reason: str) -> None:
        self.zones = zones
        super().__init__(Right.CHANGE, next(iter(zones.values()), ""))
        self.args = (reason,)


class HookUnasked(HookRefused):
    """Publish hooks must be asked these questions first, outside of transactions: `publish_hooks.after_hooks` does."""

    def __init__(self, questions: "Sequence[Question]", author: "Author", now: datetime) -> None:
        self.questions, self.author, self.now = questions, author, now
        zones = {pk: name for question in questions for pk, name in question.zones.items()}
        super().__init__(zones, gettext("A publish hook was not asked about this."))


class RequestUnknown(ZoneError):
    """No such request, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such request."))


class RequestRefused(ZoneError):
    """A request cannot be asked, answered, withdrawn or published as it is; nothing was changed."""


class RuleRefused(ZoneError):
    """A rule of approval or a freeze cannot be so; `field` is what is wrong about it."""

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        super().__init__(reason)


class RuleUnknown(ZoneError):
    """No such rule of approval, or freeze, as far as this person may know."""

    def __init__(self) -> None:
        super().__init__(gettext("There is no such rule."))
