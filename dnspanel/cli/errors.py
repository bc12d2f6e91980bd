"""How a command can fail. The tree, with the exit codes that scripts decide by:

ClickException
├── UsageError    2  the command line or the configuration is wrong (click's own)
├── Refused       1  the panel understood and refused, in words and with the fields at fault
│   └── TakenBack 1  it published, and took it back because the name servers could not answer with it
└── Unreachable   3  the panel did not answer, or nodes did not in the time that was given
"""

import json
from collections.abc import Mapping, Sequence
from typing import IO, Any

import click


class Refused(click.ClickException):
    """The panel refused; `problem` is its answer (RFC 9457)."""

    exit_code = 1

    def __init__(self, problem: Mapping[str, Any]) -> None:
        self.problem = problem
        # By the time it is shown, click has left the command.
        context = click.get_current_context(silent=True)
        self._as_json = context is not None and getattr(context.obj, "output", "") == "json"
        super().__init__(str(problem.get("detail") or problem.get("title") or "The panel refused."))

    @property
    def code(self) -> str:
        """The stable word for what it is."""
        return str(self.problem.get("code", ""))

    def format_message(self) -> str:
        """The sentence, and below it each value at fault with what is wrong with it."""
        lines = [self.message, *(f"  {_place(fault)}{fault.get('detail', '')}" for fault in self._faults())]
        lines += [f"  {reason}" for reason in self.problem.get("reasons", ()) if reason not in self.message]
        lines += [line for conflict in self.problem.get("conflicts", ()) for line in _sides(conflict)]
        return "\n".join(lines)

    def show(self, file: IO[Any] | None = None) -> None:
        """In words; as the panel sent it where output is JSON."""
        if self._as_json:
            click.echo(json.dumps(self.problem, ensure_ascii=False, indent=2), file=file, err=file is None)
        else:
            super().show(file)

    def _faults(self) -> Sequence[Mapping[str, Any]]:
        """The faults that the sentence does not tell already."""
        faults: Sequence[Mapping[str, Any]] = self.problem.get("errors", ())
        return [fault for fault in faults if _place(fault) or fault.get("detail") != self.message]


class TakenBack(Refused):
    """The publication was taken back, because the name servers could not answer with it."""


class Unreachable(click.ClickException):
    """Nobody answered, or not in time."""

    exit_code = 3


def _place(fault: Mapping[str, Any]) -> str:
    """Where the value stands that is at fault, as a person names it."""
    pointer = str(fault.get("pointer", "")).strip("/").replace("/", " ")
    place = pointer or str(fault.get("parameter", "") or fault.get("header", ""))
    return f"{place}: " if place else ""


def _sides(conflict: Mapping[str, Any]) -> list[str]:
    """What is there by now and what was wanted, of an RRset that others changed."""
    theirs = _rdata(conflict.get("theirs"))
    return [
        f"  {conflict.get('name')} {conflict.get('type')}: it is {theirs} by now, not {_rdata(conflict.get('base'))}"
    ]


def _rdata(rrset: Mapping[str, Any] | None) -> str:
    return "absent" if rrset is None else " | ".join(rrset.get("rdata", ()))
