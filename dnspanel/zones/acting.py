"""The author, channel, time and reason of an action on zones. Pure."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dnspanel.accounts.actors.actors import Author


@dataclass(frozen=True, slots=True)
class Acting:
    """The author, channel, time and reason of an action. `form_id` detects a form that is submitted twice."""

    author: Author
    channel: str
    now: datetime
    reason: str = ""
    form_id: UUID | None = None
