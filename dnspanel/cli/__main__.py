"""Entry point of `dnspanel` and `python -m dnspanel.cli`."""

import sys
from collections.abc import Mapping, Sequence

import click

from dnspanel.cli import output
from dnspanel.cli.commands import dnspanel
from dnspanel.cli.config import environment
from dnspanel.cli.errors import INTERRUPTED, show_error
from dnspanel.cli.session import Session


def main() -> None:
    """Run the command in `sys.argv`, and exit with its exit code."""
    sys.exit(run(sys.argv[1:], environment()))


def run(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run the command given by the arguments, and print its errors. Return the exit code (see `errors`)."""
    session = Session()
    as_json = asks_for_json(arguments, environ)
    try:
        code = dnspanel.main(list(arguments), prog_name="dnspanel", standalone_mode=False, obj=session) or 0
    except click.ClickException as exc:
        show_error(exc, as_json=as_json)
        code = exc.exit_code
    except click.Abort:
        _show_interruption(session, as_json=as_json)
        code = INTERRUPTED
    if session.late is not None:
        show_error(session.late, as_json=as_json)
        code = code or session.late.exit_code
    return int(code)


def asks_for_json(arguments: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Return True if the command line or environment selects JSON output, even if another argument is invalid."""
    chosen = environ.get("DNSPANEL_OUTPUT", "")
    for index, word in enumerate(arguments):
        if word == "--":
            break
        if word == "--output" and index + 1 < len(arguments):
            chosen = arguments[index + 1]
        elif word.startswith("--output="):
            chosen = word.removeprefix("--output=")
    return chosen == "json"


def _show_interruption(session: Session, *, as_json: bool) -> None:
    message = " ".join(filter(None, ["Stopped.", session.way_on]))
    if as_json:
        output.tell_problem({"title": "Stopped", "code": "interrupted", "detail": message})
    else:
        click.echo(message, err=True)


if __name__ == "__main__":
    main()
