"""Recognize lines in zone files that are not records, such as providers' aliases and redirects. Pure.

Some providers add data to zones that is only meaningful on their own servers. Their exporters write such data in the
form of records: cli53 writes aliases of Route 53, Azure's command line writes aliases of resources, and Windows writes
WINS look-ups. `dig` and similar tools print the TSIG that signed a transfer.
"""

from collections.abc import Collection, Mapping

from dnspanel.texts import gettext, gettext_noop
from dnspanel.transfer.zonefile.zonefile_tokens import Token, Unreadable
from dnspanel.zones.rules.violations import Severity
from replication.dns import names, rdtypes
from replication.errors import BadName

CODE = "line-left-out"

_ALIASES: Mapping[str, str] = {
    "AWS": gettext_noop("a Route 53 alias"),
    "AZURE": gettext_noop("an Azure DNS alias"),
}
# Redirects of web addresses, and other lines that providers list among records.
_OF_PROVIDERS: Mapping[str, str] = dict.fromkeys(
    ("FRAME", "FWD", "HTTPRED", "REDIRECT", "STEALTH", "URL", "URL301", "URL302", "WEBREDIR", "WR"),
    gettext_noop("a web redirect, which only a web server can answer"),
) | {
    "WINS": gettext_noop("a Windows WINS lookup"),
    "WINS-R": gettext_noop("a Windows WINS lookup"),
    "WINSR": gettext_noop("a Windows WINS lookup"),
    "WORKER": gettext_noop("a Cloudflare Worker"),
}
# Types in the output of transfer tools that belong to the DNS message, not to the zone.
_OF_MESSAGES = frozenset(("OPT", "SIG", "TKEY", "TSIG"))
_CLASSES_OF_MESSAGES = frozenset(("ANY", "CLASS255", "NONE", "CLASS254"))


def fault_of_line(tokens: list[Token], at: int, line: str | None, unanswered: Collection[int]) -> Unreadable | None:
    """Return the fault for a line that is not a record, or None for other lines.

    `tokens[at]` is the first token after the owner, the TTL and the class IN. `unanswered` are types that not every
    node supports.
    """
    token = tokens[at]
    word = token.text.upper()
    following = tokens[at + 1].text.upper() if at + 1 < len(tokens) else ""
    if token.quoted:
        return None
    if word in _CLASSES_OF_MESSAGES and following in _OF_MESSAGES:
        reason = gettext("left out: {type} belongs to the transfer message, not to the zone").format(type=following)
        return Unreadable(reason, CODE, token.column, token.line, severity=Severity.NOTE)
    if word in _ALIASES and following == "ALIAS":
        fix = "" if line is None or rdtypes.ALIAS in unanswered else _as_alias(tokens, at, line)
        return _left_out(token, gettext(_ALIASES[word]), fix)
    if word in _OF_PROVIDERS:
        return _left_out(token, gettext(_OF_PROVIDERS[word]), "")
    return None


def _left_out(token: Token, what: str, fix: str) -> Unreadable:
    reason = gettext(
        "left out: this is {what}. Name servers can’t answer this record. Add ALIAS, A or AAAA records "
        "for the name instead."
    ).format(what=what)
    return Unreadable(reason, CODE, token.column, token.line, fix=fix, severity=Severity.WARNING)


def _as_alias(tokens: list[Token], at: int, line: str) -> str:
    """Rewrite the line as an ALIAS with the same target. Return "" if the target is not a name.

    After the token ALIAS, cli53 writes the type and the target, and Azure writes the type and a resource's path.
    """
    if at + 3 >= len(tokens):
        return ""
    target = tokens[at + 3].text
    try:
        names.parse(target, names.ROOT)
    except BadName:
        return ""
    return "" if "/" in target else f"{line[: tokens[at].column - 1]}IN ALIAS {target}"
