"""Requests over SCIM that were refused are in the audit log, counted: a flood of them is no flood there. Verbs."""

from datetime import datetime

from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.audit import audit

WINDOW_SECONDS = 3600  # refusals that are alike are counted for so long
NOBODY = "no directory"
_LONGEST = 200


def is_listed(count: int) -> bool:
    """Return True if the audit log lists this occurrence: the 1st, 10th, 100th and so on."""
    return str(count).rstrip("0") == "1"


def record_refusal(  # noqa: PLR0913  # the fields of an entry of the audit log
    *, count: int, status: int, kind: str, method: str, path: str, detail: str, by: Actor | None, now: datetime
) -> None:
    """Record a refusal in the audit log, with its count within the hour, if `is_listed` says so.

    `by` is the directory of the token, or None if the token belongs to none. The origin is that of this request.
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
    """Return the printable beginning of a foreign text."""
    return "".join(character for character in text[:_LONGEST] if character.isprintable())
