"""Who does something to zones. Pure."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dnspanel.accounts.actors.actors import Author


@dataclass(frozen=True, slots=True)
class Acting:
    """Who acts, through which channel, when and why. What a form sends twice is done once (`form_id`)."""

    author: Author
    channel: str
    now: datetime
    reason: str = ""
    form_id: UUID | None = None
