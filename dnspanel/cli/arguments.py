"""Handle arguments in all commands: `-` for standard input, and shell completion."""

from collections.abc import Callable, Iterator, Sequence
from threading import Thread
from typing import Any

import click
from click.shell_completion import CompletionItem

from dnspanel.cli.client import Client
from dnspanel.cli.config import environment, profile_names, read_config
from dnspanel.cli.session import Session
from dnspanel.cli.standard_input import STANDARD_INPUT, read_lines

# Completion offers nothing if the panel takes longer than this, so that typing is never blocked by a slow network.
COMPLETION_SECONDS = 2.0
MOST_OFFERED = 200
# The types that the panel serves. Other type names are accepted too.
TYPES = (
    *("A", "AAAA", "AFSDB", "ALIAS", "APL", "CAA", "CDNSKEY", "CDS", "CERT", "CNAME", "CSYNC", "DHCID", "DNAME"),
    *("DNSKEY", "DS", "EUI48", "EUI64", "HINFO", "HTTPS", "IPSECKEY", "KEY", "KX", "L32", "L64", "LOC", "LP", "LUA"),
    *("MB", "MG", "MINFO", "MR", "MX", "NAPTR", "NID", "NS", "OPENPGPKEY", "PTR", "RKEY", "RP", "SMIMEA", "SOA", "SPF"),
    *("SRV", "SSHFP", "SVCB", "TLSA", "TXT", "URI", "ZONEMD"),
)


class Completed(click.ParamType[str]):
    """A text parameter with shell completion. The function `offered` returns the completions."""

    name = "text"

    def __init__(self, offered: Callable[[Session, str], Sequence[str]]) -> None:
        self._offered = offered

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        session = ctx.find_object(Session) or Session()
        return [CompletionItem(word) for word in self._offered(session, incomplete)]


def prepare_arguments(group: click.Group) -> None:
    """Let all commands of the group read lists from standard input, and add completion of zones, types and profiles."""
    for command in _commands(group):
        for parameter in command.params:
            if parameter.type is not click.STRING:
                continue
            if parameter.nargs == -1:
                parameter.callback = _with_standard_input
            if offered := _OFFERED.get(parameter.name or ""):
                parameter.type = offered


def _with_standard_input(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Return the values, with `-` replaced by the lines of standard input. Raise UsageError if there are no lines."""
    dash = str(STANDARD_INPUT)
    if dash not in values or context.resilient_parsing:
        return tuple(values)
    if not (lines := read_lines(STANDARD_INPUT)):
        raise click.UsageError("Standard input is empty.")
    at = values.index(dash)
    return (*values[:at], *lines, *values[at + 1 :])


def _zones(session: Session, incomplete: str) -> Sequence[str]:
    """Return zone names that begin with `incomplete`, or no names if the panel does not answer in time."""
    found: list[str] = []

    def ask() -> None:
        try:
            config = read_config(environ=environment(), url=session.url, profile=session.profile)
            page = Client(config, is_patient=False).get("/zones", q=_quote_search(incomplete), limit=MOST_OFFERED)
        except click.ClickException:
            return
        found.extend(name for zone in page["items"] if (name := zone["name"]).startswith(incomplete.lower()))

    # A thread, because connection timeouts do not limit the lookup of the panel's name.
    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(COMPLETION_SECONDS)
    return list(found)


def _quote_search(text: str) -> str | None:
    """Quote a search text, which disables filters in it. Return None (all zones) if it is empty or contains a quote."""
    return f'"{text}"' if text and '"' not in text else None


def _types(session: Session, incomplete: str) -> Sequence[str]:
    return [name for name in TYPES if name.startswith(incomplete.upper())]


def _profiles(session: Session, incomplete: str) -> Sequence[str]:
    return [name for name in profile_names(environment()) if name.startswith(incomplete)]


_OFFERED = {
    **dict.fromkeys(("zone", "zones", "source"), Completed(_zones)),
    **dict.fromkeys(("type", "type_", "types"), Completed(_types)),
    "profile": Completed(_profiles),
}


def _commands(group: click.Group) -> Iterator[click.Command]:
    """Yield the group and every command below it."""
    yield group
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from _commands(command)
        else:
            yield command
