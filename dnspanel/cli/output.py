"""Print command output as tables for people or JSON for programs. Progress and advice go to standard error.

With `--output json`, standard output is empty or JSON, and each line of standard error is a JSON object with the
members of a problem (RFC 9457). Advice for people is left out.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import click

# States by color. The API writes hyphens for the spaces. All other states have no color.
_COLOURS = {
    "red": frozenset({"failed", "failing", "expired", "offline", "refused", "rejected", "broken", "revoked", "bogus"}),
    "yellow": frozenset({"catching up", "held back", "behind", "drained", "waiting", "waiting for approval", "late"}),
    "green": frozenset({"in step", "in sync", "active", "done", "published", "healthy", "fine"}),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `of` is the name of a member, or a function that returns the cell's text for a row.

    On a terminal, a column of states is colored.
    """

    heading: str
    of: str | Callable[[Mapping[str, Any]], Any]
    right: bool = False
    state: bool = False

    def text(self, row: Mapping[str, Any]) -> str:
        return plain(row.get(self.of) if isinstance(self.of, str) else self.of(row))


def by(member: str = "actor") -> Column:
    """Return a column with the name of the person or token that acted. `member` is the actor's key in each row."""
    return Column("BY", lambda row: actor(row[member]))


def actor(who: Mapping[str, Any] | None) -> str | None:
    """Return the name of the person, token, panel or visitor that acted, or None if the actor is unknown or hidden."""
    if who is None:
        return None
    if who["token"] is not None:
        return f"{who['user']} ({who['token']['purpose']})"
    return str(who["user"] or {"system": "the panel", "anonymous": "a visitor"}[who["kind"]])


def plain(value: Any) -> str:
    """Return a value as the text of a table cell."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, list):
        return " ".join(map(plain, value))
    # Text that other people typed must not control the terminal.
    return "".join(character if character.isprintable() else "�" for character in str(value))


def moment(text: str | None) -> str:
    """Return a time from the API as local time with its UTC offset, or "–" if there is no time."""
    return "–" if not text else datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if necessary: "1 zone", "1,200 RRsets"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def is_json() -> bool:
    """Return True if the current command prints JSON."""
    context = click.get_current_context(silent=True)
    return context is not None and getattr(context.obj, "output", "") == "json"


def show_json(value: Any) -> None:
    """Print a value as indented JSON."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def show_json_line(value: Any) -> None:
    """Print a value as one line of JSON, for programs that read line by line."""
    click.echo(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def show_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[Column], *, none: str) -> None:
    """Print rows under their headings. If there are no rows, print the sentence `none` to standard error."""
    lines = [[column.text(row) for column in columns] for row in rows]
    if not lines:
        tell(none)
        return
    widths = [max(len(line[i]) for line in [[c.heading for c in columns], *lines]) for i in range(len(columns))]
    click.echo(_line([column.heading for column in columns], widths, columns))
    for line in lines:
        click.echo(_line(line, widths, columns, with_colours=True))


def show_details(details: Mapping[str, Any]) -> None:
    """Print names and values, one pair on each line."""
    width = max(map(len, details))
    for name, value in details.items():
        click.echo(f"{name:<{width}}  {plain(value)}")


def tell(message: str) -> None:
    """Print advice for people to standard error. Print nothing if the output is JSON."""
    if not is_json():
        click.echo(message, err=True)


def warn(message: str, code: str) -> None:
    """Print a warning to standard error, as text or as a JSON object."""
    if is_json():
        tell_problem({"title": "Warning", "code": code, "detail": message})
    else:
        click.echo(f"Warning: {message}", err=True)


def tell_problem(problem: Mapping[str, Any]) -> None:
    """Print a problem as one line of JSON to standard error."""
    members = {"type": "about:blank", **problem}
    click.echo(json.dumps(members, ensure_ascii=False, separators=(",", ":")), err=True)


def tell_person(message: str) -> None:
    """Print advice like `tell`, but only on a terminal.

    A scheduled job would otherwise repeat the advice in every mail.
    """
    if sys.stderr.isatty():
        tell(message)


def _line(cells: Sequence[str], widths: Sequence[int], columns: Sequence[Column], *, with_colours: bool = False) -> str:
    padded = [
        f"{cell:>{width}}" if column.right else f"{cell:<{width}}"
        for cell, width, column in zip(cells, widths, columns, strict=True)
    ]
    padded[-1] = padded[-1].rstrip()
    if with_colours:
        padded = [
            _add_colour(text, cell) if column.state else text
            for text, cell, column in zip(padded, cells, columns, strict=True)
        ]
    return "  ".join(padded).rstrip()


def _add_colour(text: str, state: str) -> str:
    colour = next((colour for colour, states in _COLOURS.items() if state.replace("-", " ") in states), None)
    return text if colour is None else click.style(text, fg=colour)
