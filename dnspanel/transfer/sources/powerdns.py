"""What every way of reading a PowerDNS shares: its content as zone-file text, and what is kept aside.

PowerDNS stores and shows names without escaping the characters that a zone
file gives a meaning, its SQL databases leave out the final dot of every name
and the priority of MX and SRV, and a SOA may lack its last fields. `owner`
and `rdata` write all that as a zone file wants it, on one line.
"""

import re
from collections.abc import Callable

from dnspanel.texts import gettext, gettext_noop
from dnspanel.transfer.documents import Kept, SourceFault
from dnspanel.transfer.models import KeptKind
from dnspanel.zones.rules.violations import Severity

DEFAULT_TTL = 3600  # PowerDNS's `default-ttl`, for records without one

# Kinds of zones whose content PowerDNS has from elsewhere, in the words of all its releases.
_SECONDARY = gettext_noop(
    "PowerDNS has it as a secondary zone, copied from another server; it is imported as it is now"
)
_SECONDARY_KINDS = {
    "SLAVE": _SECONDARY,
    "SECONDARY": _SECONDARY,
    "CONSUMER": gettext_noop(
        "PowerDNS has it as a catalog consumer zone, copied from another server; it is imported as it is now"
    ),
}


def owner(name: str) -> str:
    """Return an owner name, or a name of rdata, absolute and with everything escaped that a zone file would
    read otherwise.
    """
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
    """Return the zone-file text of a record's content; `prio` is the column of that name, where the table has one."""
    writer = _WRITERS.get(type)
    return writer(content, zone, prio) if writer is not None else _on_one_line(content)


_Writer = Callable[[str, str, int | str | None], str]
_SPECIAL = re.compile(r"[;()\x00-\x1f]")
_QUOTED_OR_SPECIAL = re.compile(r'"(?:[^"\\]|\\.)*"|\\.|[;()\x00-\x1f]', re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\udc80-\udcff]")


def _on_one_line(content: str) -> str:
    """Escape semicolons, parentheses and line breaks of content, so that they mean as little as they do to PowerDNS."""
    return _QUOTED_OR_SPECIAL.sub(_literal, content) if _SPECIAL.search(content) else content


def _literal(match: re.Match[str]) -> str:
    part = match[0]
    if part[0] in '"\\':
        return _as_bytes(part)
    return f"\\{part}" if part in ";()" else " "


def _as_bytes(text: str) -> str:
    r"""Write what is not text inside quotes as `\DDD`, also bytes of a database that are not UTF-8."""
    return _CONTROL.sub(lambda match: f"\\{ord(match[0]) & 0xFF:03}", text)


def _text(content: str, zone: str, prio: object) -> str:
    """Write TXT. Text without quotes is one string, as `pdnsutil check-zone` takes it."""
    if not content.lstrip().startswith('"'):
        content = '"' + content.replace('"', '\\"') + '"'
    return _as_bytes(content)


def _names_at(*places: int) -> _Writer:
    """Return a writer for types with names at these fields of their content."""

    def write(content: str, zone: str, prio: object) -> str:
        fields = content.split(None, places[-1] + 1)
        for place in places:
            if place < len(fields):
                fields[place] = owner(fields[place])
        return " ".join([*fields[: places[-1] + 1], *map(_on_one_line, fields[places[-1] + 1 :])])

    return write


def _writer_with_priority(count: int) -> _Writer:
    """Return a writer for MX and SRV: the priority is in its column, or in the content when that has `count`
    fields already.
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
    """Write IPSECKEY. PowerDNS leaves out a missing gateway; RFC 4025 writes a dot."""
    fields = content.split()
    if fields[1:2] == ["0"] and fields[3:4] != ["."]:
        fields.insert(3, ".")
    elif fields[1:2] == ["3"] and len(fields) > 3:
        fields[3] = owner(fields[3])
    return " ".join(fields)


# What PowerDNS put in place of the fields that a SOA lacks.
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
    """Return `first.last@example.test` as the name that it is in a SOA."""
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
    """Return a note on a zone that PowerDNS only copies from elsewhere: here it becomes one to edit."""
    message = _SECONDARY_KINDS.get(kind.upper())
    if message is None:
        return None
    reason = gettext(message)
    return SourceFault(zone, 0, 0, "", reason, "secondary-zone", severity=Severity.NOTE, zone=zone)


def empty_zone(zone: str) -> SourceFault:
    """Return the fault of a zone that PowerDNS knows but has nothing of."""
    return SourceFault(zone, 0, 0, "", gettext("PowerDNS has the zone without any record"), "no-records", zone=zone)


def unusable_name(path: str, name: str, reason: str) -> SourceFault:
    """Return the fault of a zone whose name is not a domain name."""
    return SourceFault(path, 0, 0, name[:200], reason, "bad-zone-name")


def variant_zone(name: str, variant: str) -> SourceFault:
    """Return the fault of a zone that PowerDNS 5 serves to one view of its clients only."""
    reason = gettext("this is the variant “{variant}” of the zone, for one view; views cannot be imported").format(
        variant=variant
    )
    return SourceFault(f"{name}.{variant}", 0, 0, "", reason, "view-variant", severity=Severity.WARNING)


def kept_metadata(zone: str, kind: str, value: str) -> Kept:
    """Return one value of a zone's metadata. Names in lower case are fields of the zone itself, such as `account`."""
    return Kept(zone, KeptKind.METADATA, kind, value.encode("utf-8", "surrogateescape"))


def kept_key(zone: str, flags: int, content: str, *, active: bool, published: bool) -> Kept:
    """Return a DNSSEC key: named `257 ECDSAP256SHA256`, with `inactive` or `unpublished`; the value is BIND's
    private key.
    """
    algorithm = re.search(r"^Algorithm:\s*(\d+)(?:\s*\(([^)]*)\))?", content, re.MULTILINE | re.IGNORECASE)
    fields = [str(flags), (algorithm[2] or algorithm[1]) if algorithm else "?"]
    fields += ["inactive"] * (not active) + ["unpublished"] * (not published)
    return Kept(zone, KeptKind.KEY, " ".join(fields), content.encode("utf-8", "surrogateescape"))


def kept_tsig(name: str, algorithm: str, secret: str) -> Kept:
    """Return a TSIG key, of no zone; the value is `algorithm secret`, the secret in Base64."""
    return Kept("", KeptKind.TSIG, owner(name), f"{algorithm.rstrip('.')} {secret}".encode())


def kept_comment(zone: str, name: str, type: str, text: str) -> Kept:
    """Return a comment on an RRset that does not exist."""
    return Kept(zone, KeptKind.COMMENT, f"{owner(name)} {type}", text.encode("utf-8", "surrogateescape"))
