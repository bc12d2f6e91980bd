"""The errors of commands, as one tree, with the exit codes for scripts:

ClickException
├── UsageError          2  the command line or the configuration is invalid (click's own)
├── Refused             1  the panel refused the request; the message names the invalid fields
│   └── TakenBack       1  the publication was taken back because the name servers could not answer with it
└── Unreachable         3  the panel did not answer
    └── NotEverywhere   3  the panel answered, but name servers lack a publication at the end of the wait
Abort                 130  Ctrl-C, or the answer "no" to a question (click's own)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output

# Punctuation around a word in a sentence.
_MARKS = '.,:;()`"“”'
# 128 plus the number of SIGINT, as in shells.
INTERRUPTED = 130


class Refused(click.ClickException):
    """The panel refused the request. `problem` is the panel's answer (RFC 9457), and `body` the request body."""

    exit_code = 1

    def __init__(self, problem: Mapping[str, Any], body: Any = None) -> None:
        self.problem, self.body = problem, body
        message = str(problem.get("detail") or problem.get("title") or "The panel refused.")
        if "totals" in problem:
            message = _what_waits(problem)
        super().__init__(message)

    @property
    def code(self) -> str:
        """The problem's code, or "" if the problem has none. Codes stay the same between releases."""
        return str(self.problem.get("code", ""))

    def format_message(self) -> str:
        """Return the message, plus lines for invalid values, conflicts, and reasons that the message doesn't mention.

        If the change needs a confirmation (`totals`), return only the message.
        """
        if "totals" in self.problem:
            return self.message
        lines = self._lines_about(self.problem.get("errors", ()))
        lines += [f"  {reason}" for reason in self.problem.get("reasons", ()) if reason not in self.message]
        lines += [line for conflict in self.problem.get("conflicts", ()) for line in _sides(conflict)]
        return "\n".join(lines)

    def _lines_about(self, faults: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the message and a line for each fault, without repeating a fault.

        If the message contains the only fault, add just the fault's position to the message. If it contains the first
        of several faults, replace the message with their number.
        """
        repeats = bool(faults) and str(faults[0].get("detail", "")) in self.message
        if repeats and len(faults) == 1:
            place = self._place(faults[0]).rstrip(": ")
            return [f"{self.message} ({place})" if place else self.message]
        first = f"{len(faults)} values are wrong:" if repeats else self.message
        return [first, *(f"  {self._place(fault)}{fault.get('detail', '')}" for fault in faults)]

    def _place(self, fault: Mapping[str, Any]) -> str:
        """Return a label for an invalid value's position, such as "www A: ". Omit parts that the error mentions."""
        detail = str(fault.get("detail", ""))
        parts = [part for part in _place_parts(str(fault.get("pointer", "")), self.body) if not _names(detail, part)]
        place = " ".join(parts) or str(fault.get("parameter", "") or fault.get("header", ""))
        return f"{place}: " if place else ""


class TakenBack(Refused):
    """The publication was taken back, because the name servers could not serve it."""


class Unreachable(click.ClickException):
    """The panel did not answer, or another server answered instead."""

    exit_code = 3


class NotEverywhere(Unreachable):
    """Some name servers still lack a publication at the end of the wait."""

    def __init__(self, message: str, sequence: int) -> None:
        self.sequence = sequence
        super().__init__(message)


def show_error(exc: click.ClickException, *, as_json: bool) -> None:
    """Print an error to standard error, as text or as one line of JSON."""
    if as_json:
        output.tell_problem(_problem_of(exc))
    else:
        exc.show()


def _problem_of(exc: click.ClickException) -> Mapping[str, Any]:
    """Return the error as a problem (RFC 9457). For Refused, this is the panel's own problem."""
    if isinstance(exc, Refused):
        return {"title": "Refused", "code": "refused", **exc.problem}
    if isinstance(exc, NotEverywhere):
        return {
            "title": "Not everywhere in time",
            "code": "not-reached",
            "detail": exc.message,
            "sequence": exc.sequence,
        }
    if isinstance(exc, Unreachable):
        return {"title": "No answer from the panel", "code": "unreachable", "detail": exc.message}
    code = "usage" if isinstance(exc, click.UsageError) else "failed"
    return {"title": "Wrong usage" if code == "usage" else "Failed", "code": code, "detail": exc.format_message()}


def _can_confirm() -> bool:
    """Return True if the current command has the option `--confirm`."""
    context = click.get_current_context(silent=True)
    return context is not None and any("--confirm" in option.opts for option in context.command.params)


def _what_waits(problem: Mapping[str, Any]) -> str:
    """Describe a change that needs a confirmation: the reasons, the affected zones, and how to confirm."""
    totals, zones = problem["totals"], problem["zones"]
    lines = list(problem["reasons"])
    if totals["zones"] > 1:
        # A reason for all zones, like a deletion, does not name the zones.
        told = " ".join(lines)
        lines += [f"  {one['zone']}: {one['rrsets']:,} RRsets" for one in zones if one["zone"] not in told]
        lines += [f"And {problem['left_out']:,} more zones."] if problem["left_out"] else []
        lines.append("{removed:,} of {rrsets:,} RRsets of {zones:,} zones would be deleted.".format(**totals))
    return "\n".join([*lines, *(["Add --confirm to go ahead."] if _can_confirm() else [])])


def _place_parts(pointer: str, body: Any) -> list[str]:
    """Convert a JSON pointer into the request body to the parts that a user knows.

    The name and index of a list are replaced by the item: the value that the user typed, or the zone, name and type of
    an object. If an item has no such name, its number (from 1) follows the list's name.
    """
    parts: list[str] = []
    for escaped in pointer.split("/")[1:]:
        word = escaped.replace("~1", "/").replace("~0", "~")
        if isinstance(body, list) and word.isdecimal() and int(word) < len(body):
            body = body[int(word)]
            of_item = _parts_of_item(body)
            parts[-1:] = of_item or [*parts[-1:], str(int(word) + 1)]
        else:
            body = body.get(word) if isinstance(body, Mapping) else None
            parts.append(word)
    return parts


def _names(detail: str, word: str) -> bool:
    """Return True if `detail` contains `word` as a whole word."""
    word = word.strip(_MARKS)
    return word in {each.strip(_MARKS) for each in detail.split()} or (" " in word and word in detail)


def _parts_of_item(item: Any) -> list[str]:
    if isinstance(item, Mapping):
        return [str(item[name]) for name in ("zone", "name", "type") if isinstance(item.get(name), str)]
    return [str(item)] if isinstance(item, str | int) else []


def _sides(conflict: Mapping[str, Any]) -> list[str]:
    """Describe an RRset that others changed, with a line for its current and its expected state."""
    theirs, base = conflict.get("theirs"), conflict.get("base")
    now, then, what = _rdata(theirs), _rdata(base), "it"
    if now == then and theirs and base and theirs.get("ttl") != base.get("ttl"):
        now, then, what = theirs.get("ttl"), base.get("ttl"), "its TTL"
    return [f"  {conflict.get('name')} {conflict.get('type')}: {what} is {now} by now, not {then}"]


def _rdata(rrset: Mapping[str, Any] | None) -> str:
    return "absent" if rrset is None else " | ".join(rrset.get("rdata", ()))
