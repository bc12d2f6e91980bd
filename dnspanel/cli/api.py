"""The command `dnspanel api`, which sends one request to API v2, for tasks without a command of their own."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import click
import jmespath
import urllib3
from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult

from dnspanel.cli import output
from dnspanel.cli.fields import fields_of
from dnspanel.cli.session import Command, Session, options_as
from dnspanel.cli.standard_input import read_bytes

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
# With these methods, fields are query parameters, because the API reads no body.
_WITHOUT_BODY = frozenset({"GET", "HEAD", "DELETE"})
_ROOT = "/api/v2"
# Headers about the connection, which `--include` leaves out.
_HIDDEN = frozenset({"connection", "date", "server", "transfer-encoding"})


class _Query(click.ParamType[ParsedResult]):
    """A JMESPath expression, which is parsed before any request is sent."""

    name = "expression"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ParsedResult:
        if isinstance(value, ParsedResult):
            return value
        try:
            return jmespath.compile(value)
        except JMESPathError as exc:
            self.fail(f"{exc}. See https://jmespath.org", param, ctx)


@dataclass(frozen=True, slots=True)
class Content:
    """The fields, headers and body of a request, as typed on the command line."""

    texts: Sequence[str]
    typed: Sequence[str]
    headers: Sequence[str]
    file: Path | None


content_options = options_as(
    "content",
    Content,
    click.option(
        "-f", "--field", "texts", metavar="KEY=VALUE", multiple=True, help="Send a field whose value is a text."
    ),
    click.option(
        "-F",
        "--typed-field",
        "typed",
        metavar="KEY=VALUE",
        multiple=True,
        help="Send a field whose value is JSON, such as true or 300; @FILE is the text of a file, @- standard input.",
    ),
    click.option("-H", "--header", "headers", metavar="NAME:VALUE", multiple=True, help="Send this header."),
    click.option(
        "--input",
        "file",
        type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
        help="Send this file as the body; - is standard input. Fields are query parameters then.",
    ),
)


@click.command(cls=Command)
@click.argument("method", metavar="METHOD", type=click.Choice(_METHODS, case_sensitive=False))
@click.argument("path")
@content_options
@click.option("--paginate", is_flag=True, help="Read all pages of a list and print the items as one array.")
@click.option("--query", type=_Query(), help="Print the part of the answer that this JMESPath expression selects.")
@click.option("-i", "--include", is_flag=True, help="Print the status and the headers before the answer.")
def api(
    session: Session,
    method: str,
    path: str,
    content: Content,
    *,
    paginate: bool,
    query: ParsedResult | None,
    include: bool,
) -> None:
    """Send one request to API v2 and print the answer.

    METHOD is GET, HEAD, POST, PUT, PATCH or DELETE. PATH is a path below /api/v2, such as /zones, and can have query
    parameters. Fields are members of the JSON body. With GET, HEAD and DELETE, they are query parameters.
    key[member]=value sets a member of an object, and key[]=value adds an item to a list. --query takes a JMESPath
    expression (https://jmespath.org). A result that is a text, or a list of texts, is printed as lines.

    If the connection breaks, the request is sent again with the same Idempotency-Key, so a change is made exactly once.

    \b
    Examples:
      dnspanel api GET /users --paginate --query '[].username'
      dnspanel api PATCH /zones/example.net -F default_ttl=300 -F 'tags=["web", "shop"]'
      dnspanel api POST /roles --input role.json
      dnspanel api DELETE /freezes/3
    """
    parts = urlsplit(path)
    if parts.scheme or parts.netloc or parts.fragment:
        raise click.UsageError(f"{path} is not a path below {_ROOT}, such as /zones.")
    below = "/" + parts.path.removeprefix(_ROOT).lstrip("/")
    parameters: dict[str, Any] = dict(parse_qsl(parts.query, keep_blank_values=True))
    fields = fields_of(content.texts, content.typed)
    sent = dict(map(_header, content.headers))
    body: bytes | None = None
    if content.file is not None:
        body = read_bytes(content.file)
    elif fields and method not in _WITHOUT_BODY:
        body, fields = json.dumps(fields).encode(), {}
    if any(isinstance(value, (dict, list)) for value in fields.values()):
        raise click.UsageError("A query parameter is a text, a number, true or false.")
    parameters |= fields
    if body is not None:
        sent.setdefault("Content-Type", "application/json")
    if paginate:
        if method != "GET" or include:
            raise click.UsageError("--paginate reads lists: use it with GET, and without --include.")
        _print(_all_items(session, below, parameters), query)
        return
    answer = session.client.request(method, below, body, query=parameters, headers={"Accept": "*/*", **sent})
    if include:
        _print_headers(answer)
    _print_body(answer, query)


def _all_items(session: Session, path: str, parameters: Mapping[str, Any]) -> list[Any]:
    """Return the items on all pages of a list. Raise UsageError if the answer is not a list."""
    first = session.client.get(path, **parameters)
    if "items" not in first:
        raise click.UsageError("--paginate: the answer is not a list.")
    if not first.get("next_cursor"):  # small lists have no pages
        return list(first["items"])
    return [*first["items"], *session.client.items(path, **{**parameters, "cursor": first["next_cursor"]})]


def _header(text: str) -> tuple[str, str]:
    """Parse a header as typed on the command line. Raise UsageError unless it is `NAME:VALUE`."""
    name, sign, value = text.partition(":")
    if not sign or not name.strip() or not text.isprintable():
        raise click.UsageError(f"{output.plain(text)} is not a header: write NAME:VALUE.")
    return name.strip().title(), value.strip()


def _print_headers(answer: urllib3.BaseHTTPResponse) -> None:
    click.echo(f"HTTP {answer.status}")
    for name, value in answer.headers.items():
        if name.lower() not in _HIDDEN:
            click.echo(f"{name}: {output.plain(value)}")
    click.echo()


def _print_body(answer: urllib3.BaseHTTPResponse, query: ParsedResult | None) -> None:
    """Print JSON formatted, and any other body as bytes. With `query`, raise UsageError if the body isn't JSON."""
    if not answer.data:
        return
    try:
        value = json.loads(answer.data)
    except ValueError:
        if query is not None:
            raise click.UsageError("--query: the answer is not JSON.") from None
        sys.stdout.buffer.write(answer.data)
        return
    _print(value, query)


def _print(value: Any, query: ParsedResult | None) -> None:
    if query is None:
        output.show_json(value)
        return
    try:
        value = query.search(value)
    except JMESPathError as exc:
        raise click.UsageError(f"--query: {exc}.") from exc
    lines = value if isinstance(value, list) else [value]
    if all(isinstance(line, str) for line in lines):
        for line in lines:
            click.echo(line)
    else:
        output.show_json(value)
