"""How a command can fail. The tree, with the exit codes that scripts decide by:

ClickException
├── UsageError          2  the command line or the configuration is wrong (click's own)
├── Refused             1  the panel understood and refused, in words and with the fields at fault
│   └── TakenBack       1  it published, and took it back because the name servers could not answer with it
└── Unreachable         3  the panel did not answer
    └── NotEverywhere   3  it did, and name servers lack a publication when the time for waiting is over
Abort                 130  Ctrl-C, or a question that was answered with no (click's own)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from dnspanel.cli import output

# 128 and the number of SIGINT, as shells have it.
INTERRUPTED = 130


class Refused(click.ClickException):
    """The panel refused; `problem` is its answer (RFC 9457)."""

    exit_code = 1

    def __init__(self, problem: Mapping[str, Any]) -> None:
        self.problem = problem
        message = str(problem.get("detail") or problem.get("title") or "The panel refused.")
        if "totals" in problem:
            message = _what_waits(problem)
        super().__init__(message)

    @property
    def code(self) -> str:
        """The stable word for what it is."""
        return str(self.problem.get("code", ""))

    def format_message(self) -> str:
        """Return the sentence, and below it each value at fault with what is wrong with it; nothing is said twice."""
        if "totals" in self.problem:
            return self.message
        lines = self._lines_about(self.problem.get("errors", ()))
        lines += [f"  {reason}" for reason in self.problem.get("reasons", ()) if reason not in self.message]
        lines += [line for conflict in self.problem.get("conflicts", ()) for line in _sides(conflict)]
        return "\n".join(lines)

    def _lines_about(self, faults: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the sentence, with the place of a single fault behind it, or with a line for each fault."""
        repeats = bool(faults) and str(faults[0].get("detail", "")) in self.message
        if repeats and len(faults) == 1:
            place = _place(faults[0]).rstrip(": ")
            return [f"{self.message} ({place})" if place else self.message]
        first = f"{len(faults)} values are wrong:" if repeats else self.message
        return [first, *(f"  {_place(fault)}{fault.get('detail', '')}" for fault in faults)]


class TakenBack(Refused):
    """The publication was taken back, because the name servers could not answer with it."""


class Unreachable(click.ClickException):
    """The panel did not answer, or something else answered."""

    exit_code = 3


class NotEverywhere(Unreachable):
    """Name servers lack a publication when the time for waiting is over."""

    def __init__(self, message: str, sequence: int) -> None:
        self.sequence = sequence
        super().__init__(message)


def show_error(exc: click.ClickException, *, as_json: bool) -> None:
    """Print an error to standard error, once: in words, or as a problem in one line of JSON."""
    if as_json:
        output.tell_problem(_problem_of(exc))
    else:
        exc.show()


def _problem_of(exc: click.ClickException) -> Mapping[str, Any]:
    """Return an error with the members of a problem; that of a refusal is what the panel answered."""
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
    """Return whether the command that runs has the option `--confirm`."""
    context = click.get_current_context(silent=True)
    return context is not None and any("--confirm" in option.opts for option in context.command.params)


def _what_waits(problem: Mapping[str, Any]) -> str:
    """Return what a person has to confirm: all reasons, the zones with what they lose, and how it is done here."""
    totals, zones = problem["totals"], problem["zones"]
    lines = list(problem["reasons"])
    if totals["zones"] > 1:
        # A reason about all of them, as of a deletion, does not name them.
        told = " ".join(lines)
        lines += [f"  {one['zone']}: {one['rrsets']:,} RRsets" for one in zones if one["zone"] not in told]
        lines += [f"And {problem['left_out']:,} more zones."] if problem["left_out"] else []
        lines.append("{removed:,} of {rrsets:,} RRsets of {zones:,} zones would be deleted.".format(**totals))
    return "\n".join([*lines, *(["Add --confirm to go ahead."] if _can_confirm() else [])])


def _place(fault: Mapping[str, Any]) -> str:
    """Return the place of the value that is at fault, as a person names it."""
    pointer = str(fault.get("pointer", "")).strip("/").replace("/", " ")
    place = pointer or str(fault.get("parameter", "") or fault.get("header", ""))
    return f"{place}: " if place else ""


def _sides(conflict: Mapping[str, Any]) -> list[str]:
    """Return the present and the wanted state of an RRset that others changed."""
    theirs = _rdata(conflict.get("theirs"))
    return [
        f"  {conflict.get('name')} {conflict.get('type')}: it is {theirs} by now, not {_rdata(conflict.get('base'))}"
    ]


def _rdata(rrset: Mapping[str, Any] | None) -> str:
    return "absent" if rrset is None else " | ".join(rrset.get("rdata", ()))
