"""Options, API client and output of results that all commands share."""

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import click

from dnspanel.cli import output
from dnspanel.cli.client import Client
from dnspanel.cli.config import environment, is_in_the_clear, read_config
from dnspanel.cli.errors import NotEverywhere
from dnspanel.cli.output import Column

C = TypeVar("C", bound=Callable[..., Any])


@dataclasses.dataclass
class Session:
    """One run of the command. The configuration is read only at the first request, so `--help` does not need it."""

    url: str | None = None
    profile: str | None = None
    output: str = "table"
    # Set if a wait timed out. The result is printed first, then this error, and the exit code is 3.
    late: NotEverywhere | None = None
    # How to continue after an interruption. The panel completes the work without this command.
    way_on: str = ""

    @functools.cached_property
    def client(self) -> Client:
        """The client of the configured panel. Warns if its URL is unencrypted. Raises the errors of `read_config`."""
        config = read_config(environ=environment(), url=self.url, profile=self.profile)
        if is_in_the_clear(config.url):
            output.warn("the token can be read on the way; use the panel's https address.", "token-in-the-clear")
        return Client(config)

    @property
    def is_json(self) -> bool:
        return self.output == "json"

    def find_one(self, path: str, name: str, what: str) -> Mapping[str, Any]:
        """Return the only item with this name or id in the list at `path`. Error messages call the item `what`.

        Raise UsageError if there is no such item, or if several items match.
        """
        found: list[Mapping[str, Any]] = [
            each for each in self.client.items(path) if name in (each["name"], str(each["id"]))
        ]
        if len(found) > 1:
            raise click.UsageError(f"{len(found)} {what}s have the name {name}. Give an id.")
        if not found:
            raise click.UsageError(f"There is no {what} {name}.")
        return found[0]

    def show_rows(self, rows: Iterable[Mapping[str, Any]], columns: Sequence[Column], *, none: str) -> None:
        """Show a list, as JSON or as a table."""
        if self.is_json:
            output.show_json(list(rows))
        else:
            output.show_table(rows, columns, none=none)

    def say_done(self, message: str, **members: Any) -> None:
        """Print a result, either the sentence `message` or the members as JSON."""
        if self.is_json:
            output.show_json(members)
        else:
            click.echo(output.plain(message))

    def ask(self, question: str) -> None:
        """Ask a question, and raise Abort unless the answer is yes.

        Raise UsageError if the output is JSON, or if standard input ends without an answer, as in a scheduled job.
        """
        if self.is_json:
            raise click.UsageError(f"Add --yes: with --output json no question is asked. ({question})")
        self.way_on = "Nothing was changed."
        try:
            click.confirm(question, abort=True, err=True)
        except click.Abort as exc:
            if isinstance(exc.__context__, EOFError) and not sys.stdin.isatty():
                click.echo(err=True)
                raise click.UsageError("Add --yes: standard input has no answer. Nothing was changed.") from exc
            raise
        self.way_on = ""

    def show(self, value: Mapping[str, Any], details: Mapping[str, Any] | None = None) -> None:
        """Show one object: `value` as JSON, or `details` for people."""
        if self.is_json:
            output.show_json(value)
        else:
            output.show_details(value if details is None else details)


def options(*each: Callable[[Any], Any]) -> Callable[[C], C]:
    """Add several options to a command, in the order in which `--help` shows them."""

    def with_options(command: C) -> C:
        for option in reversed(each):
            command = option(command)
        return command

    return with_options


def options_as(name: str, kind: type[Any], *each: Callable[[Any], Any]) -> Callable[[C], C]:
    """Add several options, and pass their values to the command as one argument `name`.

    `kind` is a dataclass with a field for each option.
    """
    fields = [field.name for field in dataclasses.fields(kind)]

    def with_options(command: C) -> C:
        @functools.wraps(command)
        def with_one_argument(*args: Any, **values: Any) -> Any:
            chosen = kind(**{field: values.pop(field) for field in fields})
            return command(*args, **values, **{name: chosen})

        return options(*each)(with_one_argument)  # type: ignore[return-value]

    return with_options


def _keep(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        setattr(context.ensure_object(Session), str(parameter.name), value)


def _colour(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Turn colors on or off for this command. With "auto", use colors only on a terminal."""
    if value is not None:
        for each in _with_parents(context):
            each.color = {"always": True, "never": False}.get(value)


def _with_parents(context: click.Context) -> Iterator[click.Context]:
    yield context
    if context.parent is not None:
        yield from _with_parents(context.parent)


def colour_of(environ: Mapping[str, str]) -> bool | None:
    """Return False if NO_COLOR is set, True if only FORCE_COLOR is set, or None to use colors only on a terminal."""
    if environ.get("NO_COLOR"):
        return False
    return True if environ.get("FORCE_COLOR") else None


# Options that are accepted both before and after the name of a command.
SHARED_OPTIONS = (
    click.Option(
        ["--output"],
        type=click.Choice(["table", "json"]),
        callback=_keep,
        expose_value=False,
        envvar="DNSPANEL_OUTPUT",
        help="Format of the result and of errors.  [default: table]",
    ),
    click.Option(
        ["--color"],
        type=click.Choice(["auto", "always", "never"]),
        callback=_colour,
        expose_value=False,
        help="Use of colors; auto means only on a terminal.  [default: auto]",
    ),
    click.Option(
        ["--profile"],
        callback=_keep,
        expose_value=False,
        envvar="DNSPANEL_PROFILE",
        help="Profile of the configuration file to use.",
    ),
    click.Option(
        ["--url"], callback=_keep, expose_value=False, help="Address of the panel, such as https://dns.example."
    ),
)


class Command(click.Command):
    """A command that takes the session as its first argument, and the shared options."""

    def __init__(self, name: str | None, *, callback: Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(name, callback=click.make_pass_decorator(Session)(callback), **kwargs)
        self.params += SHARED_OPTIONS


class Commands(click.Group):
    """A command group. Its commands are `Command` objects, and its subgroups are `Commands`."""

    command_class = Command
    group_class = type
