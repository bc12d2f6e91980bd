"""Convert PowerDNS content to zone-file text, for all sources that read from PowerDNS.

PowerDNS stores and shows names without escaping the special characters of zone files. Its SQL databases omit the
trailing dot of every name and the priority of MX and SRV, and an SOA can lack its last fields. `owner` and `rdata`
write such data in zone-file form on one line. The `kept_` functions return data to keep that the panel's zones have no
place for. The other functions return the faults that these sources share.
"""

import re
from collections.abc import Callable

from dnspanel.texts import gettext, gettext_noop
from dnspanel.transfer.documents import Kept, SourceFault
from dnspanel.transfer.models import KeptKind
from dnspanel.zones.rules.violations import Severity

DEFAULT_TTL = 3600  # PowerDNS's `default-ttl`, for records without one

# Kinds of zones that PowerDNS copies from another server, with the names from all its releases.
_SECONDARY = gettext_noop(
    "The zone is a secondary zone in PowerDNS, copied from another server. The current copy is imported."
)
_SECONDARY_KINDS = {
    "SLAVE": _SECONDARY,
    "SECONDARY": _SECONDARY,
    "CONSUMER": gettext_noop(
        "The zone is a consumer catalog zone in PowerDNS, copied from another server. The current copy is imported."
    ),
}


def owner(name: str) -> str:
    """Return an owner name, or a name in rdata, as an absolute name that is escaped for zone files."""
    if _PLAIN_NAME(name):
        return name if name.endswith(".") else name + "."
    if name in ("", "."):
        return "."
    text = _NAME_PARTS.sub(_escaped_part, name)
    dots = text.endswith(".") and (len(text) - len(text[:-1].rstrip("\\"))) % 2 == 1
    return text if dots else text + "."


_PLAIN_NAME = re.compile(r"[A-Za-z0-9_*/-]+(?:\.[A-Za-z0-9_*/-]+)*\.?", re.ASCII).fullmatch
_NAME_PARTS = re.compile(r'\\\d{3}|\\.|["();@$]|[\x00-\x20\x7f]', re.DOTALL)


def _escaped_part(match: re.Match[str]) -> str:
    part = match[0]
    if part[0] == "\\":
        return part
    return f"\\{part}" if part > " " and part != "\x7f" else f"\\{ord(part):03}"


def rdata(type: str, content: str, zone: str, prio: int | str | None = None) -> str:
    """Return a record's content as zone-file text. `prio` is the value of the `prio` column, if there is one."""
    writer = _WRITERS.get(type)
    return writer(content, zone, prio) if writer is not None else _on_one_line(content)


_Writer = Callable[[str, str, int | str | None], str]
_SPECIAL = re.compile(r"[;()\x00-\x1f]")
_QUOTED_OR_SPECIAL = re.compile(r'"(?:[^"\\]|\\.)*"|\\.|[;()\x00-\x1f]', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\udc80-\udcff]")


def _on_one_line(content: str) -> str:
    """Escape unquoted `;`, `(` and `)`. Replace control characters with spaces, or escape them in quoted strings."""
    return _QUOTED_OR_SPECIAL.sub(_literal, content) if _SPECIAL.search(content) else content


def _literal(match: re.Match[str]) -> str:
    part = match[0]
    if part[0] in '"\\':
        return _as_bytes(part)
    return f"\\{part}" if part in ";()" else " "


def _as_bytes(text: str) -> str:
    r"""Escape control characters and bytes that are not UTF-8 as `\DDD`, for use in quoted strings."""
    return _CONTROL.sub(lambda match: f"\\{ord(match[0]) & 0xFF:03}", text)


def _text(content: str, zone: str, prio: object) -> str:
    """Return a TXT record's content as zone-file text. If it doesn't start with a quote, it becomes one string."""
    if not content.lstrip().startswith('"'):
        content = '"' + content.replace('"', '\\"') + '"'
    return _as_bytes(content)


def _names_at(*places: int) -> _Writer:
    """Return a writer for types that have names at these positions (from 0) in their content."""

    def write(content: str, zone: str, prio: object) -> str:
        fields = content.split(None, places[-1] + 1)
        for place in places:
            if place < len(fields):
                fields[place] = owner(fields[place])
        return " ".join([*fields[: places[-1] + 1], *map(_on_one_line, fields[places[-1] + 1 :])])

    return write


def _writer_with_priority(count: int) -> _Writer:
    """Return a writer for MX and SRV, which makes the target absolute.

    If the content has fewer than `count` fields, the writer puts the column's priority, or 0 without one, in front.
    """

    def write(content: str, zone: str, prio: int | str | None) -> str:
        fields = content.split()
        if len(fields) < count:
            fields.insert(0, "0" if prio in (None, "") else str(prio))
        if fields:
            fields[-1] = owner(fields[-1])
        return " ".join(fields)

    return write


def _naptr(content: str, zone: str, prio: object) -> str:
    head, _, replacement = content.rstrip().rpartition(" ")
    return f"{_on_one_line(head)} {owner(replacement)}"


def _ipseckey(content: str, zone: str, prio: object) -> str:
    """Return an IPSECKEY record's content as zone-file text, with an absolute gateway or the omitted dot."""
    fields = content.split()
    if fields[1:2] == ["0"] and fields[3:4] != ["."]:
        fields.insert(3, ".")
    elif fields[1:2] == ["3"] and len(fields) > 3:
        fields[3] = owner(fields[3])
    return " ".join(fields)


# PowerDNS's former defaults for missing fields of an SOA.
_SOA_DEFAULTS = ("0", "10800", "3600", "604800", "3600")


def _soa(content: str, zone: str, prio: object) -> str:
    fields = content.split()
    if not fields:
        return content
    if len(fields) == 1:
        fields.append("hostmaster." + zone)
    fields += _SOA_DEFAULTS[len(fields) - 2 :]
    fields[0], fields[1] = owner(fields[0]), owner(_mailbox(fields[1]))
    return " ".join(fields)


def _mailbox(text: str) -> str:
    """Convert an email address such as `first.last@example.test` to a name for an SOA. Return other text unchanged."""
    local, at, domain = text.rpartition("@")
    if not at or local.endswith("\\"):
        return text
    return local.replace(".", "\\.") + "." + domain


_WRITERS: dict[str, _Writer] = {
    **dict.fromkeys(("NS", "CNAME", "PTR", "DNAME", "ALIAS", "MB", "MG", "MR", "MD", "MF"), _names_at(0)),
    **dict.fromkeys(("AFSDB", "KX", "LP", "RT", "SVCB", "HTTPS"), _names_at(1)),
    **dict.fromkeys(("RP", "MINFO", "TALINK"), _names_at(0, 1)),
    **dict.fromkeys(("TXT", "SPF"), _text),
    "PX": _names_at(1, 2),
    "RRSIG": _names_at(7),
    "MX": _writer_with_priority(2),
    "SRV": _writer_with_priority(4),
    "NAPTR": _naptr,
    "IPSECKEY": _ipseckey,
    "SOA": _soa,
}


def secondary_note(zone: str, kind: str) -> SourceFault | None:
    """Return a note if PowerDNS copies the zone from another server, or None if it doesn't."""
    message = _SECONDARY_KINDS.get(kind.upper())
    if message is None:
        return None
    reason = gettext(message)
    return SourceFault(zone, 0, 0, "", reason, "secondary-zone", severity=Severity.NOTE, zone=zone)


def empty_zone(zone: str) -> SourceFault:
    """Return the fault for a zone that has no records in PowerDNS."""
    return SourceFault(
        zone, 0, 0, "", gettext("the zone doesn’t have any records in PowerDNS"), "no-records", zone=zone
    )


def unusable_name(path: str, name: str, reason: str) -> SourceFault:
    """Return the fault for a zone whose name is not a domain name."""
    return SourceFault(path, 0, 0, name[:200], reason, "bad-zone-name")


def variant_zone(name: str, variant: str) -> SourceFault:
    """Return the warning for a zone variant, which PowerDNS 5 serves in only one view."""
    reason = gettext("this is the zone’s variant “{variant}” for a view, but views can’t be imported").format(
        variant=variant
    )
    return SourceFault(f"{name}.{variant}", 0, 0, "", reason, "view-variant", severity=Severity.WARNING)


def kept_metadata(zone: str, kind: str, value: str) -> Kept:
    """Return a `Kept` item for one metadata value of a zone.

    Lowercase kinds are properties of the zone itself, such as `account`, or the `group` of a catalog member.
    """
    return Kept(zone, KeptKind.METADATA, kind, value.encode("utf-8", "surrogateescape"))


def kept_key(zone: str, flags: int, content: str, *, active: bool, published: bool) -> Kept:
    """Return a `Kept` item for a DNSSEC key, with BIND's private-key text as its value.

    The name has the flags and the algorithm, such as `257 ECDSAP256SHA256`, and `inactive` or `unpublished` if needed.
    """
    algorithm = re.search(r"^Algorithm:\s*(\d+)(?:\s*\(([^)]*)\))?", content, re.MULTILINE | re.IGNORECASE)
    fields = [str(flags), (algorithm[2] or algorithm[1]) if algorithm else "?"]
    fields += ["inactive"] * (not active) + ["unpublished"] * (not published)
    return Kept(zone, KeptKind.KEY, " ".join(fields), content.encode("utf-8", "surrogateescape"))


def kept_tsig(name: str, algorithm: str, secret: str) -> Kept:
    """Return a `Kept` item for a TSIG key, which belongs to no zone. The value is `algorithm secret` (Base64)."""
    return Kept("", KeptKind.TSIG, owner(name), f"{algorithm.rstrip('.')} {secret}".encode())


def kept_comment(zone: str, name: str, type: str, text: str) -> Kept:
    """Return a `Kept` item for a comment on an RRset that does not exist."""
    return Kept(zone, KeptKind.COMMENT, f"{owner(name)} {type}", text.encode("utf-8", "surrogateescape"))
