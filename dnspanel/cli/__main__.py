"""`dnspanel`, and `python -m dnspanel.cli`."""

import os
import sys
from collections.abc import Mapping, Sequence

import click

from dnspanel.cli import output
from dnspanel.cli.commands import dnspanel
from dnspanel.cli.errors import INTERRUPTED, show_error
from dnspanel.cli.session import Session


def main() -> None:
    """Run the command that the arguments name; the exit codes are in `errors`."""
    session = Session()
    try:
        code = dnspanel.main(prog_name="dnspanel", standalone_mode=False, obj=session) or 0
    except click.ClickException as exc:
        show_error(exc, as_json=is_json(sys.argv[1:], os.environ))
        code = exc.exit_code
    except click.Abort:
        _show_interruption(session, as_json=is_json(sys.argv[1:], os.environ))
        code = INTERRUPTED
    if session.late is not None:
        show_error(session.late, as_json=session.is_json)
        code = code or session.late.exit_code
    sys.exit(code)


def is_json(arguments: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Return whether the command line asks for JSON, even if something else in it is wrong."""
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
