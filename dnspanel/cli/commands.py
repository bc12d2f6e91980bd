"""The command `dnspanel` and all its subcommands."""

import click

from dnspanel import __version__
from dnspanel.cli.access.access import access
from dnspanel.cli.access.audit import audit
from dnspanel.cli.access.tokens import tokens, whoami
from dnspanel.cli.api import api
from dnspanel.cli.arguments import prepare_arguments
from dnspanel.cli.config import environment
from dnspanel.cli.dnssec.dnssec import dnssec
from dnspanel.cli.fleet.nodes import nodes
from dnspanel.cli.session import SHARED_OPTIONS, Session, colour_of
from dnspanel.cli.waiting import wait
from dnspanel.cli.zones.drafts import drafts
from dnspanel.cli.zones.exports import export
from dnspanel.cli.zones.imports import import_files, imports
from dnspanel.cli.zones.publications import publications
from dnspanel.cli.zones.records import records
from dnspanel.cli.zones.requests import requests
from dnspanel.cli.zones.search import search
from dnspanel.cli.zones.templates import templates
from dnspanel.cli.zones.zone_files import apply, plan
from dnspanel.cli.zones.zone_history import undo_publication
from dnspanel.cli.zones.zones import zones


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version=__version__, message="%(prog)s %(version)s")
@click.pass_context
def dnspanel(context: click.Context) -> None:
    """Manage DNS zones in a panel from the command line.

    The panel is at DNSPANEL_URL, and the token is in DNSPANEL_TOKEN (or in the file DNSPANEL_TOKEN_FILE). Both can
    also be in a configuration file with profiles: ~/.config/dnspanel/config.toml

    \b
      url = "https://dns.example.net"
      token = "dnsp_…"
      [profiles.lab]
      url = "https://lab.example.net"
      token_file = "~/lab.token"

    \b
    Examples:
      dnspanel records set example.net www A 192.0.2.1 --ttl 300 --wait
      dnspanel import /etc/bind/zones --apply --wait
      dnspanel zones list --output json

    Write - instead of a file, zones or values to read standard input. For tasks without a command of their own, see
    dnspanel api --help

    \b
    Exit codes: 0 done, 1 refused, 2 wrong usage, 3 panel or nodes not reached in time, 130 interrupted.
    Completion: eval "$(_DNSPANEL_COMPLETE=bash_source dnspanel)"  (or zsh_source, fish_source)
    """
    context.ensure_object(Session)
    if context.color is None:
        context.color = colour_of(environment())


for command in (
    zones,
    records,
    requests,
    access,
    templates,
    dnssec,
    import_files,
    imports,
    plan,
    apply,
    export,
    undo_publication,
    wait,
    publications,
    drafts,
    search,
    nodes,
    tokens,
    audit,
    whoami,
    api,
):
    dnspanel.add_command(command)
dnspanel.params[0:0] = SHARED_OPTIONS
prepare_arguments(dnspanel)
