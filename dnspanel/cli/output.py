"""What commands print: tables for people, JSON for programs. Progress and advice go to standard error."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading, and how a row's text is made; a name stands for the member of that name."""

    heading: str
    of: str | Callable[[Mapping[str, Any]], Any]
    right: bool = False

    def text(self, row: Mapping[str, Any]) -> str:
        return plain(row.get(self.of) if isinstance(self.of, str) else self.of(row))


def by(member: str = "actor") -> Column:
    """The column of who acted, from the actor of that name."""
    return Column("BY", lambda row: actor(row[member]))


def actor(who: Mapping[str, Any] | None) -> str | None:
    """Who acted, in words; None for who is not known, or not told."""
    if who is None:
        return None
    if who["token"] is not None:
        return f"{who['user']} ({who['token']['purpose']})"
    return str(who["user"] or {"system": "the panel", "anonymous": "a visitor"}[who["kind"]])


def plain(value: Any) -> str:
    """A value as a cell shows it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, list):
        return " ".join(map(plain, value))
    # What others typed must not steer the terminal.
    return "".join(character if character.isprintable() else "�" for character in str(value))


def moment(text: str | None) -> str:
    """A time of the API in local time."""
    return "–" if not text else datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def show_json(value: Any) -> None:
    """A value, complete and parsable."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def show_json_line(value: Any) -> None:
    """A value in one line, for programs that read line by line."""
    click.echo(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def show_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[Column], *, none: str) -> None:
    """Rows under their headings; without rows, a sentence on standard error."""
    lines = [[column.text(row) for column in columns] for row in rows]
    if not lines:
        click.echo(none, err=True)
        return
    widths = [max(len(line[i]) for line in [[c.heading for c in columns], *lines]) for i in range(len(columns))]
    click.echo(_line([column.heading for column in columns], widths, columns))
    for line in lines:
        click.echo(_line(line, widths, columns))


def show_details(details: Mapping[str, Any]) -> None:
    """Names and values, one below the other."""
    width = max(map(len, details))
    for name, value in details.items():
        click.echo(f"{name:<{width}}  {plain(value)}")


def tell(message: str) -> None:
    """Something for the person who waits; never mixed into what is printed for programs."""
    click.echo(message, err=True)


def _line(cells: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    padded = [
        f"{cell:>{width}}" if column.right else f"{cell:<{width}}"
        for cell, width, column in zip(cells, widths, columns, strict=True)
    ]
    return "  ".join(padded).rstrip()
