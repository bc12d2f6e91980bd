"""What every command has: the options that all share, the client, and how its result is printed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import click

from dnspanel.cli import output
from dnspanel.cli.client import Client
from dnspanel.cli.config import environment, is_in_the_clear, read_config
from dnspanel.cli.output import Column

C = TypeVar("C", bound=Callable[..., Any])


@dataclass
class Session:
    """One run of the command. Where the panel is, is only looked for when it is asked: `--help` needs none."""

    url: str | None = None
    profile: str | None = None
    output: str = "table"

    @cached_property
    def client(self) -> Client:
        """The panel. Raises UsageError where nothing says which."""
        config = read_config(environ=environment(), url=self.url, profile=self.profile)
        if is_in_the_clear(config.url):
            output.tell("Warning: the token can be read on the way; use the panel's https address.")
        return Client(config)

    @property
    def is_json(self) -> bool:
        return self.output == "json"

    def show_rows(self, rows: Iterable[Mapping[str, Any]], columns: Sequence[Column], *, none: str) -> None:
        """A list."""
        if self.is_json:
            output.show_json(list(rows))
        else:
            output.show_table(rows, columns, none=none)

    def show(self, value: Mapping[str, Any], details: Mapping[str, Any] | None = None) -> None:
        """One thing; `facts` are what of it a person wants to know."""
        if self.is_json:
            output.show_json(value)
        else:
            output.show_details(value if details is None else details)


def pass_session(command: C) -> C:
    """The command gets the session as its first argument."""
    return click.make_pass_decorator(Session)(command)  # type: ignore[return-value]


def shared_options(command: C) -> C:
    """Options that stand before the command's name or after it, as one likes."""
    for option in reversed(_SHARED):
        command = option(command)
    return command


def _keep(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        setattr(context.ensure_object(Session), str(parameter.name), value)


_SHARED = (
    click.option(
        "--output",
        type=click.Choice(["table", "json"]),
        callback=_keep,
        expose_value=False,
        envvar="DNSPANEL_OUTPUT",
        help="How to print the result.  [default: table]",
    ),
    click.option(
        "--profile",
        callback=_keep,
        expose_value=False,
        envvar="DNSPANEL_PROFILE",
        help="Which profile of the configuration file.",
    ),
    click.option("--url", callback=_keep, expose_value=False, help="Where the panel is."),
)
