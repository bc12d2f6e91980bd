"""Record rejected SCIM requests in the audit log: the 1st, 10th, 100th, … rejection within an hour. Verbs."""

from datetime import datetime

from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.audit import audit

WINDOW_SECONDS = 3600  # similar refusals are counted for this time
NOBODY = "no directory"
_LONGEST = 200


def is_listed(count: int) -> bool:
    """Return True for the counts that the audit log records: 1, 10, 100 and so on."""
    return str(count).rstrip("0") == "1"


def record_refusal(  # noqa: PLR0913  # the fields of an entry of the audit log
    *, count: int, status: int, kind: str, method: str, path: str, detail: str, by: Actor | None, now: datetime
) -> None:
    """Write a rejected request to the audit log, with its count within the hour, if `is_listed(count)`.

    `by` is the actor for the directory's token, or None if the token is unknown. The entry has the request's origin.
    """
    if is_listed(count):
        audit.record(
            action="scim.refused",
            by=by,
            now=now,
            target=by.user.username if by is not None else NOBODY,
            status=status,
            kind=kind,
            count=count,
            request=f"{method} {_line(path)}",
            told=_line(detail),
        )


def _line(text: str) -> str:
    """Return the printable characters among the first _LONGEST characters of `text`."""
    return "".join(character for character in text[:_LONGEST] if character.isprintable())
